package board

import (
	"bytes"
	"errors"
	"maps"
	"runtime"
	"slices"
	"testing"
	"time"

	"wamble"
	"wamble/internal/prooftest"
)

// sleepyPool is a pool in the middle of play in which some boards are dormant.
func sleepyPool(t testing.TB, boards, moves, players int) *Pool {
	t.Helper()
	p := busyPool(t, boards, moves)
	o := *p.Options()
	o.MinBoards = players
	p.Reconfigure(o)
	if err := p.Balance(epoch.Add(time.Duration(moves)*time.Second), boards, silence{}); err != nil {
		t.Fatal(err)
	}
	check(t, p)
	return p
}

// deferredIn returns the pool of the next process, which reads the deferred boards later.
// Between writes ahead, play changes the first pool.
func deferredIn(t testing.TB, p *Pool, part int, play func()) *Pool {
	t.Helper()
	a := p.BeginAhead(2)
	a.Sort()
	var ahead []byte
	for more := true; more; {
		ahead, more = p.WriteAhead(a, ahead, part)
		play()
	}
	q, err := Load(p.opts, p.newID, newRand(1), p.Snapshot(nil))
	if err != nil {
		t.Fatal(err)
	}
	if err := q.LoadDeferred(a.End(ahead), p.Outdated()); err != nil {
		t.Fatal(err)
	}
	p.EndAhead()
	return q
}

// TestDeferredOutdated: a board that was written ahead in vain costs little memory, because the
// server is paused meanwhile, and thousands of boards may do so.
func TestDeferredOutdated(t *testing.T) {
	p := sleepyPool(t, 2000, 4000, 100)
	a := p.BeginAhead(2)
	a.Sort()
	ahead, _ := p.WriteAhead(a, nil, 4000)
	for i := range p.asleep {
		p.unwrite(p.asleep[i].board)
	}
	q, err := Load(p.opts, p.newID, newRand(1), p.Snapshot(nil))
	if err != nil {
		t.Fatal(err)
	}
	state, outdated := a.End(ahead), p.Outdated()
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	err = q.LoadDeferred(state, outdated)
	runtime.ReadMemStats(&after)
	if err != nil || len(outdated) < 1000 {
		t.Fatalf("%d boards woke: %v", len(outdated), err)
	}
	if each := (after.TotalAlloc - before.TotalAlloc) / uint64(len(outdated)); each > 4<<10 {
		t.Errorf("%d bytes for each board that woke", each)
	}
}

// contents returns the state of every board of a pool, by number; none may be deferred.
func contents(p *Pool) map[wamble.BoardID]string {
	all := map[wamble.BoardID]string{}
	for b := range p.All() {
		all[b.id] = string(b.snapshot(nil))
	}
	return all
}

// TestDeferred: boards that were written ahead, while others got and moved some of them, are all
// in the next process, each in its last state, whether they are read in their turn or on
// demand.
func TestDeferred(t *testing.T) {
	rng := prooftest.Random(t)
	for round := range prooftest.Sized(10, 30, 1000) {
		p := sleepyPool(t, 40, 300, 1+rng.IntN(40))
		now, moves := epoch.Add(300*time.Second), newRand(rng.Uint64())
		play := func() {
			now = now.Add(time.Duration(rng.IntN(100)) * time.Second)
			p.Due(now, nil, silence{})
			s := wamble.SessionID(1 + rng.IntN(30))
			a, err := p.Assign(now, Player{Session: s}, silence{})
			if err != nil {
				return
			}
			if rng.IntN(3) > 0 {
				p.Play(now, a.Board.ID(), Mover{Session: s, Rating: -1}, randomMove(a.Board.Position(), moves).String(),
					silence{})
			}
			if rng.IntN(9) == 0 {
				p.Archive(now, wamble.BoardID(1+rng.IntN(40)), silence{})
			}
			if err := p.Balance(now, 4, silence{}); err != nil {
				t.Fatal(err)
			}
		}
		q := deferredIn(t, p, 1+rng.IntN(9), play)
		if q.Len() != p.Len() || q.Free() != p.Free() || q.Census() != p.Census() {
			t.Fatalf("round %d: %d boards, %d free, %v; want %d, %d, %v", round, q.Len(), q.Free(), q.Census(), p.Len(),
				p.Free(), p.Census())
		}
		for n := 0; q.Deferred() > 0; n++ {
			id := wamble.BoardID(1 + rng.IntN(42))
			if got, want := q.Board(id), p.Board(id); (got == nil) != (want == nil) || got != nil &&
				!bytes.Equal(got.snapshot(nil), want.snapshot(nil)) {
				t.Fatalf("round %d: board %d is another", round, id)
			}
			if n%3 == 0 {
				q.fetch(id)
			}
			if err := q.ReadDeferred(rng.IntN(4)); err != nil {
				t.Fatal(err)
			}
			if q.Len() != p.Len() || q.Census() != p.Census() {
				t.Fatalf("round %d: %d boards, %v; want %d, %v", round, q.Len(), q.Census(), p.Len(), p.Census())
			}
		}
		check(t, q)
		got, want := contents(q), contents(p)
		if len(got) != len(want) {
			t.Fatalf("round %d: %d boards, want %d", round, len(got), len(want))
		}
		for id, b := range want {
			if got[id] != b {
				t.Fatalf("round %d: board %d is another", round, id)
			}
		}
	}
}

