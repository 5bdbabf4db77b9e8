package journal

import (
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"wamble/internal/intent"

	"wamble"
)

func name(in intent.Intent) string {
	switch in := in.(type) {
	case *intent.UpdateBoard:
		return fmt.Sprintf("board %d v%d", in.Board, in.Version)
	case *intent.CreateBoard:
		return fmt.Sprintf("new board %d", in.Board)
	case *intent.CreateSession:
		return fmt.Sprintf("new session %d", in.Session)
	case *intent.RecordMove:
		return fmt.Sprintf("move %d/%d", in.Board, in.Ply)
	case *intent.RecordGameResult:
		return fmt.Sprintf("end of %d", in.Board)
	case *intent.RecordPayout:
		return fmt.Sprintf("payout %d/%d", in.Board, in.Session)
	case *intent.CreateReservation:
		return fmt.Sprintf("hold %d by %d", in.Board, in.Session)
	case *intent.RemoveReservation:
		return fmt.Sprintf("free %d", in.Board)
	case *intent.UpdateSessionLastSeen:
		return fmt.Sprintf("seen %d at %d", in.Session, in.At.Second())
	}
	return in.Kind().String()
}

func names(p Plan) (got []string) {
	for _, in := range p.Intents {
		got = append(got, name(in))
	}
	return got
}

// message is a message as the journal has it.
func message(t *testing.T, seq int, intents ...intent.Intent) Message {
	t.Helper()
	frame := Begin(nil)
	for _, in := range intents {
		frame = Append(frame, in)
	}
	m, err := MakeMessage(uint64(seq), frame)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

func makePlan(t *testing.T, queue []Message, limits Limits) (Plan, int) {
	t.Helper()
	var p Planner
	plan, n, err := p.Make(queue, limits)
	if err != nil {
		t.Fatal(err)
	}
	return plan, n
}

var wide = Limits{Intents: 1000, Bytes: 1 << 20}

func TestPlanOrderAndCoalescing(t *testing.T) {
	board := func(id wamble.BoardID, v uint64) intent.Intent { return &intent.UpdateBoard{Board: id, Version: v} }
	move := func(id wamble.BoardID, ply int) intent.Intent { return &intent.RecordMove{Board: id, Ply: ply} }
	hold := func(id wamble.BoardID, s wamble.SessionID) intent.Intent {
		return &intent.CreateReservation{Board: id, Session: s}
	}
	free := func(id wamble.BoardID) intent.Intent { return &intent.RemoveReservation{Board: id} }
	seen := func(s wamble.SessionID, sec int) intent.Intent {
		return &intent.UpdateSessionLastSeen{Session: s, At: time.Unix(int64(sec), 0)}
	}
	for _, tc := range []struct {
		name string
		in   []intent.Intent
		want []string
	}{
		{
			"what is needed comes first",
			[]intent.Intent{move(1, 1), hold(2, 5), board(1, 2), &intent.CreateBoard{Board: 1},
				&intent.CreateSession{Session: 5}},
			[]string{"new session 5", "new board 1", "board 1 v2", "move 1/1", "hold 2 by 5"},
		},
		{
			"only the newest state of a board",
			[]intent.Intent{board(1, 1), board(2, 1), board(1, 2), board(1, 3)},
			[]string{"board 1 v3", "board 2 v1"},
		},
		{
			"the last word on who holds a board",
			[]intent.Intent{hold(1, 5), free(1), hold(2, 6), free(2), hold(2, 7), free(3), free(3)},
			[]string{"hold 2 by 7", "free 1", "free 3"},
		},
		{
			"moves lie together",
			[]intent.Intent{move(2, 8), move(1, 4), move(2, 7), move(1, 3)},
			[]string{"move 1/3", "move 1/4", "move 2/7", "move 2/8"},
		},
		{
			"payouts lie together, after the moves",
			[]intent.Intent{&intent.RecordPayout{Board: 2, Session: 1}, &intent.RecordPayout{Board: 1, Session: 9},
				move(3, 1), &intent.RecordPayout{Board: 1, Session: 2}},
			[]string{"move 3/1", "payout 1/2", "payout 1/9", "payout 2/1"},
		},
		{
			"last seen is last seen",
			[]intent.Intent{seen(1, 1), seen(2, 2), seen(1, 3)},
			[]string{"seen 1 at 3", "seen 2 at 2"},
		},
	} {
		t.Run(tc.name, func(t *testing.T) {
			var queue []Message
			for i, in := range tc.in {
				queue = append(queue, message(t, i+1, in))
			}
			p, taken := makePlan(t, queue, wide)
			if taken != len(queue) || p.Through != uint64(len(queue)) {
				t.Errorf("got %d taken through %d, want all %d", taken, p.Through, len(queue))
			}
			if got := names(p); !slices.Equal(got, tc.want) {
				t.Errorf("got %q, want %q", got, tc.want)
			}
			for i, o := range p.Origins {
				if name(tc.in[o.Seq-1]) != name(p.Intents[i]) || o.Index != 0 {
					t.Errorf("origin of %s is message %d", name(p.Intents[i]), o.Seq)
				}
			}
		})
	}
}

func TestPlanLimits(t *testing.T) {
	queue := func(sizes ...int) (q []Message) {
		for i, n := range sizes {
			q = append(q, message(t, i+1, slices.Repeat([]intent.Intent{&intent.RecordMove{}}, n)...))
		}
		return q
	}
	for _, tc := range []struct {
		name   string
		queue  []Message
		limits Limits
		want   int
	}{
		{"nothing", nil, wide, 0},
		{"all", queue(2, 3, 4), wide, 3},
		{"by intents", queue(2, 3, 4), Limits{5, 1 << 20}, 2},
		{"a message is not split", queue(2, 3, 4), Limits{6, 1 << 20}, 2},
		{"the first always", queue(9, 1), Limits{5, 1 << 20}, 1},
		{"by bytes", queue(1, 1, 1), Limits{100, 2 * 34}, 2},
		{"the first always, by bytes", queue(1, 1), Limits{100, 1}, 1},
	} {
		t.Run(tc.name, func(t *testing.T) {
			if _, got := makePlan(t, tc.queue, tc.limits); got != tc.want {
				t.Errorf("got %d, want %d", got, tc.want)
			}
		})
	}
	for _, tc := range []struct{ pending, most, want int }{
		{0, 512, 128}, {255, 512, 128}, {256, 512, 256}, {1023, 512, 256}, {1024, 512, 512}, {2047, 512, 512},
		{399, 100, 100}, {2048, 512, 512 * 512}, {400, 100, 51_200},
	} {
		got := (Limits{tc.most, 10}).Adapt(tc.pending)
		if want := (Limits{tc.want, 10 * max(1, tc.want/tc.most)}); got != want {
			t.Errorf("%d pending, at most %d: got %+v, want %+v", tc.pending, tc.most, got, want)
		}
	}
}

func TestPlanBarriers(t *testing.T) {
	link := func(s wamble.SessionID) intent.Intent { return &intent.LinkSession{Session: s} }
	unlink := func(s wamble.SessionID) intent.Intent { return &intent.UnlinkSession{Session: s} }
	move := &intent.RecordMove{}
	for _, tc := range []struct {
		name string
		in   []intent.Intent
		want []int // how many messages each plan takes
	}{
		{"different sessions", []intent.Intent{link(1), link(2), unlink(3)}, []int{3}},
		{"a session changes twice", []intent.Intent{unlink(1), link(1), move, link(1)}, []int{1, 2, 1}},
		{"a purge stands alone", []intent.Intent{move, &intent.PurgeSessions{}, move, move}, []int{1, 1, 2}},
		{"an erasure stands alone", []intent.Intent{&intent.ErasePlayer{}, link(1)}, []int{1, 1}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			var queue []Message
			for i, in := range tc.in {
				queue = append(queue, message(t, i+1, in))
			}
			var got []int
			for len(queue) > 0 {
				_, n := makePlan(t, queue, wide)
				got = append(got, n)
				queue = queue[n:]
			}
			if !slices.Equal(got, tc.want) {
				t.Errorf("got %v, want %v", got, tc.want)
			}
		})
	}
}

