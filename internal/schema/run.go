package schema

import (
	"iter"
	"time"

	"wamble"
)

// Runs yields the runs of neighbours of equal kind, in order.
func Runs(intents []wamble.Intent) iter.Seq2[wamble.Kind, []wamble.Intent] {
	return func(yield func(wamble.Kind, []wamble.Intent) bool) {
		for len(intents) > 0 {
			kind, n := intents[0].Kind(), 1
			for n < len(intents) && intents[n].Kind() == kind {
				n++
			}
			if !yield(kind, intents[:n]) {
				return
			}
			intents = intents[n:]
		}
	}
}

// Newest returns the run with only the newest intent of each key, in the order
// in which they stand; of equals the last. A statement that writes many rows
// may name a row only once.
func Newest[T any, K comparable](run []T, key func(T) K, older func(a, b T) bool) []T {
	best := make(map[K]int, len(run))
	for i, in := range run {
		k := key(in)
		if j, ok := best[k]; !ok || !older(in, run[j]) {
			best[k] = i
		}
	}
	if len(best) == len(run) {
		return run
	}
	kept := make([]T, 0, len(best))
	for i, in := range run {
		if best[key(in)] == i {
			kept = append(kept, in)
		}
	}
	return kept
}

// NewestBoards keeps the highest version of each board.
func NewestBoards(run []wamble.Intent) []*wamble.UpdateBoard {
	return Newest(As[*wamble.UpdateBoard](run),
		func(in *wamble.UpdateBoard) wamble.BoardID { return in.Board },
		func(a, b *wamble.UpdateBoard) bool { return a.Version < b.Version })
}

// NewestAssignments keeps the latest assignment of each board.
func NewestAssignments(run []wamble.Intent) []*wamble.UpdateBoardAssignmentTime {
	return Newest(As[*wamble.UpdateBoardAssignmentTime](run),
		func(in *wamble.UpdateBoardAssignmentTime) wamble.BoardID { return in.Board },
		func(a, b *wamble.UpdateBoardAssignmentTime) bool { return a.At.Before(b.At) })
}

// NewestSeen keeps the latest sign of life of each session.
func NewestSeen(run []wamble.Intent) []*wamble.UpdateSessionLastSeen {
	return Newest(As[*wamble.UpdateSessionLastSeen](run),
		func(in *wamble.UpdateSessionLastSeen) wamble.SessionID { return in.Session },
		func(a, b *wamble.UpdateSessionLastSeen) bool { return a.At.Before(b.At) })
}

// As returns a run with the type of its kind. It panics if kinds are mixed,
// which Runs rules out.
func As[T wamble.Intent](run []wamble.Intent) []T {
	typed := make([]T, len(run))
	for i, in := range run {
		typed[i] = in.(T)
	}
	return typed
}

// Micros returns a time as microseconds since 1970, the precision that both
// stores keep; what is finer is cut off.
func Micros(t time.Time) int64 { return t.UnixMicro() }

// Time is the reverse of Micros, in UTC.
func Time(micros int64) time.Time { return time.UnixMicro(micros).UTC() }
