package spectate

import (
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"wamble"
	"wamble/chess"
	"wamble/wire"
)

var epoch = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

// usual are the defaults of the configuration.
var usual = Options{
	Max: 1024, Records: 4096, AdminTrust: -1, SummaryHz: 2, FocusHz: 20, Focus: true,
	PerWatcher: 200, Total: 20000, Idle: 300 * time.Second,
}

func with(change func(*Options)) Options {
	o := usual
	change(&o)
	return o
}

// rig is a hub with its profile: sessions whose token is their number, and a network that
// records everything.
type rig struct {
	t      *testing.T
	h      *Hub
	now    time.Time
	guests map[wamble.SessionID]*Viewer
	sent   []sent
	deaf   bool // packets are counted, not kept
	count  int
	room   int
	boards map[wamble.BoardID]Board
}

type sent struct {
	to     wamble.SessionID
	packet []byte
}

func newRig(t *testing.T, opts Options) *rig {
	r := &rig{t: t, h: New(opts), now: epoch, guests: map[wamble.SessionID]*Viewer{}, room: 1 << 20,
		boards: map[wamble.BoardID]Board{}}
	r.h.Open(r.now, func(func(Board) bool) {})
	return r
}

func tokenOf(id wamble.SessionID) wamble.Token { return wamble.Token{0xee, byte(id), byte(id >> 8)} }

func (r *rig) Send(token wamble.Token, packet []byte) bool {
	r.count++
	if !r.deaf {
		r.sent = append(r.sent, sent{wamble.SessionID(token[1]) | wamble.SessionID(token[2])<<8, bytes.Clone(packet)})
	}
	return true
}

func (r *rig) Room() int { return r.room }

func (r *rig) Viewer(id wamble.SessionID) (Viewer, bool) {
	g := r.guests[id]
	if g == nil {
		return Viewer{}, false
	}
	return *g, true
}

// guest is a session that may do everything, and is active now.
func (r *rig) guest(id wamble.SessionID) *Viewer {
	g := r.guests[id]
	if g == nil {
		g = &Viewer{Session: id, Token: tokenOf(id), Summary: true, Focus: true, Modes: true}
		r.guests[id] = g
	}
	g.LastSeen = r.now
	return g
}

// watch returns the answer to a request, in words.
func (r *rig) watch(id wamble.SessionID, request Request) string {
	err := r.h.Watch(r.now, *r.guest(id), request, func(b []byte) { r.Send(tokenOf(id), b) })
	if err != nil {
		var denied *wamble.Denied
		if !errors.As(err, &denied) || denied.Reason != "" {
			r.t.Errorf("got %v, want a Denied without a reason", err)
			return ""
		}
		return fmt.Sprint("denied ", int(denied.Code))
	}
	return r.took(id)
}

// show puts a board into the hub, after a number of moves.
func (r *rig) show(id wamble.BoardID, plies int) Board {
	b := Board{ID: id, Version: uint64(plies + 1), Position: chess.Start(), Moved: r.now.UnixMicro()}
	line := strings.Fields("e2e4 e7e5 g1f3 b8c6 f1c4 g8f6 e1g1 f8c5")
	for i := range plies {
		m, err := b.Position.ParseUCI(line[i])
		if err != nil {
			r.t.Fatal(err)
		}
		b.Position, b.From, b.To = b.Position.Play(m), m.From(), m.To()
	}
	r.boards[id] = b
	r.h.Show(b)
	return b
}

func (r *rig) hide(id wamble.BoardID) {
	b := r.boards[id]
	b.Version++
	delete(r.boards, id)
	r.h.Hide(b)
}

// wait lets time pass, beat by beat.
func (r *rig) wait(d time.Duration) {
	end := r.now.Add(d)
	for {
		next, ok := r.h.Next()
		if !ok || next.After(end) {
			break
		}
		r.now = next
		r.h.Due(r.now, r)
	}
	r.now = end
	r.h.Due(r.now, r)
}

// took returns what one session was sent, in words.
func (r *rig) took(id wamble.SessionID) string {
	var lines []string
	rest := r.sent[:0]
	for _, s := range r.sent {
		if s.to == id {
			lines = append(lines, inWords(r.t, s.packet))
		} else {
			rest = append(rest, s)
		}
	}
	r.sent = rest
	return strings.Join(lines, "; ")
}