// TestDeferredWake: boards that sleep wake in the same order, whether they are
// deferred or not.
func TestDeferredWake(t *testing.T) {
	p := sleepyPool(t, 40, 300, 4)
	q := deferredIn(t, p, 1000, func() {})
	if q.Deferred() == 0 || q.Deferred() < p.Asleep()-40 {
		t.Fatalf("%d boards are deferred, %d sleep", q.Deferred(), p.Asleep())
	}
	sleep := q.Asleep()
	var order []wamble.BoardID
	for b := q.first(); b != nil; b = q.first() {
		order = append(order, b.id)
		q.wake(b)
	}
	if len(order) != sleep || q.Deferred() != 0 {
		t.Errorf("%d boards woke, %d are left", len(order), q.Deferred())
	}
	var plies []int
	for _, id := range order[len(order)-p.Asleep():] { // behind those that were in play
		plies = append(plies, -q.Board(id).Plies())
	}
	if !slices.IsSorted(plies) {
		t.Errorf("the most advanced do not wake first: %v", plies)
	}
}

// TestDeferredAwake: boards that wake, or are put to sleep, after they were written ahead are
// not written again.
func TestDeferredAwake(t *testing.T) {
	p := sleepyPool(t, 40, 300, 4)
	asleep := p.Asleep()
	balance := func(least int) {
		t.Helper()
		o := *p.Options()
		o.MinBoards = least
		p.Reconfigure(o)
		if err := p.Balance(epoch.Add(300*time.Second), 40, silence{}); err != nil {
			t.Fatal(err)
		}
	}
	q := deferredIn(t, p, 1000, func() {
		if balance(40); p.Asleep() > 0 {
			t.Errorf("%d boards sleep, want none", p.Asleep())
		}
		if balance(4); p.Asleep() < asleep/2 {
			t.Errorf("%d boards sleep, want about %d", p.Asleep(), asleep)
		}
		balance(20)
		if n := len(p.Outdated()); n > 0 {
			t.Errorf("%d boards are to be written again", n)
		}
	})
	if n := q.Deferred(); n < asleep {
		t.Errorf("%d boards are deferred, want at least %d", n, asleep)
	}
	for q.Deferred() > 0 {
		if err := q.ReadDeferred(7); err != nil {
			t.Fatal(err)
		}
	}
	check(t, q)
	if !maps.Equal(contents(q), contents(p)) {
		t.Error("the boards are others")
	}
}

// TestDeferredDamaged: no bytes make a pool panic, and most damage is reported; a checksum of
// the whole finds the rest.
func TestDeferredDamaged(t *testing.T) {
	p := sleepyPool(t, 20, 100, 2)
	a := p.BeginAhead(1)
	a.Sort()
	ahead, _ := p.WriteAhead(a, nil, 1000)
	ahead = a.End(ahead)
	rest := p.Snapshot(nil)
	told := 0
	for at := range ahead {
		for _, data := range [][]byte{ahead[:at], slices.Concat(ahead[:at], []byte{ahead[at] ^ 0xff}, ahead[at+1:])} {
			q, err := Load(p.opts, p.newID, newRand(1), rest)
			if err != nil {
				t.Fatal(err)
			}
			if err := q.LoadDeferred(data, nil); err != nil {
				if !errors.Is(err, ErrState) {
					t.Fatal(err)
				}
				told++
				continue
			}
			for id := range wamble.BoardID(21) {
				q.Board(id)
			}
			q.fetch(3)
			for q.Deferred() > 0 {
				if err := q.ReadDeferred(3); err != nil {
					told++
					break
				}
			}
		}
	}
	if told < len(ahead)/2 {
		t.Errorf("%d of %d damages were told", told, 2*len(ahead))
	}
}
