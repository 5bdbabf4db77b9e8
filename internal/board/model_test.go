package board

import (
	"errors"
	"maps"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"wamble"
	"wamble/chess"
	"wamble/internal/intent"
	"wamble/internal/prooftest"
)

// The model is the simplest server that keeps the rules: it checks every board for every
// question. Random players act on it and on the pool; each answer of the pool must be one
// that the model allows, and its intents must describe it: now and then the pool is dropped
// and restored from them.
type model struct {
	t       *testing.T
	rng     *rand.Rand
	opts    Options
	pool    *Pool
	now     time.Time
	ids     NewID
	boards  map[wamble.BoardID]*modelBoard
	left    map[wamble.SessionID]wamble.BoardID
	store   store
	players int
	ended   map[string]int
	backs   int // boards that players got back
	newest  wamble.BoardID
}

type modelBoard struct {
	holder   wamble.SessionID
	identity bool
	reserved time.Time
	lastSeen time.Time
	moved    time.Time
	dormant  bool
	game     chess.Position
	last     wamble.SessionID // the last player to move
	former   wamble.SessionID // the player who would get it back
	reach    Reach
	gone     bool
}

// store is a store in memory.
type store map[wamble.BoardID]*wamble.Board

func (s store) Add(i intent.Intent) {
	switch i := i.(type) {
	case *intent.CreateBoard:
		s[i.Board] = &wamble.Board{ID: i.Board, FEN: i.FEN, Status: i.Status, Variant: i.Variant, Created: i.At}
	case *intent.UpdateBoard:
		b := s[i.Board]
		if i.Version != b.Version+1 {
			panic("a version is missing")
		}
		b.FEN, b.Status, b.Version = i.FEN, i.Status, i.Version
	case *intent.UpdateBoardAssignmentTime:
		s[i.Board].LastAssigned = i.At
	case *intent.CreateReservation:
		key := wamble.PublicKey{byte(i.Session % 2)} // even sessions are anonymous
		s[i.Board].Holder = &wamble.Reservation{Board: i.Board, Session: i.Session, Key: key, White: i.White, At: i.At,
			Expires: i.Expires}
	case *intent.RemoveReservation:
		s[i.Board].Holder = nil
	case *intent.RecordMove:
		s[i.Board].Moves = append(s[i.Board].Moves, wamble.Move{Ply: i.Ply, UCI: i.UCI, Session: i.Session, At: i.At})
	case *intent.RecordGameResult:
		s[i.Board].Result = &wamble.GameResult{Result: i.Result, Plies: i.Plies, Duration: i.Duration, Reason: i.Reason,
			Finished: i.At}
	}
}

func (m *model) heldBy(s wamble.SessionID) (wamble.BoardID, *modelBoard) {
	for id, b := range m.boards {
		if b.holder == s {
			return id, b
		}
	}
	return 0, nil
}

// assign lets a player ask for a board.
func (m *model) assign(s wamble.SessionID) {
	heldID, held := m.heldBy(s)
	free, other, fit, others, kept := 0, 0, 0, 0, wamble.BoardID(0)
	for id, b := range m.boards {
		if b.holder != 0 && !b.gone {
			others++
		}
		if b.former == s {
			kept = id
		}
		if b.holder == 0 {
			free++
			if id != m.left[s] {
				other++
				if b.last != s {
					fit++
				}
			}
		}
	}
	total := len(m.boards)
	a, err := m.pool.Assign(m.now, Player{Session: s, Identity: s%2 == 1, Reach: reachOf(s), LeftBoard: m.left[s],
		BoardBefore: m.left[s+1], Games: int(s) % 20}, m.store)
	if made := m.learn(); made > 0 && m.pool.Asleep() > 0 {
		m.t.Fatalf("%d boards were made while %d sleep", made, m.pool.Asleep())
	}
	if err != nil {
		m.mayRefuse(s, err, free, held != nil)
		return
	}
	id := a.Board.ID()
	b := m.boards[id]
	switch {
	case held != nil:
		if id != heldID || !a.Known {
			m.t.Fatalf("%d holds %d and got %d", s, heldID, id)
		}
	case kept != 0 && id != kept:
		m.t.Fatalf("%d got %d, and not %d, which they have lost by silence", s, id, kept)
	case kept != 0:
		m.backs++
	case b.holder != 0:
		m.t.Fatalf("board %d of %d was given to %d", id, b.holder, s)
	case b.last == s && others > 0 && (fit > 0 && m.pool.Asleep() <= maxCandidates || total < m.opts.MaxBoards):
		m.t.Fatalf("%d answers their own move on %d; %d boards of %d fit", s, id, fit, total)
	case id == m.left[s] && other > 0:
		m.t.Fatalf("%d got the board they left, with %d others free", s, other)
	}
	if held == nil {
		want := Released{}
		if b.former != 0 && b.former != s {
			want = Released{id, b.former, HolderReplaced}
		}
		if a.Taken != want {
			m.t.Fatalf("taken %+v, want %+v", a.Taken, want)
		}
		b.reserved, b.former = m.now, 0
		if kept != 0 {
			m.boards[kept].former = 0
		}
	}
	b.holder, b.identity, b.lastSeen, b.reach, b.gone = s, s%2 == 1, m.now, reachOf(s), false
}

