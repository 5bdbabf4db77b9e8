package profile

import (
	"fmt"
	"runtime"
	"testing"
	"time"

	"wamble"
	"wamble/chess"
	"wamble/wire"
)

// crowd is many players who move in turn, with a journal that is durable one step later, as
// in a server under load.
type crowd struct {
	p       *Profile
	out     Output
	now     time.Time
	rng     uint64
	players []mover
	inputs  []Input
	packets [][]byte
	index   uint64
	seq     uint64
	next    int
	moves   int
}

type mover struct {
	peer  wamble.Peer
	token wamble.Token
	id    wamble.SessionID
	seq   uint32
}

// newCrowd restores boards at random positions of short games, and sessions of which the
// first few play.
func newCrowd(tb testing.TB, boards, sessions, playing int) *crowd {
	tb.Helper()
	return newCrowdWith(tb, "", boards, sessions, playing)
}

// newCrowdWith is newCrowd with more options.
func newCrowdWith(tb testing.TB, options string, boards, sessions, playing int) *crowd {
	tb.Helper()
	conf := options + fmt.Sprintf(`(def max-boards %d) (def min-boards 0) (def max-players %d) (def max-client-sessions 100000)
		(def rate-limit-requests-per-sec 0) (def rate-limit-ip-requests-per-sec 0) (def new-players-per-ip-per-min 0)`, boards+sessions, sessions+playing+1)
	c := emptyCrowd(tb, conf)
	b := wamble.Board{FEN: chess.Start().FEN(), Status: wamble.Dormant, Variant: -1, Created: epoch.Add(-time.Hour)}
	for i := range boards {
		b.ID = wamble.BoardID(i + 1)
		c.step(&RestoreBoard{Board: b})
	}
	s := wamble.Session{LastSeen: epoch}
	for i := range sessions {
		s.ID, s.Token = wamble.SessionID(i+1), hashOf(wamble.Token{1, byte(i), byte(i >> 8), byte(i >> 16)})
		c.step(&RestoreSession{Session: s})
		if i < playing {
			c.players = append(c.players, mover{peer: peerAt(i), token: tokenOf(s.Token), id: s.ID})
		}
	}
	c.greet(tb)
	return c
}

// emptyCrowd is a profile that has leases, and waits for its boards.
func emptyCrowd(tb testing.TB, conf string) *crowd {
	tb.Helper()
	c := &crowd{now: epoch, rng: 1}
	c.p = New(Options{Config: configOf(tb, conf), Seed: [32]byte{9}, Now: epoch, LeaseSize: 1 << 20})
	c.step(&Leased{Sequence: wamble.BoardIDs, Blocks: []wamble.Block{{First: 1 << 30, Count: 1 << 30}}},
		&Leased{Sequence: wamble.SessionIDs, Blocks: []wamble.Block{{First: 1 << 30, Count: 1 << 30}}})
	return c
}

// greet opens the profile, and lets all playing sessions say hello.
func (c *crowd) greet(tb testing.TB) {
	tb.Helper()
	if c.out.Troubles != nil {
		tb.Fatal(c.out.Troubles[0])
	}
	c.step(&Ready{})
	for i := range c.players {
		m := &c.players[i]
		c.step(&Packet{Peer: m.peer, Data: helloPacket(m.token, 0)})
		m.seq = 1
		c.step(&Packet{Peer: m.peer, Data: ackPacket(m.token, 1)})
	}
}

func (c *crowd) step(inputs ...Input) {
	c.now = c.now.Add(50 * time.Microsecond)
	c.p.Step(c.now, inputs, &c.out)
	c.seq += uint64(c.out.Frames.Len())
	if c.out.DurableIndex != 0 {
		c.index = c.out.DurableIndex
	}
}