func inWords(t *testing.T, b []byte) string {
	var p wire.Packet
	if err := p.Decode(b); err != nil {
		t.Fatal(err)
	}
	text := fmt.Sprintf("%02x", uint8(p.Flags&^wire.FlagExt))
	switch m := p.Message.(type) {
	case *wire.ServerNotification:
		return fmt.Sprintf("%s notice %d of board %d", text, m.Type, p.Board)
	case *wire.SpectateUpdate:
		if p.Board == 0 {
			text += " none"
		} else if text += fmt.Sprintf(" board %d", p.Board); len(m.FEN) == 0 {
			text += " gone"
		}
	}
	for _, f := range p.Ext {
		switch f.Key {
		case wire.KeySpectateState:
			text += " " + f.Text()
		case wire.KeySpectateGeneration:
			g, _ := p.Ext.Int(f.Key)
			text += fmt.Sprintf(" g%d", (g-epoch.UnixMilli())/1000)
		}
	}
	return text
}

func expect(t *testing.T, what, got, want string) {
	t.Helper()
	if got != want {
		t.Errorf("%s: got %q, want %q", what, got, want)
	}
}

// TestWatch: each answer and each refusal, and which refusal comes first.
func TestWatch(t *testing.T) {
	two := func(r *rig) { r.watch(1, Request{}); r.watch(2, Request{Board: 1}) }
	max2 := with(func(o *Options) { o.Max = 2 })
	for _, tc := range []struct {
		name    string
		opts    Options
		prepare func(r *rig)
		guest   func(g *Viewer)
		request Request
		want    string
	}{
		{"summary", usual, nil, nil, Request{}, "00 none summary g0; 00 board 2 summary g0; 01 board 1 summary g0"},
		{"only Chess960", usual, nil, nil, Request{Filter: Chess960Boards}, "00 none summary g0; 01 board 1 summary g0"},
		{"only standard", usual, nil, nil, Request{Filter: StandardBoards}, "00 none summary g0; 00 board 2 summary g0"},
		{"without modes no filter and no flag", usual, nil, func(g *Viewer) { g.Modes = false }, Request{Filter: Chess960Boards},
			"00 none summary g0; 00 board 2 summary g0; 00 board 1 summary g0"},
		{"focus", usual, nil, nil, Request{Board: 1}, "01 board 1 focus"},
		{"policy denies the summary", usual, nil, func(g *Viewer) { g.Summary = false }, Request{}, "denied 1002"},
		{"policy denies the summary, not the focus", usual, nil, func(g *Viewer) { g.Summary = false }, Request{Board: 2}, "00 board 2 focus"},
		{"policy denies the focus", usual, nil, func(g *Viewer) { g.Focus = false }, Request{Board: 1}, "denied 1002"},
		{"too little trust", with(func(o *Options) { o.Visibility = 3 }), nil, func(g *Viewer) { g.Trust = 2 }, Request{}, "denied 1002"},
		{"enough trust", with(func(o *Options) { o.Visibility = 3 }), nil, func(g *Viewer) { g.Trust = 3 }, Request{Board: 2}, "00 board 2 focus"},
		{"too little trust, before anything else", with(func(o *Options) { o.Visibility, o.Max, o.Focus = 3, 0, false }), nil, nil, Request{Board: 9}, "denied 1002"},
		{"no record left", with(func(o *Options) { o.Records = 2 }), two, nil, Request{}, "denied 1003"},
		{"no record left, though there is a place", with(func(o *Options) { o.Records, o.Max = 2, -1 }), two, nil, Request{Board: 1}, "denied 1003"},
		{"full", max2, two, nil, Request{}, "denied 1004"},
		{"full for a focus", max2, two, nil, Request{Board: 1}, "denied 1004"},
		{"full, before the board is looked for", max2, two, nil, Request{Board: 9}, "denied 1004"},
		{"nobody may watch", with(func(o *Options) { o.Max = 0 }), nil, nil, Request{}, "denied 1004"},
		{"no limit", with(func(o *Options) { o.Max = -1 }), two, nil, Request{Board: 2}, "00 board 2 focus"},
		{"an admin needs no place for a focus", with(func(o *Options) { o.Max, o.AdminTrust = 2, 5 }), two, func(g *Viewer) { g.Trust = 5 }, Request{Board: 2}, "00 board 2 focus"},
		{"an admin needs one for the summary", with(func(o *Options) { o.Max, o.AdminTrust = 2, 5 }), two, func(g *Viewer) { g.Trust = 5 }, Request{}, "denied 1004"},
		{"nobody is an admin", max2, two, func(g *Viewer) { g.Trust = 1 << 30 }, Request{Board: 2}, "denied 1004"},
		{"the policy lets them pass", max2, two, func(g *Viewer) { g.Bypass = true }, Request{Board: 2}, "00 board 2 focus"},
		{"a place is free again", max2, func(r *rig) { two(r); r.h.Leave(1) }, nil, Request{Board: 2}, "00 board 2 focus"},
		{"who has a place may turn", max2, func(r *rig) { r.watch(1, Request{}); r.watch(9, Request{}) }, nil, Request{Board: 2}, "00 board 2 focus"},
		{"no focus", with(func(o *Options) { o.Focus = false }), nil, nil, Request{Board: 1}, "denied 1001"},
		{"no focus, before the board is looked for", with(func(o *Options) { o.Focus = false }), nil, nil, Request{Board: 9}, "denied 1001"},
		{"no such board", usual, nil, nil, Request{Board: 9}, "denied 1005"},
		{"a board that is gone", usual, func(r *rig) { r.hide(2) }, nil, Request{Board: 2}, "denied 1005"},
		{"a summary without what is gone", usual, func(r *rig) { r.hide(2) }, nil, Request{}, "00 none summary g0; 01 board 1 summary g0"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			r := newRig(t, tc.opts)
			b := r.show(1, 0)
			b.Chess960 = true
			r.h.Show(b)
			r.now = r.now.Add(time.Millisecond)
			r.show(2, 1)
			// Each summary has a generation of its own; the others began theirs
			// in years gone by.
			r.now = epoch.Add(-time.Hour)
			if tc.prepare != nil {
				tc.prepare(r)
			}
			r.now = epoch.Add(time.Millisecond)
			if tc.guest != nil {
				tc.guest(r.guest(9))
			}
			r.sent = nil
			expect(t, "answer", strings.ReplaceAll(r.watch(9, tc.request), "g1", "g0"), tc.want)
		})
	}
}

