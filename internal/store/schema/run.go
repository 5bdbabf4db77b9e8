package schema

import (
	"fmt"
	"iter"
	"math"
	"slices"
	"time"

	"wamble"
	"wamble/internal/intent"
	"wamble/internal/store"
)

// Runs yields the runs of adjacent intents that one statement can write, in order: those of
// equal kind, or of the two kinds that change the row of a board.
func Runs(intents []intent.Intent) iter.Seq2[intent.Kind, []intent.Intent] {
	return func(yield func(intent.Kind, []intent.Intent) bool) {
		for len(intents) > 0 {
			kind, n := writtenAs(intents[0].Kind()), 1
			for n < len(intents) && writtenAs(intents[n].Kind()) == kind {
				n++
			}
			if !yield(kind, intents[:n]) {
				return
			}
			intents = intents[n:]
		}
	}
}

// writtenAs returns the kind whose statement writes k. A board that is assigned is also
// updated, and one write of its row is half the cost of two.
func writtenAs(k intent.Kind) intent.Kind {
	if k == intent.KindUpdateBoardAssignmentTime {
		return intent.KindUpdateBoard
	}
	return k
}

// BoardChange is the effect of a run of UPDATE_BOARD and UPDATE_BOARD_ASSIGNMENT_TIME on one
// board.
type BoardChange struct {
	Board   wamble.BoardID
	FEN     string
	Status  wamble.BoardStatus
	Version int64     // -1 if only the assignment changes
	At      time.Time // of the newest intent
	// Assigned is zero if only the position changes.
	Assigned time.Time
}

// BoardChanges combines a run into one change per board: the highest version and the latest
// assignment.
func BoardChanges(run []intent.Intent) []BoardChange {
	changes := make([]BoardChange, 0, len(run))
	at := make(map[wamble.BoardID]int, len(run))
	change := func(b wamble.BoardID, t time.Time) *BoardChange {
		i, ok := at[b]
		if !ok {
			i = len(changes)
			at[b] = i
			changes = append(changes, BoardChange{Board: b, Version: -1, At: t})
		}
		if t.After(changes[i].At) {
			changes[i].At = t
		}
		return &changes[i]
	}
	for _, in := range run {
		switch in := in.(type) {
		case *intent.UpdateBoard:
			if c := change(in.Board, in.At); int64(in.Version) > c.Version {
				c.FEN, c.Status, c.Version = in.FEN, in.Status, int64(in.Version)
			}
		case *intent.UpdateBoardAssignmentTime:
			if c := change(in.Board, in.At); in.At.After(c.Assigned) {
				c.Assigned = in.At
			}
		}
	}
	return changes
}

// NewestSeen returns the newest intent of each session, because a statement that writes many
// rows may write each row only once.
func NewestSeen(run []intent.Intent) []*intent.UpdateSessionLastSeen {
	all := As[*intent.UpdateSessionLastSeen](run)
	newest := make(map[wamble.SessionID]*intent.UpdateSessionLastSeen, len(all))
	for _, in := range all {
		if n := newest[in.Session]; n == nil || !in.At.Before(n.At) {
			newest[in.Session] = in
		}
	}
	return slices.DeleteFunc(all, func(in *intent.UpdateSessionLastSeen) bool { return newest[in.Session] != in })
}

// Distinct returns the distinct values at(0) … at(n-1), in the order of their first occurrence.
func Distinct[T comparable](n int, at func(i int) T) []T {
	var list []T
	known := make(map[T]struct{}, 256)
	for i := range n {
		v := at(i)
		if _, ok := known[v]; ok || len(list) > 0 && list[len(list)-1] == v {
			continue
		}
		known[v] = struct{}{}
		list = append(list, v)
	}
	return list
}

// As returns a run with the type of its kind. It panics if kinds are mixed, which Runs
// prevents.
func As[T intent.Intent](run []intent.Intent) []T {
	typed := make([]T, len(run))
	for i, in := range run {
		typed[i] = in.(T)
	}
	return typed
}

// Micros returns a time in microseconds since 1970, the precision of both stores, rounded down.
func Micros(t time.Time) int64 { return t.UnixMicro() }

// Time is the inverse of Micros, in UTC.
func Time(micros int64) time.Time { return time.UnixMicro(micros).UTC() }

// CheckBatch checks the profile and the cursor of a batch, not its intents.
func CheckBatch(b store.Batch) error {
	if wrong := intent.CheckText("profile", b.Profile, 1, intent.MaxProfile); wrong != "" {
		return fmt.Errorf("batch: %s", wrong)
	}
	if b.After >= b.Through || b.Through > math.MaxInt64 {
		return fmt.Errorf("batch: the cursor steps forward, up to 63 bits")
	}
	return nil
}

// CheckAll calls CheckBatch and checks every intent. Errors: that of CheckBatch, or the first
// *intent.Violation, with its index.
func CheckAll(b store.Batch) error {
	if err := CheckBatch(b); err != nil {
		return err
	}
	for i, in := range b.Intents {
		if err := intent.Check(in); err != nil {
			return fmt.Errorf("apply intent %d: %w", i, err)
		}
	}
	return nil
}