// prepare makes the next n moves, of different players.
func (c *crowd) prepare(tb testing.TB, n int) {
	c.inputs = append(c.inputs[:0], &Durable{Index: c.index, Seq: c.seq}, &Applied{Seq: c.seq})
	// The clients acknowledge what they were sent by the last step.
	if len(c.packets) < 2*n+8 {
		c.packets = make([][]byte, 2*n+1024)
	}
	k := 0
	for i := range c.out.Packets.Len() {
		to, b := c.out.Packets.At(i)
		if h, _ := wire.Peek(b); h.Ctrl != wire.CtrlAck && k < len(c.packets)-n {
			h.Ctrl, h.Flags = wire.CtrlAck, 0
			c.packets[k], _ = wire.Append(c.packets[k][:0], h, wire.Ack{})
			c.inputs = append(c.inputs, &Packet{Peer: to, Data: c.packets[k]})
			k++
		}
	}
	var buf [256]chess.Move
	for range n {
		m := &c.players[c.next]
		c.next = (c.next + 1) % len(c.players)
		b := c.p.boards.Held(m.id)
		if b == nil {
			tb.Fatal("a player has no board")
		}
		legal := b.Position().LegalMoves(buf[:0])
		c.rng = c.rng*6364136223846793005 + 1442695040888963407
		uci, _ := wire.MakeUCI(legal[c.rng>>33%uint64(len(legal))].String())
		m.seq++
		c.packets[k], _ = wire.Append(c.packets[k][:0], wire.Header{Token: m.token, Board: b.ID(), Seq: m.seq},
			wire.PlayerMove{UCI: uci})
		c.inputs = append(c.inputs, &Packet{Peer: m.peer, Data: c.packets[k]})
		k++
	}
	c.moves += n
	c.now = c.now.Add(time.Millisecond)
}

func (c *crowd) run() {
	c.p.Step(c.now, c.inputs, &c.out)
	c.seq += uint64(c.out.Frames.Len())
	if c.out.DurableIndex != 0 {
		c.index = c.out.DurableIndex
	}
}

const perStep = 64 // moves of a batch

// TestAllocations: a move allocates nothing, ACK and answer included, but for the
// lists of a board that grow now and then.
func TestAllocations(t *testing.T) {
	for _, tc := range []struct {
		options string
		boards  int
		most    float64
	}{
		{"", 1000, 0.5},
		{"(def prediction-mode 1)", 1000, 0.5},
		{"", 10000, 1}, // most moves are the first of their boards
	} {
		t.Run(fmt.Sprint(tc.boards, tc.options), func(t *testing.T) {
			countAllocations(t, newCrowdWith(t, tc.options, tc.boards, 256, 256), tc.most)
		})
	}
}

func countAllocations(t *testing.T, c *crowd, most float64) {
	t.Helper()
	for range 100 { // every player has moved often, and all memory has grown
		c.prepare(t, perStep)
		c.run()
	}
	before := c.p.Stats().Moves
	const runs = 50
	total := 0.0
	for range runs {
		c.prepare(t, perStep)
		first := true
		// AllocsPerRun runs once more to warm up; a step cannot be run twice.
		total += testing.AllocsPerRun(1, func() {
			if first {
				first = false
				return
			}
			c.run()
		})
	}
	if got := c.p.Stats().Moves - before; got != runs*perStep {
		t.Fatalf("%d of %d moves were accepted", got, runs*perStep)
	}
	perMove := total / (runs * perStep)
	t.Logf("%.2f allocations per move", perMove)
	if perMove > most {
		t.Errorf("got %.2f allocations per move, want at most %v", perMove, most)
	}
}

func benchmarkMoves(b *testing.B, boards, sessions int) {
	c := newCrowd(b, boards, sessions, 2000)
	for range 64 {
		c.prepare(b, perStep)
		c.run()
	}
	before := c.p.Stats().Moves
	b.ReportAllocs()
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	n, cpu := 0, time.Duration(0)
	b.ResetTimer()
	for n = 0; n < b.N; n += perStep {
		b.StopTimer()
		c.prepare(b, perStep)
		b.StartTimer()
		before := cpuTime()
		c.run()
		cpu += cpuTime() - before
	}
	b.StopTimer()
	b.ReportMetric(float64(cpu.Nanoseconds())/float64(n), "cpu-ns/op")
	if got := c.p.Stats().Moves - before; got != uint64(n) {
		b.Fatalf("%d of %d moves were accepted", got, n)
	}
}

// One operation is one move: its packet in, its frame, the ACK and the
// BOARD_UPDATE of an earlier one out, and the client's ACK of that in.
func BenchmarkMove10k(b *testing.B) { benchmarkMoves(b, 10_000, 2_000) }

func BenchmarkMove1M(b *testing.B) { benchmarkMoves(b, 1_000_000, 100_000) }