// TestRefusedGoesOn: a refused watcher goes on watching the same boards.
func TestRefusedGoesOn(t *testing.T) {
	r := newRig(t, usual)
	r.show(1, 0)
	r.watch(1, Request{Board: 1})
	expect(t, "answer", r.watch(1, Request{Board: 7}), "denied 1005")
	r.show(1, 1)
	r.wait(time.Second / 10)
	expect(t, "update", r.took(1), "80 board 1")
}

func TestStop(t *testing.T) {
	r := newRig(t, usual)
	r.show(1, 0)
	r.watch(1, Request{})
	for range 2 {
		r.h.Stop(*r.guest(1), func(b []byte) { r.Send(tokenOf(1), b) })
		expect(t, "answer", r.took(1), "00 none idle")
	}
	r.show(1, 1)
	r.wait(20 * time.Second)
	expect(t, "afterwards", r.took(1), "")
	if r.h.Len() != 0 || r.h.counted != 0 {
		t.Errorf("%d watch, %d places are taken", r.h.Len(), r.h.counted)
	}
}

// TestChanges: only changes are sent, without a reset; a board that went has no position; the
// whole is sent again after a while, with a reset only when a board went.
func TestChanges(t *testing.T) {
	r := newRig(t, usual)
	for id := range wamble.BoardID(3) {
		r.show(id+1, 0)
		r.now = r.now.Add(time.Millisecond)
	}
	expect(t, "answer", r.watch(1, Request{}),
		"00 none summary g0; 00 board 3 summary g0; 00 board 2 summary g0; 00 board 1 summary g0")
	r.wait(2 * time.Second)
	expect(t, "nothing new", r.took(1), "")
	r.show(2, 1)
	r.wait(time.Second)
	expect(t, "one moved", r.took(1), "80 board 2 g0")
	r.show(1, 1)
	r.now = r.now.Add(time.Millisecond)
	r.show(3, 1)
	r.wait(time.Second)
	expect(t, "two moved", r.took(1), "80 board 3 g0; 80 board 1 g0")
	r.wait(7 * time.Second)
	expect(t, "all again", r.took(1), "80 board 3 g0; 80 board 1 g0; 80 board 2 g0")
	r.hide(1)
	r.wait(time.Second)
	expect(t, "one went", r.took(1), "80 board 1 gone g0")
	r.wait(10 * time.Second)
	expect(t, "all anew", r.took(1), "80 none g20; 80 board 3 g20; 80 board 2 g20")
	// A change that only players see is no change.
	b := r.boards[2]
	b.Version++
	r.h.Show(b)
	r.wait(time.Second)
	expect(t, "reserved", r.took(1), "")
}