// TestPlanKeepsTheOrderOfAMessage that erases an identity and links it again,
// or the other way round: the order of kinds would turn one into the other.
func TestPlanKeepsTheOrderOfAMessage(t *testing.T) {
	link, unlink := &intent.LinkSession{Session: 1}, &intent.UnlinkSession{Session: 1}
	erase, purge := &intent.ErasePlayer{}, &intent.PurgeSessions{}
	move := &intent.RecordMove{}
	for _, tc := range [][]intent.Intent{
		{erase, link},
		{link, erase},
		{unlink, link},
		{move, purge, &intent.CreateSession{Session: 2}},
	} {
		queue := []Message{message(t, 1, move), message(t, 2, tc...), message(t, 3, &intent.UnlinkSession{Session: 9})}
		if _, n := makePlan(t, queue, wide); n != 1 {
			t.Errorf("before %v: got a plan of %d messages, want 1", tc, n)
		}
		p, n := makePlan(t, queue[1:], wide)
		if n != 1 || !slices.Equal(names(p), names(Plan{Intents: tc})) {
			t.Errorf("got %q of %d messages, want them as they came, alone", names(p), n)
		}
	}
}

// TestPlanOfManyRequests: requests that travel in one message are coalesced, and
// keep their origins.
func TestPlanOfManyRequests(t *testing.T) {
	one := Append(Append(Begin(nil), &intent.RecordMove{Board: 2, Ply: 1}), &intent.UpdateBoard{Board: 2, Version: 1})
	two := Append(Append(Begin(nil), &intent.UpdateBoard{Board: 2, Version: 2}), &intent.RecordMove{Board: 1, Ply: 4})
	m, err := MakeMessage(7, Join(Join(nil, one), two))
	if err != nil {
		t.Fatal(err)
	}
	p, n := makePlan(t, []Message{m}, wide)
	if got, want := names(p), []string{"board 2 v2", "move 1/4", "move 2/1"}; n != 1 || !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
	if got, want := p.Origins, []Origin{{7, 2}, {7, 3}, {7, 0}}; !slices.Equal(got, want) {
		t.Errorf("got origins %v, want %v", got, want)
	}
}

// TestPlanMalformed: bytes that are not needed are not read; others must be valid.
func TestPlanMalformed(t *testing.T) {
	bad := []byte{frameVersion, byte(intent.KindUpdateBoard), 1, 2} // board 2 and nothing else
	first, err := MakeMessage(1, bad)
	if err != nil {
		t.Fatal(err)
	}
	var p Planner
	var malformed *Malformed
	if _, _, err := p.Make([]Message{first}, wide); !errors.As(err, &malformed) || malformed.Seq != 1 ||
		!errors.Is(err, ErrFrame) {
		t.Errorf("got %v, want that message 1 is malformed", err)
	}
	newer := message(t, 2, &intent.UpdateBoard{Board: 2, Version: 9})
	plan, n := makePlan(t, []Message{first, newer}, wide)
	if got := names(plan); n != 2 || !slices.Equal(got, []string{"board 2 v9"}) {
		t.Errorf("got %q of %d messages", got, n)
	}
}