// reachOf: every third player has a connection.
func reachOf(s wamble.SessionID) Reach {
	if s%3 == 0 {
		return Stream
	}
	return Datagram
}

// patience returns how long the holder of a board may be silent.
func (m *model) patience(b *modelBoard) time.Duration {
	return [...]time.Duration{Datagram: m.opts.Inactivity, Stream: m.opts.Away, Closed: m.opts.Disconnect}[b.reach]
}

// learn adds the boards to the model that the pool has made, and returns how many.
func (m *model) learn() (made int) {
	for m.store[m.newest+1] != nil {
		m.newest++
		made++
		m.boards[m.newest] = &modelBoard{game: startOf(m.store[m.newest].Variant), dormant: true}
	}
	return made
}

// balance checks that as many boards are in play as are wanted.
func (m *model) balance() {
	if err := m.pool.Balance(m.now, 1<<20, m.store); err != nil {
		m.t.Fatal(err)
	}
	m.learn()
	held, gone := 0, 0
	for _, b := range m.boards {
		if b.holder != 0 && !b.gone {
			held++
		} else if b.holder != 0 {
			gone++
		}
	}
	want, got := min(max(2*held, m.opts.MinBoards), m.opts.MaxBoards), m.pool.Len()-m.pool.Asleep()-gone
	want = min(want, len(m.boards)-gone)
	if got < want || got > want+max(2, want/4) && got > held || !m.pool.Balanced(true) {
		m.t.Fatalf("%d boards are in play for %d players, want about %d", got, held, want)
	}
}

// mayRefuse checks that nobody waits while a board is free or can be made.
func (m *model) mayRefuse(s wamble.SessionID, err error, free int, held bool) {
	if !errors.Is(err, ErrNoBoard) || held || free > 0 || len(m.boards) < m.opts.MaxBoards {
		m.t.Fatalf("%d gets no board: %v; holds one %v, free %d, total %d", s, err, held, free, len(m.boards))
	}
}

// play lets a player try a move, mostly a good one.
func (m *model) play(s wamble.SessionID) {
	id, held := m.heldBy(s)
	if held == nil || m.rng.IntN(10) == 0 { // another player's board, or none
		id = wamble.BoardID(m.rng.IntN(m.opts.MaxBoards*2) + 1)
	}
	b := m.boards[id]
	uci := "e2e4"
	if b != nil && m.rng.IntN(10) > 0 {
		uci = randomMove(b.game, m.rng).String()
	}
	done, err := m.pool.Play(m.now, id, Mover{Session: s, Rating: -1}, uci, m.store)
	if b == nil {
		if !errors.Is(err, ErrUnknownBoard) {
			m.t.Fatalf("board %d is not there: %v", id, err)
		}
		return
	}
	move, illegal := b.game.ParseUCI(uci)
	want := error(nil)
	switch {
	case b.holder != s:
		want = NotHolder
	case illegal != nil:
		want = Illegal
	}
	if !errors.Is(err, want) {
		m.t.Fatalf("%s on %d of %d by %d: %v, want %v", uci, id, b.holder, s, err, want)
	}
	if err != nil {
		return
	}
	b.game = b.game.Play(move)
	b.holder, b.moved, b.dormant, b.last, b.reach, b.gone = 0, m.now, false, s, Datagram, false
	m.left[s] = id
	if done.Board.Position() != b.game || !m.pool.Repeats(id, s, uci) {
		m.t.Fatalf("board %d is %s, want %s", id, done.Board.FEN(), b.game)
	}
	m.ending(id, b, done.Finished)
}

