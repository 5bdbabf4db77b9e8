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

// newAudience is a crowd, each player on a board of their own, with predictions on and no
// bounds for spectators.
func newAudience(tb testing.TB, players int) *crowd {
	c := newCrowd(tb, 4*players, players, players)
	c.step(&Leased{Sequence: wamble.PredictionIDs, Blocks: []wamble.Block{{First: 1, Count: 1 << 40}}},
		&Configure{Config: configOf(tb, fmt.Sprintf(`(def max-boards %d) (def min-boards 0) (def max-players 100000) (def max-client-sessions 100000)
			(def rate-limit-requests-per-sec 0) (def rate-limit-ip-requests-per-sec 0) (def max-spectators -1)
			(def prediction-mode "streak") (def prediction-enforce-move-duplicate 0)
			(def spectator-packets-per-sec 0) (def spectator-total-packets-per-sec 0)`, 8*players))})
	return c
}

// ask sends one packet of a player, and the ACKs of what the last step sent.
func (c *crowd) ask(m *mover, packet []byte) {
	c.inputs = append(c.inputs[:0], &Durable{Index: c.index, Seq: c.seq}, &Applied{Seq: c.seq})
	c.acks()
	if m != nil {
		c.inputs = append(c.inputs, &Packet{Peer: m.peer, Data: packet})
	}
	c.now = c.now.Add(50 * time.Microsecond)
	c.run()
}

// acks acknowledges what the last step sent reliably.
func (c *crowd) acks() {
	k := 0
	for i := range c.out.Packets.Len() {
		to, b := c.out.Packets.At(i)
		if h, _ := wire.Peek(b); h.Ctrl != wire.CtrlAck && !h.Flags.Unreliable() {
			for len(c.packets) <= k {
				c.packets = append(c.packets, nil)
			}
			h.Ctrl, h.Flags = wire.CtrlAck, 0
			c.packets[k], _ = wire.Append(c.packets[k][:0], h, wire.Ack{})
			c.inputs = append(c.inputs, &Packet{Peer: to, Data: c.packets[k]})
			k++
		}
	}
}

// holds returns the board of a player, and a move on it.
func (c *crowd) holds(m *mover, i int) (wamble.BoardID, string) {
	var buf [256]chess.Move
	b := c.p.boards.Held(m.id)
	legal := b.Position().LegalMoves(buf[:0])
	return b.ID(), legal[i%len(legal)].String()
}

// BenchmarkAudience measures one request: its packet in, its decision, its ACK and answer
// out, the ACK of that in.
func BenchmarkAudience(b *testing.B) {
	const players = 64
	for _, kind := range []struct {
		name string
		make func(c *crowd, m *mover, i int) []byte
	}{
		{"SUBMIT_PREDICTION", func(c *crowd, m *mover, i int) []byte {
			id, uci := c.holds(&c.players[0], i)
			return submitPacket(m.token, id, m.seq, uci, 0)
		}},
		{"GET_PREDICTIONS", func(c *crowd, m *mover, _ int) []byte {
			id, _ := c.holds(&c.players[0], 0)
			return treePacket(m.token, id, m.seq, 0, 0)
		}},
		{"SPECTATE_GAME focus", func(c *crowd, m *mover, _ int) []byte {
			id, _ := c.holds(&c.players[0], 0)
			return watchPacket(m.token, id, m.seq, 0)
		}},
		{"SPECTATE_GAME summary of 64", func(_ *crowd, m *mover, _ int) []byte { return watchPacket(m.token, 0, m.seq, 0) }},
		{"SPECTATE_STOP", func(_ *crowd, m *mover, _ int) []byte { return stopPacket(m.token, m.seq) }},
	} {
		b.Run(kind.name, func(b *testing.B) {
			c := newAudience(b, players)
			if kind.name == "GET_PREDICTIONS" {
				for i := 1; i < players; i++ {
					m := &c.players[i]
					m.seq++
					id, uci := c.holds(&c.players[0], i)
					c.ask(m, submitPacket(m.token, id, m.seq, uci, 0))
				}
			}
			before := c.p.Stats()
			b.ReportAllocs()
			runtime.LockOSThread()
			defer runtime.UnlockOSThread()
			cpu := time.Duration(0)
			b.ResetTimer()
			for i := range b.N {
				b.StopTimer()
				m := &c.players[1+i%(players-1)]
				if i%(players-1) == 0 && kind.name == "SUBMIT_PREDICTION" { // everybody has predicted: the move
					first := &c.players[0]
					id, uci := c.holds(first, 0)
					first.seq++
					c.ask(first, movePacket(first.token, id, first.seq, uci))
				}
				m.seq++
				packet := kind.make(c, m, i)
				b.StartTimer()
				start := cpuTime()
				c.ask(m, packet)
				cpu += cpuTime() - start
			}
			b.StopTimer()
			b.ReportMetric(float64(cpu.Nanoseconds())/float64(b.N), "cpu-ns/op")
			if after := c.p.Stats(); after.Refused != before.Refused {
				b.Fatalf("%d of %d requests were refused", after.Refused-before.Refused, b.N)
			}
		})
	}
}

