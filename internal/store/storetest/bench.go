package storetest

import (
	"testing"
	"time"

	"wamble/internal/intent"
	"wamble/internal/store"
	"wamble/internal/store/schema"

	"wamble"
)

// Floor writes the rows of a batch as directly as a database can: one prepared statement of
// many rows per table, in one transaction. It is the upper bound of speed.
type Floor func(store.Batch) error

// Bench measures moves per second applied by a store and by a floor on its own database, in
// alternating turns, so that both see the same noise. Setup gets the batch that creates players
// and boards, and returns both.
func Bench(b *testing.B, setup func(b *testing.B, start store.Batch) (store.Store, Floor)) {
	for _, c := range []struct {
		name  string
		moves int
	}{{"128", 128}, {"512", 512}} {
		b.Run(c.name, func(b *testing.B) {
			tr, start := NewTraffic(1000, 1)
			store, floor := setup(b, start)
			var ours, theirs time.Duration
			one := func() {
				batch := tr.Batch(c.moves)
				t0 := time.Now()
				if err := store.Apply(b.Context(), batch); err != nil {
					b.Fatal(err)
				}
				t1 := time.Now()
				if err := floor(batch); err != nil {
					b.Fatal(err)
				}
				ours, theirs = ours+t1.Sub(t0), theirs+time.Since(t1)
			}
			for range 10 { // prepare statements, let files grow
				one()
			}
			ours, theirs = 0, 0
			n := 0
			for b.Loop() {
				one()
				n++
			}
			moves := float64(n * c.moves)
			b.ReportMetric(moves/ours.Seconds(), "moves/s")
			b.ReportMetric(moves/theirs.Seconds(), "floor-moves/s")
			b.ReportMetric(theirs.Seconds()/ours.Seconds(), "of-floor")
			b.ReportMetric(0, "ns/op") // the time of both together is meaningless
		})
	}
}

// Rows are the rows of a batch of Traffic as flat lists of values for a floor.
type Rows struct {
	Boards   []any // id, fen, status, version, last assignment (µs or nil), updated (µs)
	Runs     []any // of moves: board, first ply, plies, ended µs, moves
	Sessions []any // session, games
	Held     []any // board, session, white, from µs, until µs
	Freed    []any // board
	Cursor   []any // journal, profile, message
}

// FloorRows returns the rows of a batch.
func FloorRows(b store.Batch) Rows {
	r := Rows{Cursor: []any{b.Journal[:], b.Profile, int64(b.Through)}}
	assigned := map[wamble.BoardID]any{}
	games := map[wamble.SessionID]int64{}
	var moves []*intent.RecordMove
	for _, in := range b.Intents {
		switch in := in.(type) {
		case *intent.UpdateBoardAssignmentTime:
			assigned[in.Board] = in.At.UnixMicro()
		case *intent.RecordMove:
			moves = append(moves, in)
			if in.First {
				games[in.Session]++
			}
		case *intent.CreateReservation:
			r.Held = append(r.Held, int64(in.Board), int64(in.Session), in.White, in.At.UnixMicro(),
				in.Expires.UnixMicro())
		case *intent.RemoveReservation:
			r.Freed = append(r.Freed, int64(in.Board))
		}
	}
	for _, in := range b.Intents {
		if in, ok := in.(*intent.UpdateBoard); ok {
			r.Boards = append(r.Boards, int64(in.Board), in.FEN, in.Status.String(), int64(in.Version),
				assigned[in.Board], in.At.UnixMicro())
		}
	}
	runs, _ := schema.MoveRuns(moves)
	for _, run := range runs {
		r.Runs = append(r.Runs, int64(run.Board), run.First, run.Count, run.Ended.UnixMicro(), run.Moves)
	}
	for s, n := range games {
		r.Sessions = append(r.Sessions, int64(s), n)
	}
	return r
}