// ending checks the end of a game by replaying all its moves.
func (m *model) ending(id wamble.BoardID, b *modelBoard, f *Finished) {
	stored := m.store[id]
	p := startOf(stored.Variant)
	h := chess.History(nil).Add(&p)
	for _, mv := range stored.Moves {
		move, err := p.ParseUCI(mv.UCI)
		if err != nil {
			m.t.Fatalf("board %d, ply %d: %v", id, mv.Ply, err)
		}
		p = p.Play(move)
		h = h.Add(&p)
	}
	over := p.Outcome(h).Over() || p.Ply() >= m.opts.MaxMoves
	if p != b.game || over != (f != nil) || over != (stored.Status == wamble.Archived) ||
		over != (stored.Result != nil) {
		m.t.Fatalf("board %d after %d plies: over %v, finished %+v, stored %s", id, p.Ply(), over, f, stored.Status)
	}
	if !over {
		return
	}
	m.ended[f.Reason]++
	white, black := 0, 0
	for _, c := range f.Board.Contributors(nil, math.MaxInt) {
		white, black = white+c.White, black+c.Black
	}
	if white != (p.Ply()+1)/2 || black != p.Ply()/2 {
		m.t.Fatalf("board %d: %d and %d moves of %d plies", id, white, black, p.Ply())
	}
	delete(m.boards, id)
}

func (m *model) leave(s wamble.SessionID) {
	_, b := m.heldBy(s)
	_, gone := m.pool.Leave(m.now, s, m.store)
	keeps := b != nil && b.identity && m.opts.IdentityAway > 0
	if gone != (b != nil && !keeps) {
		m.t.Fatalf("%d left: released %v", s, gone)
	}
	switch {
	case keeps:
		b.gone, b.reach, b.lastSeen = true, Closed, m.now
	case gone:
		m.letGo(b, b.identity)
	}
}

// letGo frees a board; its holder may get it back.
func (m *model) letGo(b *modelBoard, back bool) {
	if back {
		b.former = b.holder
	}
	b.holder, b.dormant, b.gone, b.reach = 0, true, false, Datagram
}

// pass lets time pass, and checks that exactly what is due happens.
func (m *model) pass(d time.Duration) {
	m.now = m.now.Add(d)
	var want []Released
	for id, b := range m.boards {
		silent := m.now.Sub(b.lastSeen)
		switch {
		case b.holder != 0 && m.now.Sub(b.reserved) >= m.opts.Reservation:
			want = append(want, Released{id, b.holder, TimedOut})
			m.letGo(b, false)
		case b.holder != 0 && silent >= m.patience(b) && (!b.identity || silent >= m.opts.IdentityAway):
			want = append(want, Released{id, b.holder, HolderGone})
			m.letGo(b, true)
		case b.holder != 0 && silent >= m.patience(b):
			b.gone = true
		case b.holder == 0 && !b.dormant && m.now.Sub(b.moved) >= m.opts.Inactivity:
			b.dormant = true
		}
	}
	got := m.pool.Due(m.now, nil, m.store)
	byBoard := func(a, b Released) int { return int(a.Board) - int(b.Board) }
	slices.SortFunc(got, byBoard)
	slices.SortFunc(want, byBoard)
	if !slices.Equal(got, want) {
		m.t.Fatalf("released %v, want %v", got, want)
	}
	if at, ok := m.pool.Next(); ok && !at.After(m.now) {
		m.t.Fatalf("at %s something is due since %s", m.now, at)
	}
	m.balance()
}

