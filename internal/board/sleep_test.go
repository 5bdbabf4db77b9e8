package board

import (
	"slices"
	"testing"
	"time"

	"wamble"
	"wamble/chess"
)

// TestPoolFollowsThePeople: two boards are in play for each player present, a few more at
// most; the others become dormant, and are woken when players come, before new ones are made.
func TestPoolFollowsThePeople(t *testing.T) {
	r := newRig(t, func(o *Options) { o.MinBoards, o.MaxBoards, o.PerPlayer = 4, 1024, 2 })
	inPlay := func(want int) {
		t.Helper()
		if err := r.Balance(r.now, 1<<20, &r.said); err != nil {
			t.Fatal(err)
		}
		check(t, r.Pool)
		if got := len(r.inPlay); got < want || got > want+max(2, want/4) || !r.Balanced(true) {
			t.Errorf("%d boards are in play, want about %d", got, want)
		}
	}
	inPlay(4)
	come := func(from, to int) {
		for s := from; s < to; s++ {
			r.assign(wamble.SessionID(s + 1))
		}
	}
	leave := func(from, to int) {
		for s := from; s < to; s++ {
			r.Leave(r.now, wamble.SessionID(s+1), &r.said)
		}
	}
	come(0, 1)
	inPlay(4)
	come(1, 100)
	inPlay(200)
	most := r.Len()
	leave(10, 100)
	inPlay(20)
	leave(0, 10)
	inPlay(4)
	come(0, 100)
	inPlay(200)
	if r.Len() != most {
		t.Errorf("%d boards, want the %d of before", r.Len(), most)
	}
}

// TestAdvancedBoardsStayAwake: the boards with the fewest moves fall asleep, and the
// most advanced wake first.
func TestAdvancedBoardsStayAwake(t *testing.T) {
	r := newRig(t, func(o *Options) { o.MinBoards, o.MaxBoards, o.PerPlayer = 20, 20, 2 })
	r.fill()
	rng := newRand(3)
	plies := map[wamble.BoardID]int{}
	for id := wamble.BoardID(1); id <= 20; id++ {
		for n := range int(id) - 1 {
			s := wamble.SessionID(1 + n%2)
			a, err := r.Assign(r.now, Player{Session: s, Offered: id}, &r.said)
			if err != nil || a.Board.ID() != id {
				t.Fatalf("%+v, %v", a, err)
			}
			r.play(id, s, randomMove(a.Board.Position(), rng).String())
		}
		plies[id] = int(id) - 1
	}
	o := *r.Options()
	o.MinBoards = 4
	r.Reconfigure(o)
	if err := r.Balance(r.now, 100, &r.said); err != nil {
		t.Fatal(err)
	}
	check(t, r.Pool)
	awake := func() (ids []wamble.BoardID) {
		for i := range r.inPlay {
			ids = append(ids, r.inPlay[i].board.ID())
		}
		slices.Sort(ids)
		return ids
	}
	if got, want := awake(), []wamble.BoardID{15, 16, 17, 18, 19, 20}; !slices.Equal(got, want) {
		t.Errorf("awake are %v, want %v", got, want)
	}
	o.MinBoards = 8
	r.Reconfigure(o)
	if err := r.Balance(r.now, 100, &r.said); err != nil {
		t.Fatal(err)
	}
	if got, want := awake(), []wamble.BoardID{13, 14, 15, 16, 17, 18, 19, 20}; !slices.Equal(got, want) {
		t.Errorf("awake are %v, want %v", got, want)
	}
	for id, want := range plies {
		if got := r.Board(id).Plies(); got != want {
			t.Errorf("board %d has %d plies, want %d", id, got, want)
		}
	}
}

// TestLargeWorldWakesSlowly: restored boards are dormant, and no call visits all of them:
// only those that players need are set up.
func TestLargeWorldWakesSlowly(t *testing.T) {
	const boards = 50_000
	o := defaultOptions()
	o.MaxBoards = 1 << 20
	p := New(o, counter(0), newRand(1))
	for id := range wamble.BoardID(boards) {
		stored := &wamble.Board{ID: id + 1, FEN: chess.StartFEN, Status: wamble.Dormant, Variant: -1, Created: epoch}
		if err := p.Restore(epoch, stored, silence{}); err != nil {
			t.Fatal(err)
		}
	}
	if p.Asleep() != boards || p.Balanced(false) {
		t.Fatalf("%d of %d boards sleep, balanced %v", p.Asleep(), boards, p.Balanced(false))
	}
	if err := p.Balance(epoch, 128, silence{}); err != nil || p.Asleep() != boards-4 || !p.Balanced(false) {
		t.Errorf("%d of %d boards sleep, %v", p.Asleep(), boards, err)
	}
	for s := range wamble.SessionID(100) {
		before := p.Asleep()
		if _, err := p.Assign(epoch, Player{Session: s + 1}, silence{}); err != nil ||
			before-p.Asleep() > balanceAtOnce+1 {
			t.Fatalf("%d boards woke for a player, %v", before-p.Asleep(), err)
		}
	}
	if p.Len() != boards || len(p.inPlay) != 200 {
		t.Errorf("%d boards, %d in play", p.Len(), len(p.inPlay))
	}
	if got := testing.AllocsPerRun(100,
		func() { p.Balance(epoch, 128, silence{}); p.Due(epoch, nil, silence{}) }); got > 0 {
		t.Errorf("%v allocations a step", got)
	}
}

// A board that sleeps can be ended, offered and accepted, and becomes dormant in time.
func TestSleepingBoard(t *testing.T) {
	restored := func(t *testing.T) *rig {
		r := newRig(t, func(o *Options) { o.MinBoards = 0 })
		if err := r.Restore(r.now, storedGame(t, 1, -1, wamble.Active, "e2e4"), &r.said); err != nil {
			t.Fatal(err)
		}
		if r.said.take(); r.Asleep() != 1 || r.Free() != 1 || r.Len() != 1 {
			t.Fatalf("%d boards, %d free, %d asleep", r.Len(), r.Free(), r.Asleep())
		}
		return r
	}
	t.Run("archived", func(t *testing.T) {
		r := restored(t)
		if f, holder, err := r.Archive(r.now, 1, &r.said); err != nil || holder != 0 || f.Plies != 1 || r.Len() != 0 {
			t.Errorf("%+v, held by %d, %v", f, holder, err)
		}
		check(t, r.Pool)
	})
	t.Run("offered", func(t *testing.T) {
		r := restored(t)
		b, err := r.Offer(r.now, Player{})
		if err != nil || b.ID() != 1 || r.Asleep() != 1 {
			t.Fatalf("%v, %v", b, err)
		}
		a, err := r.Assign(r.now, Player{Session: 7, Offered: 1}, &r.said)
		if err != nil || a.Board.ID() != 1 || r.Asleep() != 0 {
			t.Errorf("%v, %v", a, err)
		}
		check(t, r.Pool)
	})
	t.Run("dormant", func(t *testing.T) {
		r := restored(t)
		r.after(time.Hour)
		r.Due(r.now, nil, &r.said)
		r.expect("update 1 DORMANT v10")
		if got := r.Census(); got[wamble.Dormant] != 1 || got[wamble.Active] != 0 {
			t.Errorf("census %v", got)
		}
	})
}