func TestFull(t *testing.T) {
	r := newRig(t, with(func(o *Options) { o.Full = true }))
	r.show(1, 0)
	r.now = r.now.Add(time.Millisecond)
	r.show(2, 0)
	r.watch(1, Request{})
	r.show(1, 1)
	r.wait(600 * time.Millisecond)
	expect(t, "all of it", r.took(1), "80 none g0; 80 board 1 g0; 80 board 2 g0")
	r.wait(5 * time.Second)
	expect(t, "nothing has changed", r.took(1), "")
	r.hide(2)
	r.wait(time.Second)
	expect(t, "one went", r.took(1), "80 none g6; 80 board 1 g6")
}

// TestFocus: at most FocusHz updates; again after a second; the end, and what follows.
func TestFocus(t *testing.T) {
	r := newRig(t, usual)
	r.show(1, 0)
	r.now = r.now.Add(time.Millisecond)
	r.show(2, 0)
	expect(t, "answer", r.watch(1, Request{Board: 1}), "00 board 1 focus")
	r.show(1, 1)
	r.show(1, 2)
	r.show(2, 1)
	r.wait(100 * time.Millisecond)
	expect(t, "moved twice", r.took(1), "80 board 1")
	r.wait(900 * time.Millisecond)
	expect(t, "nothing", r.took(1), "")
	r.wait(time.Second)
	expect(t, "again", r.took(1), "80 board 1")
	r.show(1, 3)
	r.hide(1)
	r.wait(100 * time.Millisecond)
	expect(t, "the end", r.took(1), "80 board 1; a0 notice 2 of board 1; 00 none summary g2; 00 board 2 summary g2")
	r.show(2, 2)
	r.wait(time.Second)
	expect(t, "the summary", r.took(1), "80 board 2 g2")
}

// TestOnce: a rate of 0 shows everything once.
func TestOnce(t *testing.T) {
	r := newRig(t, with(func(o *Options) { o.SummaryHz, o.FocusHz, o.PerWatcher = 0, 0, 2 }))
	for id := range wamble.BoardID(5) {
		r.show(id+1, 0)
		r.now = r.now.Add(time.Millisecond)
	}
	r.watch(2, Request{Board: 1})
	expect(t, "answer", r.watch(1, Request{}), "00 none summary g0; 00 board 5 summary g0")
	r.show(1, 1)
	r.wait(20 * time.Second)
	expect(t, "the rest, within the limit", r.took(1), "80 board 4 g0; 80 board 3 g0; 80 board 2 g0")
	expect(t, "the focus", r.took(2), "")
}