// compare compares every board of the pool, the model and the store.
func (m *model) compare() {
	check(m.t, m.pool)
	if m.pool.Len() != len(m.boards) || m.pool.Len() > m.opts.MaxBoards {
		m.t.Fatalf("%d boards, want %d", m.pool.Len(), len(m.boards))
	}
	for b := range m.pool.All() {
		want := m.boards[b.ID()]
		status := wamble.Active
		switch {
		case want.holder != 0:
			status = wamble.Reserved
		case want.dormant:
			status = wamble.Dormant
		}
		s := m.store[b.ID()]
		if b.Holder() != want.holder || b.Status() != status || b.Position() != want.game {
			m.t.Fatalf("board %d: %s of %d, want %s of %d", b.ID(), b.Status(), b.Holder(), status, want.holder)
		}
		if s.FEN != b.FEN() || s.Status != status || s.Version != b.Version() ||
			(s.Holder != nil) != (want.holder != 0) {
			m.t.Fatalf("board %d: stored %s %s v%d", b.ID(), s.Status, s.FEN, s.Version)
		}
		if s.Holder != nil && (s.Holder.Session != want.holder || s.Holder.White != (want.game.Turn() == chess.White)) {
			m.t.Fatalf("board %d: stored for %d, want %d", b.ID(), s.Holder.Session, want.holder)
		}
	}
}

// crash restores the pool from the store, or, as a handoff, from its states.
func (m *model) crash() {
	p := New(m.opts, m.ids, m.rng)
	ids := slices.Sorted(maps.Keys(m.boards))
	m.rng.Shuffle(len(ids), func(i, j int) { ids[i], ids[j] = ids[j], ids[i] })
	for _, id := range ids {
		if err := p.Restore(m.now, m.store[id], m.store); err != nil {
			m.t.Fatal(err)
		}
		b := m.boards[id]
		b.lastSeen, b.gone, b.reach, b.former = m.now, b.holder != 0, Datagram, 0
	}
	m.pool = p
}

func (m *model) handOver() {
	m.pool = handOver(m.t, m.pool)
}

func (m *model) step() {
	s := wamble.SessionID(m.rng.IntN(m.players) + 1)
	switch n := m.rng.IntN(100); {
	case n < 40:
		m.assign(s)
	case n < 80:
		if i := m.rng.IntN(len(m.pool.inPlay) + 1); i < len(m.pool.inPlay) && m.pool.inPlay[i].board.holder != 0 {
			s = m.pool.inPlay[i].board.holder
		}
		m.play(s)
		m.assign(s)
	case n < 85:
		m.leave(s)
	case n < 90:
		_, b := m.heldBy(s)
		if m.rng.IntN(3) == 0 {
			if b != nil && b.reach == Stream {
				b.reach, b.lastSeen = Closed, m.now
			}
			m.pool.Closed(m.now, s)
			return
		}
		if b != nil {
			b.lastSeen, b.reach, b.gone = m.now, reachOf(s), false
		}
		m.pool.NoteActivity(m.now, s, reachOf(s))
	default:
		m.pass(time.Duration(m.rng.IntN(4000)) * time.Millisecond)
	}
}

func TestModel(t *testing.T) {
	seed := prooftest.Seed(t)
	for i, tc := range []struct {
		name             string
		boards, players  int
		inactivity, hold time.Duration
		identity         time.Duration
	}{
		{"more players than boards", 30, 3000, 20 * time.Second, 60 * time.Second, 40 * time.Second},
		{"more boards than players", 300, 60, 60 * time.Second, 30 * time.Second, 0},
		{"a long wait for everybody", 20, 2000, 10 * time.Second, time.Hour, 5 * time.Minute},
		{"two boards", 2, 3, 10 * time.Second, 20 * time.Second, 0},
	} {
		t.Run(tc.name, func(t *testing.T) {
			o := defaultOptions()
			o.MinBoards, o.MaxBoards, o.Chess960Interval, o.MaxMoves = 2, tc.boards, 4, 150
			o.Inactivity, o.Reservation = tc.inactivity, tc.hold
			o.Away, o.Disconnect, o.IdentityAway = 8*time.Second, 3*time.Second, tc.identity
			rng := newRand(seed + uint64(i))
			m := &model{
				t: t, rng: rng, opts: o, now: epoch, ids: counter(1 << 40), players: tc.players,
				boards: map[wamble.BoardID]*modelBoard{}, left: map[wamble.SessionID]wamble.BoardID{},
				store: store{}, ended: map[string]int{},
			}
			m.pool = New(o, m.ids, rng)
			for step := range prooftest.Part(800_000) {
				m.step()
				switch {
				case step%5000 == 4999:
					m.crash()
				case step%5000 == 2499:
					m.handOver()
				}
				if step%500 == 499 {
					m.compare()
				}
			}
			m.compare()
			t.Logf("%d boards made, %d given back, ended: %v", len(m.store), m.backs, m.ended)
		})
	}
}
