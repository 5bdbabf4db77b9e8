package board

import (
	"errors"
	"math"
	"testing"
	"time"

	"wamble"
	"wamble/chess"
)

func TestWeight(t *testing.T) {
	o := defaultOptions()
	p := New(o, counter(1), newRand(1))
	now := micros(epoch)
	for _, tc := range []struct {
		name   string
		at     candidate
		player Player
		want   float64
	}{
		{"fresh, new player", candidate{since: 0, tag: tag(early) | fresh}, Player{}, 0.5},
		{"fresh, experienced", candidate{since: 0, tag: tag(early) | fresh}, Player{Games: 10}, 0.125},
		{"moved on now", candidate{since: now, tag: tag(mid)}, Player{}, 0.25},
		{"half a second ago", candidate{since: now - 5e5, tag: tag(mid)}, Player{}, 1},
		{"ten minutes ago, end, new", candidate{since: now - 600e6, tag: tag(end)}, Player{Games: 9}, 0.5 * 600.5 * 600.5},
		{"ten minutes ago, end, experienced", candidate{since: now - 600e6, tag: tag(end)}, Player{Games: 10}, 2 * 600.5 * 600.5},
		{"Chess960 counts its own games", candidate{since: now, tag: tag(end) | chess960}, Player{Games: 99}, 0.125},
		{"experienced in Chess960", candidate{since: now, tag: tag(end) | chess960}, Player{Chess960Games: 10}, 0.5},
		{"offered", candidate{since: now + 1, tag: tag(mid) | offered}, Player{}, 0},
		{"not offered any more", candidate{board: &Board{times: times{moved: now - 5e5}}, since: now, tag: tag(mid) | offered}, Player{}, 1},
	} {
		scale := p.opts.scaleFor(&tc.player)
		if got := scale.weight(now, &tc.at); math.Abs(got-tc.want) > 1e-9*tc.want {
			t.Errorf("%s: %v, want %v", tc.name, got, tc.want)
		}
	}
}

func TestPhases(t *testing.T) {
	for _, tc := range []struct {
		fullmove string
		want     phase
	}{{"1", early}, {"9", early}, {"10", mid}, {"29", mid}, {"30", end}, {"400", end}} {
		p, err := chess.ParseFEN("4k3/8/8/8/8/8/8/4K2R w - - 0 " + tc.fullmove)
		if err != nil {
			t.Fatal(err)
		}
		if got := phaseOf(&p); got != tc.want {
			t.Errorf("move %s: phase %d, want %d", tc.fullmove, got, tc.want)
		}
	}
}

func TestWanted(t *testing.T) {
	o := defaultOptions()
	for _, tc := range []struct{ players, want int }{{0, 4}, {1, 4}, {2, 4}, {3, 6}, {10, 20}, {512, 1024},
		{1e6, 1024}} {
		if got := o.wanted(tc.players); got != tc.want {
			t.Errorf("%d players: %d boards, want %d", tc.players, got, tc.want)
		}
	}
	o.PerPlayer = 1.25
	if got := o.wanted(5); got != 7 {
		t.Errorf("1.25 boards for each of 5 players: %d, want 7", got)
	}
}

// The draw of candidates is uniform, without repetition.
func TestDraw(t *testing.T) {
	rng := newRand(5)
	var s sample
	for _, n := range []int{1, 2, 63, 64, 65, 100, 1000} {
		seen := make([]int, n)
		drawn := n
		if n > maxCandidates {
			drawn = sampleSize
		}
		const rounds = 4000
		for range rounds {
			index := s.draw(rng, n)
			if len(index) > 64 || n <= 64 && len(index) != n {
				t.Fatalf("%d of %d drawn: all of 64 at most, and never more than 64", len(index), n)
			}
			if want := drawn; len(index) != want {
				t.Fatalf("%d of %d drawn, want %d", len(index), n, want)
			}
			distinct := map[int]bool{}
			for _, i := range index {
				distinct[i] = true
				seen[i]++
			}
			if len(distinct) != len(index) {
				t.Fatalf("%d: drawn twice: %v", n, index)
			}
		}
		want := float64(rounds) * float64(drawn) / float64(n)
		for i, got := range seen {
			if math.Abs(float64(got)-want) > 6*math.Sqrt(want) {
				t.Errorf("%d of %d was drawn %d times, want about %.0f", i, n, got, want)
			}
		}
	}
}

