//go:build proof && linux

package transport

import (
	"encoding/binary"
	"math/rand/v2"
	"net/netip"
	"runtime"
	"sync/atomic"
	"testing"
	"time"

	"wamble"
	"wamble/internal/link"
	"wamble/internal/prooftest"
	"wamble/wire"
)

// soak is n in make soak, and a twentieth in make proof.
func soak(n int) int {
	return prooftest.Sized(n/20, n/20, n)
}

// abuse returns an attacker's packet: hellos, moves with made-up tokens, ACKs of nothing with
// junk behind them, and junk.
func abuse(r *rand.Rand, b []byte) []byte {
	switch b = b[:0]; r.IntN(4) {
	case 0:
		b, _ = wire.Append(b, wire.Header{Seq: r.Uint32()}, wire.ClientHello{})
	case 1:
		b, _ = wire.Append(b, wire.Header{Token: randomToken(r), Board: 1, Seq: r.Uint32()}, wire.PlayerMove{})
	case 2:
		b, _ = wire.Append(b, wire.Header{Token: randomToken(r), Seq: r.Uint32()}, wire.Ack{})
		b = append(b, "junk"...)
	default:
		for range r.IntN(100) {
			b = append(b, byte(r.Uint32()))
		}
	}
	return b
}

func randomToken(r *rand.Rand) (t wamble.Token) {
	binary.BigEndian.PutUint64(t[:], r.Uint64())
	binary.BigEndian.PutUint64(t[8:], r.Uint64())
	return t
}

// answerTemplate is a board in the form in which a server sends it.
func answerTemplate(tb testing.TB, ctrl wire.Control) []byte {
	tb.Helper()
	fen := wire.Text("rnbqkbnr/pppppppp/8/8/4P3/8/PPPP1PPP/RNBQKBNR b")
	ext := []wire.Field{
		wire.Int(wire.KeySessionCaps, 0x3ff), wire.Int(wire.KeyReservationReservedAt, 1700000000),
		wire.Int(wire.KeyLastMoveFrom, 12), wire.Int(wire.KeyLastMoveTo, 28),
	}
	h := wire.Header{Board: 1}
	var b []byte
	var err error
	if ctrl == wire.CtrlServerHello {
		b, err = wire.Append(nil, h, wire.ServerHello{FEN: fen}, ext[0])
	} else {
		b, err = wire.Append(nil, h, wire.BoardUpdate{FEN: fen}, ext...)
	}
	if err != nil {
		tb.Fatal(err)
	}
	return b
}

// tableServer is transport and link with a handler that executes moves of the
// sessions it has made, and refuses others.
type tableServer struct {
	u       *UDP
	link    *link.Endpoint
	epoch   time.Time
	out     link.Batch
	gate    uint64
	tokens  map[wamble.Token]bool
	max     int // sessions
	moves   map[uint32]int
	replies struct{ hello, update []byte }
}

func newTableServer(t *testing.T, u *UDP, max int) *tableServer {
	s := &tableServer{u: u, link: link.NewEndpoint(link.Config{HostRate: 500}), epoch: time.Now(),
		tokens: map[wamble.Token]bool{}, max: max, moves: map[uint32]int{}}
	s.replies.hello, s.replies.update = answerTemplate(t, wire.CtrlServerHello), answerTemplate(t, wire.CtrlBoardUpdate)
	return s
}

// step serves one batch and returns the number of packets, or -1 at the end.
func (s *tableServer) step(until time.Time) int {
	packets, err := s.u.Read(until)
	if err != nil {
		return -1
	}
	now := time.Since(s.epoch)
	s.gate++
	for _, p := range packets {
		r := s.link.Receive(now, p.Peer, p.Data, &s.out)
		if r.Verdict != link.New {
			continue
		}
		s.handle(r)
		s.link.Finish(r.Request, s.gate)
	}
	s.link.Release(now, s.gate, &s.out)
	s.link.Due(now, &s.out)
	s.u.Write(&s.out)
	s.out.Reset()
	return len(packets)
}

func (s *tableServer) handle(r *link.Received) {
	token := r.Packet.Token
	switch {
	case r.Packet.Ctrl == wire.CtrlClientHello:
		if len(s.tokens) >= s.max {
			link.Answer(s.link, r.Request, wire.Header{}, wire.Error{Code: wamble.Internal})
			return
		}
		token = wamble.Token{1, byte(len(s.tokens))}
		s.tokens[token] = true
		copy(s.replies.hello[4:20], token[:])
		s.link.Reply(r.Request, s.replies.hello)
	case s.tokens[token]:
		s.link.Vouch(r.Request)
		s.moves[r.Packet.Seq]++
		copy(s.replies.update[4:20], token[:])
		s.link.Reply(r.Request, s.replies.update)
	default:
		link.Answer(s.link, r.Request, wire.Header{Token: token}, wire.Error{Code: wamble.UnknownPlayer})
	}
}

