package board

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"wamble"
)

// busyPool is a pool in the middle of play: some boards held, some active, some
// dormant.
func busyPool(t testing.TB, boards, moves int) *Pool {
	t.Helper()
	o := defaultOptions()
	o.MinBoards, o.MaxBoards, o.Chess960Interval = boards, boards, 3
	p := New(o, counter(1<<40), newRand(4))
	grow(t, p, boards, silence{})
	rng := newRand(5)
	now := epoch
	for i := range moves {
		now = now.Add(time.Second)
		s := wamble.SessionID(i%(boards/2+1) + 1)
		a, err := p.Assign(now, Player{Session: s, Identity: s%2 == 0}, silence{})
		if err != nil {
			t.Fatal(err)
		}
		if i%5 != 0 {
			if _, err := p.Play(now, a.Board.ID(), Mover{Session: s, Rating: -1},
				randomMove(a.Board.Position(), rng).String(), silence{}); err != nil {
				t.Fatal(err)
			}
		}
		p.Due(now, nil, silence{})
	}
	return p
}

// statesOf returns the states of the boards of a pool.
func statesOf(p *Pool) (state []byte) {
	for b := range p.WalkInOrder() {
		state = b.AppendState(state)
	}
	return state
}

// handOver returns a pool that goes on with the boards of another one.
func handOver(t testing.TB, p *Pool) *Pool {
	t.Helper()
	q, err := resumed(p.opts, statesOf(p), timeOf(p.now), true)
	if err != nil {
		t.Fatal(err)
	}
	q.newID, q.rng = p.newID, p.rng
	return q
}

// resumed returns a pool with the boards of states.
func resumed(o Options, state []byte, now time.Time, handedOver bool) (*Pool, error) {
	p := New(o, counter(0), newRand(1))
	r := p.Resume()
	r.HandedOver = handedOver
	if err := r.Load(state, 0, 0); err != nil {
		return nil, err
	}
	r.End(now, func(wamble.SessionID) bool { return false }, silence{})
	return p, nil
}

func TestHandOver(t *testing.T) {
	p := busyPool(t, 40, 1500)
	q := handOver(t, p)
	check(t, q)
	if !bytes.Equal(statesOf(q), statesOf(p)) {
		t.Error("the states are others")
	}
	// From here on both must answer alike.
	p.rng, q.rng = newRand(9), newRand(9)
	p.newID, q.newID = counter(1<<40), counter(1<<40)
	var saidP, saidQ said
	now := epoch.Add(1500 * time.Second)
	rng := newRand(6)
	for i := range 2000 {
		now = now.Add(time.Duration(rng.IntN(3000)) * time.Millisecond)
		s := wamble.SessionID(rng.IntN(60) + 1)
		a, errP := p.Assign(now, Player{Session: s}, &saidP)
		b, errQ := q.Assign(now, Player{Session: s}, &saidQ)
		if !errors.Is(errP, errQ) || errP == nil && a.Board.ID() != b.Board.ID() {
			t.Fatalf("step %d: %v, %v", i, errP, errQ)
		}
		if errP == nil && rng.IntN(4) > 0 {
			uci := randomMove(a.Board.Position(), rng).String()
			p.Play(now, a.Board.ID(), Mover{Session: s, Rating: -1}, uci, &saidP)
			q.Play(now, b.Board.ID(), Mover{Session: s, Rating: -1}, uci, &saidQ)
		}
		if !slices.Equal(p.Due(now, nil, &saidP), q.Due(now, nil, &saidQ)) {
			t.Fatalf("step %d: other boards are due", i)
		}
		if got, want := saidQ.take(), saidP.take(); !slices.Equal(got, want) {
			t.Fatalf("step %d: said %q, want %q", i, got, want)
		}
	}
}

// TestHandOverOver: a board that waits for EndOver still does in the next process, and after a crash.
func TestHandOverOver(t *testing.T) {
	p := New(defaultOptions(), counter(0), newRand(1))
	mated := &wamble.Board{ID: 3, FEN: "7k/6Q1/6K1/8/8/8/8/8 b - - 0 60", Status: wamble.Active, Variant: -1, Created: epoch}
	if err := p.Restore(epoch, mated, silence{}); err != nil || p.Over() == nil {
		t.Fatalf("over: %v, %v", p.Over(), err)
	}
	for _, handedOver := range []bool{true, false} {
		q, err := resumed(p.opts, statesOf(p), epoch, handedOver)
		if err != nil || q.Over() == nil || q.Over().ID() != 3 {
			t.Errorf("handed over %v: %v", handedOver, err)
		}
	}
}

