package board

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"wamble"
	"wamble/chess"
	"wamble/internal/intent"
)

// epoch is when the clocks of the tests start.
var epoch = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

// said keeps the intents as short texts.
type said []string

func (s *said) Add(i intent.Intent) {
	switch i := i.(type) {
	case *intent.CreateBoard:
		*s = append(*s, fmt.Sprintf("create %d %s", i.Board, i.Status))
	case *intent.UpdateBoard:
		*s = append(*s, fmt.Sprintf("update %d %s v%d", i.Board, i.Status, i.Version))
	case *intent.UpdateBoardAssignmentTime:
		*s = append(*s, fmt.Sprintf("assigned %d", i.Board))
	case *intent.CreateReservation:
		side := "black"
		if i.White {
			side = "white"
		}
		*s = append(*s, fmt.Sprintf("reserve %d for %d %s %s", i.Board, i.Session, side, i.Expires.Sub(i.At)))
	case *intent.RemoveReservation:
		*s = append(*s, fmt.Sprintf("unreserve %d", i.Board))
	case *intent.RecordMove:
		first := ""
		if i.First {
			first = " first"
		}
		*s = append(*s, fmt.Sprintf("move %d by %d %s ply %d%s", i.Board, i.Session, i.UCI, i.Ply, first))
	case *intent.RecordGameResult:
		*s = append(*s, fmt.Sprintf("result %d %s %s plies %d after %s", i.Board, i.Result, i.Reason, i.Plies,
			i.Duration))
	default:
		*s = append(*s, i.Kind().String())
	}
}

// take returns the intents since the last take.
func (s *said) take() []string {
	all := *s
	*s = nil
	return all
}

// silence drops intents.
type silence struct{}

func (silence) Add(intent.Intent) {}

// counter returns 1, 2, 3 … up to its limit.
func counter(limit wamble.BoardID) NewID {
	next := wamble.BoardID(0)
	return func() (wamble.BoardID, bool) {
		if next >= limit {
			return 0, false
		}
		next++
		return next, true
	}
}

func newRand(seed uint64) *rand.Rand { return rand.New(rand.NewPCG(seed, 2)) }

// defaultOptions are those of a profile that sets none.
func defaultOptions() Options {
	return Options{
		MinBoards:        4,
		MaxBoards:        1024,
		PerPlayer:        2,
		Chess960Interval: -1,
		MaxMoves:         1000,
		Inactivity:       300 * time.Second,
		Reservation:      14 * 24 * time.Hour,
		Away:             2 * time.Minute,
		Disconnect:       15 * time.Second,
		New:              Multipliers{Early: 2, Mid: 1, End: 0.5},
		Experienced:      Multipliers{Early: 0.5, Mid: 1, End: 2},
	}
}

// rig is a pool with its clock.
type rig struct {
	*Pool
	t    *testing.T
	now  time.Time
	said said
}

func newRig(t *testing.T, change func(*Options)) *rig {
	o := defaultOptions()
	o.MinBoards, o.MaxBoards, o.PerPlayer = 1, 2, 1
	if change != nil {
		change(&o)
	}
	return &rig{Pool: New(o, counter(1<<40), newRand(1)), t: t, now: epoch}
}

func (r *rig) after(d time.Duration) { r.now = r.now.Add(d) }

func (r *rig) fill() {
	r.t.Helper()
	if err := r.Balance(r.now, r.opts.MinBoards, &r.said); err != nil {
		r.t.Fatal(err)
	}
}

// grow brings so many boards into play.
func grow(t testing.TB, p *Pool, n int, out intent.Intents) {
	t.Helper()
	for len(p.inPlay) < n {
		if _, err := p.open(p.tick(epoch), out); err != nil {
			t.Fatal(err)
		}
	}
}

func (r *rig) assign(s wamble.SessionID) *Board {
	r.t.Helper()
	a, err := r.Assign(r.now, Player{Session: s}, &r.said)
	if err != nil {
		r.t.Fatalf("assign %d: %v", s, err)
	}
	return a.Board
}

func (r *rig) play(id wamble.BoardID, s wamble.SessionID, uci string) Played {
	r.t.Helper()
	done, err := r.Play(r.now, id, Mover{Session: s, Rating: -1}, uci, &r.said)
	if err != nil {
		r.t.Fatalf("play %s on %d by %d: %v", uci, id, s, err)
	}
	return done
}

// expect compares the intents since the last call.
func (r *rig) expect(want ...string) {
	r.t.Helper()
	if got := r.said.take(); !slices.Equal(got, want) {
		r.t.Errorf("got  %q\nwant %q", got, want)
	}
	check(r.t, r.Pool)
}