// watched is a crowd of which many watch, and some move.
func watched(tb testing.TB, watchers int) *crowd {
	c := newAudience(tb, watchers+50)
	for i := 50; i < len(c.players); i++ {
		m := &c.players[i]
		m.seq++
		c.ask(m, watchPacket(m.token, 0, m.seq, 0))
	}
	c.ask(nil, nil)
	return c
}

// turn lets fifty players move, and half a second pass: every watcher is shown fifty boards.
func (c *crowd) turn(tb testing.TB) {
	c.inputs = append(c.inputs[:0], &Durable{Index: c.index, Seq: c.seq}, &Applied{Seq: c.seq})
	c.acks()
	for i := range 50 {
		m := &c.players[i]
		id, uci := c.holds(m, c.moves+i)
		m.seq++
		c.inputs = append(c.inputs, &Packet{Peer: m.peer, Data: movePacket(m.token, id, m.seq, uci)})
	}
	c.moves += 50
	c.now = c.now.Add(500 * time.Millisecond)
}

// BenchmarkWatching measures one packet to one of 1,000 watchers of 50 changing boards:
// choosing it, copying it, the durable index, the batch. The moves of the players are
// included: one for twenty packets.
func BenchmarkWatching(b *testing.B) {
	c := watched(b, 1000)
	packets, cpu := 0, time.Duration(0)
	b.ReportAllocs()
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	b.ResetTimer()
	for packets < b.N {
		b.StopTimer()
		c.turn(b)
		b.StartTimer()
		start := cpuTime()
		c.run()
		cpu += cpuTime() - start
		packets += c.out.Packets.Len()
	}
	b.ReportMetric(float64(cpu.Nanoseconds())/float64(packets), "cpu-ns/packet")
}

// TestWatchingAllocations: packets to watchers cost no memory, from the hub to
// the batch.
func TestWatchingAllocations(t *testing.T) {
	c := watched(t, 200)
	for range 20 {
		c.turn(t)
		c.run()
	}
	const runs = 20
	total, packets := 0.0, 0
	for range runs {
		c.turn(t)
		first := true
		total += testing.AllocsPerRun(1, func() {
			if first { // AllocsPerRun runs once to warm up; a step cannot be run twice
				first = false
				return
			}
			c.run()
		})
		packets += c.out.Packets.Len()
	}
	// The moves' own cost is counted in other benchmarks: a few for each.
	moves := float64(50 * runs)
	t.Logf("%.2f allocations per move, %d packets", total/moves, packets)
	if total/moves > 5 || packets < 100*50*runs {
		t.Errorf("got %.0f allocations for %d packets", total, packets)
	}
}