// TestEnds: the ends of watching without a request.
func TestEnds(t *testing.T) {
	for _, tc := range []struct {
		name  string
		board wamble.BoardID
		do    func(r *rig)
		want  string
		left  int
	}{
		{"the session is gone", 0, func(r *rig) { delete(r.guests, 1) }, "", 0},
		{"trust is lost", 0, func(r *rig) { r.h.Reconfigure(with(func(o *Options) { o.Visibility = 1 })) }, "", 0},
		{"policy denies it now", 1, func(r *rig) { r.guests[1].Focus = false }, "", 0},
		{"nobody may watch", 0, func(r *rig) { r.h.Reconfigure(with(func(o *Options) { o.Max = 0 })) }, "00 none idle; c0 notice 2 of board 0", 0},
		{"nobody may watch, the board neither", 1, func(r *rig) { r.h.Reconfigure(with(func(o *Options) { o.Max = 0 })) }, "00 none idle; c0 notice 2 of board 1", 0},
		{"an admin goes on", 1, func(r *rig) {
			r.guests[1].Bypass = true
			r.h.Reconfigure(with(func(o *Options) { o.Max = 0 }))
		}, "", 1},
		{"no focus any more", 1, func(r *rig) { r.h.Reconfigure(with(func(o *Options) { o.Focus = false })) },
			"a0 notice 2 of board 1; 00 none summary g0; 00 board 1 summary g0", 1},
		{"a lower limit drives nobody out", 0, func(r *rig) { r.h.Reconfigure(with(func(o *Options) { o.Max = 1 })) }, "", 2},
	} {
		t.Run(tc.name, func(t *testing.T) {
			r := newRig(t, usual)
			r.show(1, 0)
			r.watch(1, Request{Board: tc.board})
			if tc.left == 2 {
				r.watch(2, Request{})
			}
			r.sent = nil
			tc.do(r)
			r.wait(900 * time.Millisecond)
			for _, g := range r.guests {
				g.LastSeen = r.now
			}
			r.wait(400 * time.Millisecond)
			got := strings.TrimPrefix(strings.TrimSuffix(r.took(1), "; 80 board 1"), "80 board 1")
			if tc.want == "" && tc.left > 0 && tc.board == 1 {
				got = ""
			}
			expect(t, "told", strings.ReplaceAll(got, "g1", "g0"), tc.want)
			if r.h.Len() != tc.left || r.h.counted > tc.left {
				t.Errorf("%d watch, %d counted; want %d", r.h.Len(), r.h.counted, tc.left)
			}
		})
	}
}

// TestIdle: a watcher is asked for a sign of life, by packets that they have to acknowledge;
// one who gives none is dropped.
func TestIdle(t *testing.T) {
	r := newRig(t, usual)
	r.show(1, 0)
	r.watch(1, Request{})
	r.watch(2, Request{Board: 1})
	r.watch(3, Request{})
	for range 16 { // minutes, three of them without a word
		r.wait(time.Minute)
		for _, s := range r.sent {
			if h, _ := wire.Peek(s.packet); !h.Flags.Unreliable() && s.to != 3 {
				r.guests[s.to].LastSeen = r.now
			}
		}
		r.sent = nil
	}
	if r.h.Len() != 2 || r.h.bySession[3] != nil {
		t.Errorf("%d watch, want those two who acknowledge", r.h.Len())
	}
}

// TestAllowance: no watcher gets more than their share, all together not more than theirs,
// the most recent boards go first, and every watcher gets their turn.
func TestAllowance(t *testing.T) {
	const watchers, boards, seconds = 40, 60, 20
	for _, tc := range []struct {
		name       string
		opts       Options
		slow       bool
		each, all  int // packets a second at most
		atLeastAll int
	}{
		{"each", with(func(o *Options) { o.PerWatcher, o.Total = 10, 0 }), false, 10, 400, 350},
		{"all", with(func(o *Options) { o.PerWatcher, o.Total = 0, 200 }), false, 5, 200, 170},
		{"both", with(func(o *Options) { o.PerWatcher, o.Total = 3, 1000 }), false, 3, 120, 100},
		{"slow", with(func(o *Options) { o.PerWatcher, o.Total = 0, 800 }), true, 5, 200, 170},
		{"full", with(func(o *Options) { o.PerWatcher, o.Total, o.Full = 10, 0, true }), false, 10, 400, 350},
	} {
		t.Run(tc.name, func(t *testing.T) {
			r := newRig(t, tc.opts)
			r.h.Slow(tc.slow)
			for id := range wamble.BoardID(boards) {
				r.show(id+1, 0)
			}
			for id := range wamble.SessionID(watchers) {
				r.watch(id+1, Request{})
			}
			r.wait(5 * time.Second)
			r.sent = nil
			for i := range seconds * 20 {
				for id := range wamble.BoardID(boards) {
					r.show(id+1, 1+i%8)
				}
				for _, g := range r.guests {
					g.LastSeen = r.now
				}
				r.wait(50 * time.Millisecond)
			}
			got := map[wamble.SessionID]int{}
			for _, s := range r.sent {
				got[s.to]++
			}
			for id := range wamble.SessionID(watchers) {
				if n := got[id+1]; n > tc.each*(seconds+1) || n < tc.each*seconds/2 {
					t.Errorf("watcher %d got %d packets in %d s, want about %d a second", id+1, n, seconds, tc.each)
				}
			}
			if n := len(r.sent); n > tc.all*(seconds+1) || n < tc.atLeastAll*seconds {
				t.Errorf("%d packets in %d s, want %d a second at most", n, seconds, tc.all)
			}
		})
	}
}