// Boards are drawn in proportion to their weights.
func TestChooseByWeight(t *testing.T) {
	r := newRig(t, func(o *Options) { o.MinBoards, o.MaxBoards = 5, 5 })
	r.fill()
	total := 0.0
	weights := make([]float64, r.free)
	for i := range weights {
		r.inPlay[i].since = micros(epoch) - int64(i*i)*30e4
		r.inPlay[i].tag = tag(i % 3)
		scale := r.opts.scaleFor(&Player{})
		weights[i] = scale.weight(micros(epoch), &r.inPlay[i])
		total += weights[i]
	}
	const rounds = 20000
	count := map[*Board]int{}
	for range rounds {
		count[r.choose(micros(epoch), &Player{}, false)]++
	}
	for i, w := range weights {
		got, want := float64(count[r.inPlay[i].board]), rounds*w/total
		if math.Abs(got-want) > 6*math.Sqrt(want) {
			t.Errorf("board %d was chosen %.0f times, want about %.0f", i, got, want)
		}
	}
}

func TestNoWeightAtAll(t *testing.T) {
	r := newRig(t, func(o *Options) { o.MinBoards, o.MaxBoards, o.New = 3, 3, Multipliers{} })
	r.fill()
	seen := map[wamble.BoardID]bool{}
	for range 100 {
		seen[r.choose(micros(epoch), &Player{}, false).ID()] = true
	}
	if len(seen) != 3 {
		t.Errorf("chosen %v, want all three", seen)
	}
}

// A board without weight is not chosen while others have some.
func TestNoWeightForOne(t *testing.T) {
	r := newRig(t, func(o *Options) { o.MinBoards, o.MaxBoards, o.New.End = 3, 3, 0 })
	r.fill()
	r.inPlay[0].tag, r.inPlay[2].tag = tag(end), tag(end)
	for range 100 {
		if got := r.choose(micros(epoch), &Player{}, false); got != r.inPlay[1].board {
			t.Fatalf("chosen board %d", got.ID())
		}
	}
}

func TestNeverTheBoardJustLeft(t *testing.T) {
	for _, boards := range []int{2, 3, 64, 65, 66, 200} {
		r := newRig(t, func(o *Options) { o.MinBoards, o.MaxBoards = boards, boards })
		r.fill()
		for range 300 {
			b := r.assign(7)
			left := b.ID()
			r.play(left, 7, randomMove(b.Position(), newRand(uint64(left))).String())
			a, err := r.Assign(r.now, Player{Session: 7, LeftBoard: left}, &r.said)
			if err != nil {
				t.Fatal(err)
			}
			if a.Board.ID() == left {
				t.Fatalf("of %d boards, got the one just left", boards)
			}
			r.Release(r.now, 7, &r.said)
		}
		check(t, r.Pool)
	}
}

func TestOnlyTheBoardJustLeft(t *testing.T) {
	r := newRig(t, func(o *Options) { o.MaxBoards = 2 })
	r.fill()
	r.assign(7)
	r.play(1, 7, "e2e4")
	r.said.take()
	a, err := r.Assign(r.now, Player{Session: 7, LeftBoard: 1}, &r.said)
	if err != nil || a.Board.ID() != 2 {
		t.Errorf("got board %d, %v; want a new one", a.Board.ID(), err)
	}
	r.play(2, 7, "e2e4")
	r.assign(8) // one of the two
	other := r.inPlay[0].board.ID()
	a, err = r.Assign(r.now, Player{Session: 7, LeftBoard: other}, &r.said)
	if err != nil || a.Board.ID() != other {
		t.Errorf("got %+v, %v; want the only free board", a, err)
	}
}