// TestHandOverMaxMoves: a lower limit of moves in the next process leaves boards to their holders.
func TestHandOverMaxMoves(t *testing.T) {
	p := busyPool(t, 40, 1500)
	o := p.opts
	o.MaxMoves = 1
	q, err := resumed(o, statesOf(p), timeOf(p.now), true)
	if err != nil {
		t.Fatal(err)
	}
	check(t, q)
	above := 0
	for b := range p.All() {
		if b.Holder() == 0 || b.position.Ply() < o.MaxMoves {
			continue
		}
		above++
		if now := q.Board(b.ID()); now == nil || now.Holder() != b.Holder() {
			t.Errorf("session %d has lost board %d", b.Holder(), b.ID())
		}
	}
	if above == 0 || q.Over() == nil {
		t.Errorf("%d boards above the limit are held; over: %v", above, q.Over() != nil)
	}
}

func TestLoadRefuses(t *testing.T) {
	p := busyPool(t, 8, 100)
	var state []byte
	for b := range p.WalkInOrder() {
		if b.holder == 0 && b.former == 0 {
			state = b.AppendState(nil)
			break
		}
	}
	refuse := func(name string, state []byte) {
		t.Helper()
		for _, handedOver := range []bool{false, true} {
			if _, err := resumed(p.opts, state, epoch, handedOver); !errors.Is(err, ErrState) {
				t.Errorf("%s: %v", name, err)
			}
		}
	}
	for n := 1; n < len(state); n++ {
		refuse(fmt.Sprintf("the first %d bytes", n), state[:n])
	}
	refuse("a byte too many", append(slices.Clone(state), 0))
	refuse("a board twice", append(slices.Clone(state), state...))
	for _, tc := range []struct {
		name string
		at   int
		to   byte
	}{
		{"status", 66, 4},
		{"reserved without a holder", 66, 1},
		{"a flag that nobody knows", 67, 64},
		{"variant", 65, 100},
		{"no history", 68, 0},
		{"position", 71, 'x'},
	} {
		broken := slices.Clone(state)
		if broken[tc.at] == tc.to {
			t.Fatalf("%s: the byte is that already", tc.name)
		}
		broken[tc.at] = tc.to
		refuse(tc.name, broken)
	}
}

func FuzzLoad(f *testing.F) {
	f.Add(statesOf(busyPool(f, 1, 0)), false)
	f.Add(statesOf(busyPool(f, 2, 7)), true)
	f.Add(statesOf(busyPool(f, 20, 7)), true)
	o := defaultOptions()
	f.Fuzz(func(t *testing.T, state []byte, handedOver bool) {
		p, err := resumed(o, state, epoch, handedOver)
		if err != nil {
			return
		}
		check(t, p)
		for b := range p.All() {
			for m := range b.Moves() {
				_ = uciOf(m.Move)
			}
			b.Contributors(nil, 100)
		}
		p.Due(timeOf(p.now).Add(time.Hour), nil, silence{})
		p.Assign(timeOf(p.now), Player{Session: 5}, silence{})
		check(t, p)
	})
}

// FuzzRestore restores a board as a store might have it: a board that is accepted can be
// played on.
func FuzzRestore(f *testing.F) {
	f.Add("rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR w KQkq - 0 1", uint8(2), int16(-1), "", int64(0), int64(0))
	f.Add("rnbqkbnr/pppppppp/8/8/4P3/8/PPPP1PPP/RNBQKBNR b KQkq e3 0 1", uint8(1), int16(-1), "e2e4", int64(7),
		int64(60))
	f.Add("bbqnnrkr/pppppppp/8/8/8/8/PPPPPPPP/BBQNNRKR w HFhf - 0 1", uint8(0), int16(0), "", int64(-7), int64(-60))
	f.Fuzz(func(t *testing.T, fen string, status uint8, variant int16, uci string, holder, expires int64) {
		stored := &wamble.Board{ID: 1, FEN: fen, Status: wamble.BoardStatus(status), Variant: variant, Created: epoch}
		if uci != "" {
			stored.Moves = []wamble.Move{{Ply: 1, UCI: uci, Session: 3, At: epoch}}
		}
		if holder != 0 {
			stored.Holder = &wamble.Reservation{Session: wamble.SessionID(holder), At: epoch,
				Expires: epoch.Add(time.Duration(expires))}
		}
		p := New(defaultOptions(), counter(0), newRand(1))
		if err := p.Restore(epoch, stored, silence{}); err != nil {
			if p.Len() != 0 {
				t.Error("refused, and in the pool")
			}
			return
		}
		check(t, p)
		s := p.Board(1).Holder()
		if s == 0 {
			s = 9
		}
		a, err := p.Assign(epoch, Player{Session: s}, silence{})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := p.Play(epoch, 1, Mover{Session: s, Rating: -1},
			randomMove(a.Board.Position(), newRand(1)).String(), silence{}); err != nil {
			t.Fatal(err)
		}
		check(t, p)
	})
}