// TestMostRecentFirst: when not all can be shown, the last to change are.
func TestMostRecentFirst(t *testing.T) {
	r := newRig(t, with(func(o *Options) { o.PerWatcher = 4 }))
	for id := range wamble.BoardID(20) {
		r.show(id+1, 0)
	}
	r.watch(1, Request{})
	r.wait(9 * time.Second)
	r.sent = nil
	for id := range wamble.BoardID(20) {
		b := r.show(id+1, 1)
		b.Attraction = float64((id * 7) % 20) // of what moved together
		r.h.Show(b)
		r.h.entries[id+1].board.Attraction = b.Attraction
	}
	r.wait(500 * time.Millisecond)
	expect(t, "first", r.took(1), "80 board 18 g0; 80 board 15 g0; 80 board 12 g0; 80 board 9 g0")
	r.wait(500 * time.Millisecond)
	r.show(4, 2)
	r.wait(500 * time.Millisecond)
	got := r.took(1)
	if !strings.HasPrefix(got, "80 board 6 g0; 80 board 3 g0; 80 board 4 g0") {
		t.Errorf("then: got %q, want what was missing, and before the rest what is new", got)
	}
}

// TestNoRoom: while the journal hangs nothing is sent; afterwards everything is.
func TestNoRoom(t *testing.T) {
	r := newRig(t, usual)
	r.show(1, 0)
	r.watch(1, Request{})
	r.room = 0
	r.show(1, 1)
	r.wait(5 * time.Second)
	expect(t, "no room", r.took(1), "")
	r.room = 100
	r.wait(time.Second)
	expect(t, "room", r.took(1), "80 board 1 g0")
}

// TestCloses: a hub without watchers wants no events.
func TestCloses(t *testing.T) {
	r := newRig(t, usual)
	r.show(1, 0)
	r.watch(1, Request{})
	r.h.Leave(1)
	r.wait(59 * time.Second)
	if !r.h.IsOpen() {
		t.Error("it closed at once")
	}
	r.wait(2 * time.Second)
	if _, ok := r.h.Next(); r.h.IsOpen() || len(r.h.entries) > 0 || ok {
		t.Error("it is still open")
	}
	r.h.Open(r.now, slices.Values([]Board{r.boards[1]}))
	if got := r.watch(1, Request{}); !strings.HasPrefix(got, "00 none summary g61; 00 board 1 summary") {
		t.Errorf("got %q, want the board again", got)
	}
}

// TestEncodedOnce: one encoding of a board serves all its watchers: a mark in the view of the
// first is in those of all others.
func TestEncodedOnce(t *testing.T) {
	r := newRig(t, usual)
	r.show(1, 0)
	for id := range wamble.SessionID(20) {
		r.watch(id+1, Request{Board: wamble.BoardID(id % 2)}) // summary and focus
	}
	b := r.show(1, 1)
	r.h.numberChanges()
	e := r.h.entries[1]
	for _, s := range []state{summary, focus} {
		view := r.h.viewOf(e, s).packet
		view[len(view)-5] = 0xee // the lowest byte of the version, before the footer
	}
	r.sent = nil
	r.wait(time.Second)
	if len(r.sent) < 20 {
		t.Fatalf("%d packets, want one for each watcher", len(r.sent))
	}
	for _, s := range r.sent {
		var p wire.Packet
		if err := p.Decode(s.packet); err != nil {
			t.Fatal(err)
		}
		if v, _ := p.Ext.Int(wire.KeyBoardVersion); v != int64(b.Version)&^0xff|0xee || p.Token != tokenOf(s.to) {
			t.Errorf("watcher %d was sent version %x and token %x: not the view of all", s.to, v, p.Token)
		}
	}
}