func TestNobodyGetsABoard(t *testing.T) {
	r := newRig(t, func(o *Options) { o.MaxBoards = 1 })
	r.assign(7)
	r.said.take()
	for _, tc := range []struct {
		session wamble.SessionID
		want    error
	}{{8, ErrNoBoard}, {0, ErrSession}, {-1, ErrSession}, {maxSession + 1, ErrSession}} {
		if _, err := r.Assign(r.now, Player{Session: tc.session}, &r.said); !errors.Is(err, tc.want) {
			t.Errorf("session %d: %v, want %v", tc.session, err, tc.want)
		}
	}
	r.expect()
}

func TestNoNumberLeft(t *testing.T) {
	p := New(defaultOptions(), counter(2), newRand(1))
	var s said
	if err := p.Balance(epoch, 3, &s); p.Len() != 2 || !errors.Is(err, ErrNoID) {
		t.Errorf("filled %d, %v; want 2, %v", p.Len(), err, ErrNoID)
	}
	for session := range wamble.SessionID(2) {
		if _, err := p.Assign(epoch, Player{Session: session + 1}, &s); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := p.Assign(epoch, Player{Session: 9}, &s); !errors.Is(err, ErrNoID) {
		t.Errorf("got %v, want %v", err, ErrNoID)
	}
	// The board of a silent holder is reassigned.
	p.Due(epoch.Add(time.Hour), nil, &s)
	if a, err := p.Assign(epoch.Add(time.Hour), Player{Session: 9}, &s); err != nil ||
		a.Taken.Reason != HolderReplaced {
		t.Errorf("got %+v, %v", a, err)
	}
}

func TestChess960Interval(t *testing.T) {
	for _, tc := range []struct {
		interval int
		id       wamble.BoardID
		want     int16
	}{
		{-1, 10, -1}, {0, 1, 1}, {0, 960, 0}, {0, 1478, 518}, {5, 10, 10}, {5, 11, -1}, {1, 7, 7}, {1000, 1000, 40},
	} {
		o := defaultOptions()
		o.Chess960Interval = tc.interval
		if got := o.variantOf(tc.id); got != tc.want {
			t.Errorf("interval %d, board %d: %d, want %d", tc.interval, tc.id, got, tc.want)
		}
	}
}

func TestChess960Board(t *testing.T) {
	r := newRig(t, func(o *Options) { o.Chess960Interval = 0 })
	b := r.assign(7)
	want, err := chess.Chess960(1)
	if err != nil {
		t.Fatal(err)
	}
	if b.Variant() != 1 || b.Position() != want || b.FEN() != want.FEN() {
		t.Errorf("variant %d, %s; want 1, %s", b.Variant(), b.FEN(), want.FEN())
	}
}

// TestNobodyAnswersHimself: while other players are present, a player gets no board on which
// they moved last, however fast they are; alone they do, the one that waits longest first,
// and not the one they have just left.
func TestNobodyAnswersHimself(t *testing.T) {
	r := newRig(t, func(o *Options) { o.MinBoards, o.MaxBoards, o.PerPlayer = 4, 200, 2 })
	r.fill()
	rng := newRand(5)
	own, left := 0, wamble.BoardID(0)
	move := func() {
		t.Helper()
		r.after(time.Second)
		b := r.Held(7)
		left = b.ID()
		r.play(left, 7, randomMove(b.Position(), rng).String())
		a, err := r.Assign(r.now, Player{Session: 7, LeftBoard: left}, &r.said)
		if err != nil {
			t.Fatal(err)
		}
		if m, ok := a.Board.LastMove(); ok && m.Session == 7 {
			own++
		}
		check(t, r.Pool)
	}
	r.assign(7)
	r.assign(8) // a player who thinks for long
	for range 100 {
		move()
	}
	if own > 0 {
		t.Errorf("the player answered their own move %d times", own)
	}
	r.Leave(r.now, 8, &r.said)
	for range 50 {
		if move(); r.Held(7).ID() == left {
			t.Fatal("the player got the board they have just left")
		}
	}
	if own == 0 {
		t.Error("alone the player gets no board")
	}
	if n := r.Len(); n > 110 {
		t.Errorf("%d boards, and more for everybody who is alone", n)
	}
}

// TestHeAnswersHimselfWhenThePoolIsFull: a player gets a board of their own last move rather
// than none.
func TestHeAnswersHimselfWhenThePoolIsFull(t *testing.T) {
	r := newRig(t, func(o *Options) { o.MaxBoards = 3 })
	r.assign(8)
	for range 10 {
		b := r.assign(7)
		r.play(b.ID(), 7, randomMove(b.Position(), newRand(1)).String())
	}
	if r.Len() != 3 {
		t.Errorf("%d boards", r.Len())
	}
}

// TestBoardComesBack: a player sees again a board that they have moved on, and that was
// answered since, more often than by chance.
func TestBoardComesBack(t *testing.T) {
	r := newRig(t, func(o *Options) { o.MinBoards, o.MaxBoards = 1000, 1000 })
	r.fill()
	before, back := wamble.BoardID(0), 0
	b := r.assign(7)
	for i := range 200 {
		left := b.ID()
		r.play(left, 7, "e2e4")
		a, err := r.Assign(r.now, Player{Session: 7, LeftBoard: left, BoardBefore: before}, &r.said)
		if err != nil {
			t.Fatal(err)
		}
		if a.Board.ID() == before {
			back++
			if m, ok := a.Board.LastMove(); !ok || m.Session == 7 || a.Board.OwnMove(7) != "e2e4" {
				t.Fatalf("the last move is by %d, the player's own %q", m.Session, a.Board.OwnMove(7))
			}
			r.Release(r.now, 7, &r.said)
			before, b = 0, r.assign(7)
			for b.Plies() > 0 {
				r.Release(r.now, 7, &r.said)
				b = r.assign(7)
			}
			continue
		}
		s := wamble.SessionID(100 + i) // another player answers
		if _, err := r.Assign(r.now, Player{Session: s, Offered: left}, &r.said); err != nil {
			t.Fatal(err)
		}
		r.play(left, s, "e7e5")
		before, b = left, a.Board
		for b.Plies() > 0 {
			r.Release(r.now, 7, &r.said)
			b = r.assign(7)
		}
	}
	if back < 20 {
		t.Errorf("a board came back %d times of 200", back)
	}
}

// TestAnswersNobodyTwice: a player does not answer the same player twice in a row while
// another one waits for an answer; if no other does, that player's move comes before a fresh
// board.
func TestAnswersNobodyTwice(t *testing.T) {
	r := newRig(t, func(o *Options) { *o = defaultOptions(); o.MinBoards = 8 })
	r.now = r.now.Add(time.Minute)
	play := func(who wamble.SessionID, answered wamble.SessionID) Played {
		t.Helper()
		a, err := r.Assign(r.now, Player{Session: who, Reach: Stream, Answered: answered}, silence{})
		if err != nil {
			t.Fatal(err)
		}
		done, err := r.Play(r.now, a.Board.ID(), Mover{Session: who, Rating: -1},
			randomMove(a.Board.Position(), r.Pool.rng).String(), silence{})
		if err != nil {
			t.Fatal(err)
		}
		r.now = r.now.Add(2 * time.Second)
		return done
	}
	// Player 2 moves on three boards before all others, then player 3 on one.
	for range 3 {
		play(2, 0)
	}
	r.now = r.now.Add(time.Minute)
	if got := play(1, 2).Answered; got != 2 {
		t.Errorf("nobody else waits, and the answer is to %d", got)
	}
	last := map[wamble.SessionID]wamble.SessionID{}
	for range 500 {
		for who := range wamble.SessionID(5) {
			done := play(who+1, last[who+1])
			if done.Answered != 0 && (done.Answered == last[who+1] || done.Answered == who+1) {
				t.Fatalf("player %d answers %d, after %d", who+1, done.Answered, last[who+1])
			}
			last[who+1] = done.Answered
		}
	}
}