// check fails if the pool contradicts itself.
func check(t testing.TB, p *Pool) {
	t.Helper()
	if len(p.boards) != p.Len() || p.Free() != p.free+p.Asleep() {
		t.Fatalf("%d boards in %d places, %d asleep", len(p.boards), len(p.inPlay), p.Asleep())
	}
	held, gone, former := 0, 0, 0
	var census [wamble.Archived]int
	for i := range p.asleep {
		b := p.asleep[i].board
		if int(b.index) != i || !b.asleep || p.isFree(b) || p.boards[b.id] != b || int(p.asleep[i].plies) != b.Plies() {
			t.Fatalf("board %d sleeps at %d, says %d", b.id, i, b.index)
		}
		if b.holder != 0 || b.status == wamble.Reserved {
			t.Fatalf("board %d sleeps, and is %s", b.id, b.status)
		}
		if i > 0 && p.asleep.less(i, (i-1)/2) {
			t.Fatalf("board %d is before its parent", b.id)
		}
		census[b.status]++
	}
	for i, at := range p.inPlay {
		b := at.board
		free := i < p.free
		if b.asleep {
			t.Fatalf("board %d is in play, and sleeps", b.id)
		}
		if int(b.index) != i || p.boards[b.id] != b {
			t.Fatalf("board %d is at %d, says %d", b.id, i, b.index)
		}
		if free != (b.status == wamble.Active || b.status == wamble.Dormant) || free != (b.holder == 0) {
			t.Fatalf("board %d: free %v, status %s, holder %d", b.id, free, b.status, b.holder)
		}
		if free && at.tag&offered == 0 && (at.since != b.since() || at.tag != tagOf(b)) {
			t.Fatalf("board %d: the index has %+v", b.id, at)
		}
		if free && (b.holderAway || b.identity || b.reach != Datagram) || !free && b.former != 0 {
			t.Fatalf("board %d: free %v, gone %v, identity %v, reach %d, former %d", b.id, free, b.holderAway,
				b.identity, b.reach, b.former)
		}
		if b.holderAway {
			gone++
		}
		if !free {
			held++
			if p.holders[b.holder] != b {
				t.Fatalf("board %d is not that of its holder %d", b.id, b.holder)
			}
		}
		census[b.status]++
		if got := p.FEN(b); got != b.position.FEN() {
			t.Fatalf("board %d: FEN %s of %s", b.id, got, b.position)
		}
		if last, ok := b.LastMove(); b.last != last.Move || ok != (b.last != 0) {
			t.Fatalf("board %d: its last move is %v, not %v", b.id, last.Move, b.last)
		}
		for _, p := range b.plies {
			if !b.movers.has(p.session()) {
				t.Fatalf("board %d: session %d moved, and is not among its movers", b.id, p.session())
			}
		}
		if at, ok := p.deadline(b); ok && (b.alarm.slot == none || p.deadlines.heap[b.alarm.slot].at > at) {
			t.Fatalf("board %d: no alarm for its deadline", b.id)
		}
	}
	for b := range p.All() {
		if b.former != 0 {
			former++
			if p.former[b.former] != b || p.holders[b.former] != nil {
				t.Fatalf("board %d: %d does not get it back", b.id, b.former)
			}
		}
	}
	if gone != p.awayCount || former != len(p.former) || p.Here() != held-gone {
		t.Fatalf("%d holders are gone, want %d; %d boards are kept for %d", p.awayCount, gone, former, len(p.former))
	}
	if held != len(p.holders) {
		t.Fatalf("%d boards are held, by %d holders", held, len(p.holders))
	}
	if got := p.Census(); got != census {
		t.Fatalf("the census has %v, not %v", got, census)
	}
	checkHeap(t, &p.deadlines)
}

func checkHeap(t testing.TB, a *alarms) {
	t.Helper()
	for i, at := range a.heap {
		if int(at.board.alarm.slot) != i {
			t.Fatalf("alarm %d of board %d says slot %d", i, at.board.id, at.board.alarm.slot)
		}
		if got := at.board.alarm.at; got != at.at {
			t.Fatalf("alarm %d is at %d, its board %d says %d", i, at.at, at.board.id, got)
		}
		if i > 0 && a.less(i, (i-1)/2) {
			t.Fatalf("alarm %d is before its parent", i)
		}
	}
}

// restore puts a board with the given FEN into the rig, held by session 1.
func (r *rig) restore(id wamble.BoardID, fen string) *Board {
	r.t.Helper()
	stored := wamble.Board{
		ID: id, FEN: fen, Status: wamble.Reserved, Variant: -1, Created: r.now.Add(-time.Hour),
		Holder: &wamble.Reservation{Board: id, Session: 1, At: r.now, Expires: r.now.Add(time.Hour)},
	}
	if err := r.Restore(r.now, &stored, &r.said); err != nil {
		r.t.Fatal(err)
	}
	return r.Board(id)
}

// randomMove returns a legal move, the same for the same random numbers.
func randomMove(p chess.Position, rng *rand.Rand) chess.Move {
	var buf [chess.MaxMoves]chess.Move
	moves := p.LegalMoves(buf[:0])
	return moves[rng.IntN(len(moves))]
}