// TestAllocations: updates to a watcher allocate nothing.
func TestAllocations(t *testing.T) {
	r := newRig(t, with(func(o *Options) { o.PerWatcher, o.Total = 0, 0 }))
	r.deaf = true
	for id := range wamble.BoardID(50) {
		r.show(id+1, 0)
	}
	for id := range wamble.SessionID(100) {
		r.watch(id+1, Request{Board: wamble.BoardID(id % 4)})
	}
	positions := [2]Board{r.show(1, 3), r.show(1, 4)}
	i := 0
	turn := func() {
		i++
		for id := range wamble.BoardID(50) {
			b := positions[i%2]
			b.ID = id + 1
			r.h.Show(b)
		}
		r.now = r.now.Add(500 * time.Millisecond)
		r.h.Due(r.now, r)
	}
	for range 50 {
		turn()
	}
	before := r.count
	allocs := testing.AllocsPerRun(100, turn)
	perTurn := (r.count - before) / 101
	if allocs > 0 || perTurn < 1000 {
		t.Errorf("got %v allocations for %d packets, want none", allocs, perTurn)
	}
}

// mirror is a client by the rules of docs/protocol.md.
type mirror struct {
	generation int64
	boards     map[wamble.BoardID]sighting
}

type sighting struct {
	version int64
	fen     string
}

func (m *mirror) see(t *testing.T, b []byte) {
	var p wire.Packet
	if err := p.Decode(b); err != nil {
		t.Fatal(err)
	}
	u, ok := p.Message.(*wire.SpectateUpdate)
	if !ok {
		return
	}
	generation, _ := p.Ext.Int(wire.KeySpectateGeneration)
	version, _ := p.Ext.Int(wire.KeyBoardVersion)
	if generation < m.generation {
		return
	}
	if generation > m.generation {
		m.generation = generation
		clear(m.boards)
	}
	switch old := m.boards[p.Board]; {
	case p.Board == 0 || version < old.version:
	case len(u.FEN) == 0:
		delete(m.boards, p.Board)
	default:
		m.boards[p.Board] = sighting{version, u.FEN.String()}
	}
}

// TestConverges: over a network that loses a third of the packets and reorders others, every
// watcher's list equals the boards when no more changes come.
func TestConverges(t *testing.T) {
	for _, mode := range []struct {
		name string
		opts Options
	}{
		{"changes", usual},
		{"full", with(func(o *Options) { o.Full = true })},
		{"little", with(func(o *Options) { o.PerWatcher = 30 })},
	} {
		t.Run(mode.name, func(t *testing.T) {
			seed := rand.Uint64()
			t.Logf("seed %d", seed)
			rng := rand.New(rand.NewPCG(seed, 5))
			r := newRig(t, mode.opts)
			mirrors := map[wamble.SessionID]*mirror{}
			filter := map[wamble.SessionID]Filter{}
			deliver := func(loss int) {
				if rng.IntN(3) == 0 {
					rng.Shuffle(len(r.sent), func(i, j int) { r.sent[i], r.sent[j] = r.sent[j], r.sent[i] })
				}
				for _, s := range r.sent {
					if h, _ := wire.Peek(s.packet); h.Token != tokenOf(s.to) {
						t.Fatalf("a packet to %d carries %x", s.to, h.Token)
					} else if !h.Flags.Unreliable() || rng.IntN(100) >= loss {
						mirrors[s.to].see(t, s.packet)
					}
				}
				r.sent = nil
			}
			version := uint64(1)
			for i := range 400 {
				for range rng.IntN(8) {
					id := wamble.BoardID(1 + rng.IntN(40))
					if _, ok := r.boards[id]; ok && rng.IntN(10) == 0 {
						r.hide(id)
						continue
					}
					b := r.show(id, rng.IntN(8))
					version++
					b.Version, b.Chess960 = version, id%3 == 0
					r.boards[id] = b
					r.h.Show(b)
					r.h.entries[id].board = b
				}
				if i%20 == 0 {
					id := wamble.SessionID(1 + i/20)
					mirrors[id], filter[id] = &mirror{boards: map[wamble.BoardID]sighting{}}, Filter(rng.IntN(3))
					r.h.Watch(r.now, *r.guest(id), Request{Filter: filter[id]},
						func(b []byte) { r.Send(tokenOf(id), b) })
				}
				for id := range mirrors {
					r.guest(id)
				}
				r.wait(time.Duration(rng.IntN(300)) * time.Millisecond)
				deliver(33)
			}
			for range 80 { // quiet, and no loss
				for id := range mirrors {
					r.guest(id)
				}
				r.wait(time.Second)
				deliver(0)
			}
			for id, m := range mirrors {
				want := map[wamble.BoardID]string{}
				for _, b := range r.boards {
					if filter[id] == AllBoards || (filter[id] == Chess960Boards) == b.Chess960 {
						want[b.ID] = wire.ShortFEN(b.Position.FEN())
					}
				}
				got := map[wamble.BoardID]string{}
				for b, s := range m.boards {
					got[b] = s.fen
				}
				if fmt.Sprint(got) != fmt.Sprint(want) {
					t.Errorf("watcher %d sees %d boards:\n%v\nwant %d:\n%v", id, len(got), got, len(want), want)
				}
			}
			if len(mirrors) != 20 || r.h.Len() != 20 {
				t.Errorf("%d watch, want 20", r.h.Len())
			}
		})
	}
}

