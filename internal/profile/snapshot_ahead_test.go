package profile

import (
	"testing"
	"time"
)

// handOverAhead is handOver with slices written ahead, while a player plays on.
func handOverAhead(t testing.TB, r *rig, play func()) *rig {
	t.Helper()
	a := r.p.boards.BeginAhead(3)
	a.Sort()
	var ahead []byte
	for more := true; more; {
		ahead, more = r.p.WriteAhead(a, ahead, 10)
		play()
	}
	r.settle()
	state, err := r.p.Snapshot(nil)
	if err != nil {
		t.Fatal(err)
	}
	if !r.p.Ahead() {
		t.Error("the snapshot is whole")
	}
	r.p.EndAhead()
	next := &rig{t: t, now: r.now, store: r.store, options: r.options, seq: r.seq}
	next.options.Now = r.now
	next.p = New(next.options)
	next.step(&AdoptAhead{Data: a.End(ahead)}, &Adopt{Data: state})
	if len(next.out.Troubles) > 0 {
		t.Fatal(next.out.Troubles)
	}
	return next
}

// TestAdoptAhead: a profile serves before it has read the slices that were written ahead. A
// move that was made meanwhile is there, all boards are counted, and all are read in the end
// without a request for them.
func TestAdoptAhead(t *testing.T) {
	r := newRig(t, "(def min-boards 1000)")
	for range 20 {
		r.step(&Tick{}) // which makes boards
	}
	r.settle()
	token, board := r.join(1)
	seq := uint32(2)
	move := func(r *rig) {
		t.Helper()
		seq++
		b := r.p.boards.Held(r.p.sessions.Find(token).ID())
		uci := "e2e4"
		if b.Plies()%2 == 1 {
			uci = "e7e5"
		}
		if b.Plies() > 1 {
			return
		}
		r.send(peerAt(1), movePacket(token, b.ID(), seq, uci))
	}
	next := handOverAhead(t, r, func() { move(r) })
	if !next.p.Adopting() {
		t.Fatal("everything was taken in at once")
	}
	if _, err := next.p.Snapshot(nil); err == nil {
		t.Error("a snapshot was taken of a part")
	}
	if got, want := next.p.Gauges().Boards, r.p.Gauges().Boards; got != want {
		t.Errorf("%d boards, want %d", got, want)
	}
	if got := next.p.boards.Board(board); got == nil || got.Plies() != 1 {
		t.Errorf("the first move is not there: %+v", got)
	}
	move(next)
	for range 1000 {
		if !next.p.Adopting() {
			break
		}
		if next.out.Next.IsZero() || next.out.Next.After(next.now.Add(time.Second)) {
			t.Fatalf("it does not ask for its next step: %v", next.out.Next)
		}
		next.wait(deferredPause)
	}
	if next.p.Adopting() {
		t.Fatal("it does not end")
	}
	if got, want := next.p.Gauges().Boards, r.p.Gauges().Boards; got != want {
		t.Errorf("%d boards, want %d", got, want)
	}
	for b := range r.p.boards.All() {
		if other := next.p.boards.Board(b.ID()); other == nil || other.Plies() < b.Plies() {
			t.Fatalf("board %d is not there, or has fewer moves", b.ID())
		}
	}
	// A snapshot without the slices written ahead is refused, as are slices without their
	// snapshot.
	state, err := next.p.Snapshot(nil)
	if err != nil {
		t.Fatal(err)
	}
	wrong := New(r.options)
	var out Output
	wrong.Step(r.now, []Input{&AdoptAhead{Data: []byte("something")}, &Adopt{Data: state}}, &out)
	if len(out.Troubles) == 0 {
		t.Error("boards were taken in that belong to no snapshot")
	}
}