// Packets from every address of 127.0.0.0/8 (one in twenty unless soaking)
// leave no trace: after the tables are full, memory does not grow.
func TestMemoryFlatOverLoopbackNetwork(t *testing.T) {
	prooftest.Needs(t, "minutes")
	r := prooftest.Random(t)
	u := listenTestUDP(t, "[::]:0", UDPOptions{})
	s := newTableServer(t, u, 0)
	from := openSpoofer(netipLoopback(u))
	defer from.udp.Close()
	addresses := soak(1 << 24)
	settled := addresses / 4 * 3 // by now every table is full
	first := r.Uint32N(1 << 24)
	var base uint64
	var packet []byte
	got := 0
	for i := range addresses {
		packet = abuse(r, packet)
		from.add(first+uint32(i)*spread(addresses), packet)
		if from.n == ReadBatch || i == addresses-1 {
			sent := from.n
			from.flush()
			// In step with the server, so that the kernel drops nothing.
			for n := 0; n < sent; {
				k := s.step(time.Now().Add(50 * time.Millisecond))
				if k <= 0 { // wake-ups and addresses that cannot be sources
					break
				}
				n += k
			}
			got += sent
		}
		if i == settled {
			base = heap()
		}
	}
	end := heap()
	size := s.link.Size()
	t.Logf("%d packets, received %d, lost %d; heap %d KiB after three quarters, %d KiB at the end; %+v",
		got, u.Stats().Received, u.Stats().Lost, base>>10, end>>10, size)
	if end > base+base/8+1<<20 {
		t.Errorf("the heap grew from %d to %d bytes", base, end)
	}
	if size.Paths > 1<<16 {
		t.Errorf("%d endpoints are remembered", size.Paths)
	}
	if received := int(u.Stats().Received); received < addresses*9/10 {
		t.Errorf("only %d of %d packets arrived", received, addresses)
	}
}

// spread scatters fewer addresses over the whole network: an odd stride visits
// each address at most once.
func spread(n int) uint32 { return uint32(1<<24/n) | 1 }

func heap() uint64 {
	runtime.GC()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}

// A client plays while a flood of abuse from all over the network runs beside
// it, at full speed: every move is executed once and answered.
func TestFloodBesideClient(t *testing.T) {
	prooftest.Needs(t, "a machine for itself")
	u := listenTestUDP(t, "[::]:0", UDPOptions{})
	s := newTableServer(t, u, 16)
	served := make(chan bool)
	go func() {
		for s.step(time.Now().Add(20*time.Millisecond)) >= 0 {
		}
		close(served)
	}()

	c := newPlayer(t, netipLoopback(u))
	c.ask(wire.Header{}, wire.CtrlServerHello) // the flood fills the last places

	var stop atomic.Bool
	flooded := make(chan uint64)
	r := prooftest.Random(t)
	go func() {
		from := openSpoofer(netipLoopback(u))
		defer from.udp.Close()
		var packet []byte
		for !stop.Load() {
			for range WriteBatch {
				packet = abuse(r, packet)
				from.add(r.Uint32N(1<<24), packet)
			}
			from.flush()
		}
		flooded <- from.udp.Stats().Sent
	}()
	moves := 0
	for flood := uint64(soak(4_000_000)); u.Stats().Received+u.Stats().Lost < flood; moves++ {
		c.ask(wire.Header{Token: c.token, Board: 1}, wire.CtrlBoardUpdate)
	}
	stop.Store(true)
	<-flooded
	u.Close()
	<-served
	t.Logf("%d moves beside the flood; server %+v; client %+v", moves, u.Stats(), c.link.Stats())
	if moves == 0 {
		t.Error("the client never played")
	}
	for seq := uint32(2); seq < uint32(moves+2); seq++ {
		if s.moves[seq] != 1 {
			t.Errorf("move %d was executed %d times", seq, s.moves[seq])
		}
	}
}

// player is a well-behaved client.
type player struct {
	t     *testing.T
	u     *UDP
	link  *link.Client
	epoch time.Time
	out   link.Batch
	token wamble.Token
}

func newPlayer(t *testing.T, server netip.AddrPort) *player {
	return &player{
		t: t, u: listenTestUDP(t, "127.0.0.1:0", UDPOptions{}), epoch: time.Now(),
		link: link.NewClient(link.ClientConfig{Server: wamble.Peer{Addr: server}, Sends: 200,
			FirstWait: 20 * time.Millisecond}),
	}
}

// ask sends a hello or a move and waits for its answer and its ACK.
func (c *player) ask(h wire.Header, want wire.Control) {
	c.t.Helper()
	var packet []byte
	var err error
	if want == wire.CtrlServerHello {
		packet, err = wire.Append(nil, h, wire.ClientHello{})
	} else {
		packet, err = wire.Append(nil, h, wire.PlayerMove{})
	}
	if err == nil {
		_, err = c.link.Send(c.now(), &c.out, packet)
	}
	if err != nil {
		c.t.Fatal(err)
	}
	end := time.Now().Add(6 * patience)
	for answered := false; !answered || c.link.Open() > 0; {
		if time.Now().After(end) {
			c.t.Fatalf("no %v: %+v", want, c.link.Stats())
		}
		c.u.Write(&c.out)
		c.out.Reset()
		until := time.Now().Add(100 * time.Millisecond)
		if next, ok := c.link.Next(); ok {
			until = c.epoch.Add(next)
		}
		packets, err := c.u.Read(until)
		if err != nil {
			c.t.Fatal(err)
		}
		for _, p := range packets {
			e := c.link.Receive(c.now(), p.Data, &c.out)
			if e.Kind == link.Arrived && e.Packet.Ctrl == want {
				c.token, answered = e.Packet.Token, true
			}
		}
		if lost := c.link.Due(c.now(), &c.out, nil); len(lost) > 0 {
			c.t.Fatalf("given up: %v", lost)
		}
	}
	c.u.Write(&c.out)
	c.out.Reset()
}

func (c *player) now() time.Duration { return time.Since(c.epoch) }