func TestSnapshot(t *testing.T) {
	r := newRig(t, usual)
	r.show(1, 0)
	r.show(2, 1)
	r.watch(1, Request{})
	r.watch(2, Request{Board: 2})
	r.watch(3, Request{Filter: Chess960Boards})
	r.wait(3 * time.Second)
	r.sent = nil
	state := r.h.Snapshot(nil)
	loaded, err := Load(usual, state)
	if err != nil {
		t.Fatal(err)
	}
	if again := loaded.Snapshot(nil); !bytes.Equal(again, state) {
		t.Error("a loaded hall has another snapshot")
	}
	r.h = loaded
	r.h.Open(r.now, slices.Values([]Board{r.boards[1], r.boards[2]}))
	r.wait(time.Second)
	expect(t, "the summary goes on", r.took(1), "80 board 1 g0; 80 board 2 g0")
	if got := r.took(2); !strings.HasPrefix(got, "80 board 2") {
		t.Errorf("the focus: got %q", got)
	}
	if loaded.counted != 3 {
		t.Errorf("%d places are taken, want 3", loaded.counted)
	}
	for n := range state {
		if _, err := Load(usual, state[:n]); !errors.Is(err, ErrState) {
			t.Fatalf("%d of %d bytes: got %v, want ErrState", n, len(state), err)
		}
	}
}

func FuzzLoad(f *testing.F) {
	r := newRig(nil, usual)
	r.show(1, 0)
	r.h.Watch(r.now, *r.guest(1), Request{}, func([]byte) {})
	r.h.Watch(r.now, *r.guest(2), Request{Board: 1}, func([]byte) {})
	f.Add(r.h.Snapshot(nil))
	f.Fuzz(func(t *testing.T, state []byte) {
		h, err := Load(usual, state)
		if err != nil {
			return
		}
		if again := h.Snapshot(nil); !bytes.Equal(again, state) {
			t.Errorf("got %x of %x", again, state)
		}
	})
}

// One operation is one packet to a watcher.
func BenchmarkShow(b *testing.B) {
	for _, watchers := range []int{1, 1000} {
		b.Run(fmt.Sprintf("%d watchers", watchers), func(b *testing.B) {
			r := newRig(nil, with(func(o *Options) { o.PerWatcher, o.Total, o.Max = 0, 0, -1 }))
			r.deaf = true
			for id := range wamble.BoardID(50) {
				r.show(id+1, 0)
			}
			for id := range wamble.SessionID(watchers) {
				r.watch(id+1, Request{})
			}
			positions := [2]Board{r.show(1, 3), r.show(1, 4)}
			b.ReportAllocs()
			b.ResetTimer()
			for i := 0; r.count < b.N; i++ {
				for id := range wamble.BoardID(50) {
					p := positions[i%2]
					p.ID = id + 1
					r.h.Show(p)
				}
				r.now = r.now.Add(500 * time.Millisecond)
				for _, g := range r.guests {
					g.LastSeen = r.now
				}
				r.h.Due(r.now, r)
			}
		})
	}
}
