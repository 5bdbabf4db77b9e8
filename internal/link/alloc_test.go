package link

import (
	"net/netip"
	"testing"
	"time"

	"wamble"
	"wamble/wire"
)

// exchange is a move in package link alone: move in, ACK and update out, ACK in.
type exchange struct {
	s      *Endpoint
	out    Batch
	now    time.Duration
	gate   uint64
	peers  []wamble.Peer
	move   []byte
	ack    []byte
	update wire.BoardUpdate
	seq    []uint32
	sent   []uint32
}

func newExchange(tb testing.TB, players int, cfg Config) *exchange {
	x := &exchange{s: NewEndpoint(cfg), move: move(tokenA, 0), ack: ack(tokenA, 0)}
	x.update.FEN = wire.Text("rnbqkbnr/pppppppp/8/8/4P3/8/PPPP1PPP/RNBQKBNR b KQkq e3 0 1 rnbqkbnr/pppppppp/8/8/4P3/8/PPPP1PPP/RNBQKBNR b")
	x.seq, x.sent = make([]uint32, players), make([]uint32, players)
	for i := range players {
		ip := [4]byte{10, byte(i >> 16), byte(i >> 8), byte(i)}
		p := wamble.Peer{Addr: netip.AddrPortFrom(netip.AddrFrom4(ip), 5000)}
		x.peers = append(x.peers, p)
		got := x.s.Receive(x.now, p, hello(x.token(i), 1), &x.out)
		if err := Answer(x.s, got.Request, wire.Header{Token: x.token(i)}, wire.ServerHello{}); err != nil {
			tb.Fatal(err)
		}
		x.s.Finish(got.Request, 0)
		x.s.Release(x.now, 0, &x.out)
		x.s.Receive(x.now, p, ack(x.token(i), 1), &x.out)
		x.seq[i] = 2
	}
	x.out.Reset()
	return x
}

func (x *exchange) token(i int) wamble.Token {
	return wamble.Token{1, byte(i >> 16), byte(i >> 8), byte(i)}
}

// play lets every player of from … to move once, in one batch.
func (x *exchange) play(tb testing.TB, from, to int) {
	x.now += time.Millisecond
	x.gate++
	for i := from; i < to; i++ {
		token := x.token(i)
		copy(x.move[4:], token[:])
		wire.SetSeq(x.move, x.seq[i])
		x.seq[i]++
		got := x.s.Receive(x.now, x.peers[i], x.move, &x.out)
		if got.Verdict != New {
			tb.Fatalf("verdict %d, want New", got.Verdict)
		}
		if err := Answer(x.s, got.Request, wire.Header{Token: token, Board: 42}, x.update); err != nil {
			tb.Fatal(err)
		}
		x.s.Finish(got.Request, x.gate)
	}
	x.s.Release(x.now, x.gate, &x.out)
	if got, want := x.out.Len(), 2*(to-from); got != want {
		tb.Fatalf("%d packets sent, want %d", got, want)
	}
	x.out.Reset()
	for i := from; i < to; i++ {
		token := x.token(i)
		copy(x.ack[4:], token[:])
		x.sent[i]++
		wire.SetSeq(x.ack, x.sent[i])
		if got := x.s.Receive(x.now, x.peers[i], x.ack, &x.out); got.Verdict != Delivered {
			tb.Fatalf("verdict %d, want Delivered", got.Verdict)
		}
	}
	x.s.Due(x.now, &x.out)
}

func TestMoveDoesNotAllocate(t *testing.T) {
	t.Run("short", func(t *testing.T) { moveDoesNotAllocate(t, 0) })
	t.Run("long", func(t *testing.T) { moveDoesNotAllocate(t, 387) }) // the longest BOARD_UPDATE
}

// moveDoesNotAllocate measures moves whose answers have so many bytes of payload, or if that
// is 0 the usual number.
func moveDoesNotAllocate(t *testing.T, payload int) {
	t.Helper()
	x := newExchange(t, 64, Config{TokenRate: 100_000, HostRate: 100_000})
	if payload > 0 {
		x.update.FEN = make([]byte, payload)
	}
	for range 300 { // answers are kept for 2 s: let that memory settle
		x.now += 10 * time.Millisecond
		x.play(t, 0, 64)
	}
	got := testing.AllocsPerRun(500, func() {
		x.now += 10 * time.Millisecond
		x.play(t, 0, 64)
	})
	if got != 0 {
		t.Errorf("64 moves allocate %v times", got)
	}
}

// A repeated request, and an ACK of nothing, allocate nothing either.
func TestNoiseDoesNotAllocate(t *testing.T) {
	x := newExchange(t, 1, Config{})
	x.play(t, 0, 1)
	stray := ack(x.token(0), 99)
	got := testing.AllocsPerRun(500, func() {
		x.s.Receive(x.now, x.peers[0], x.move, &x.out)
		x.s.Receive(x.now, x.peers[0], stray, &x.out)
		x.s.Receive(x.now, x.peers[0], stray[:20], &x.out)
		x.s.Receive(x.now, carol, stray, &x.out)
		x.s.Due(x.now, &x.out)
		x.out.Reset()
	})
	if got != 0 {
		t.Errorf("noise allocates %v times", got)
	}
}

// BenchmarkMove measures one move in link alone, in batches of 64.
func BenchmarkMove(b *testing.B) {
	for _, players := range []int{64, 4096, 32768} {
		b.Run("players="+itoa(uint32(players)), func(b *testing.B) {
			x := newExchange(b, players, Config{TokenRate: 1 << 30, HostRate: 1 << 30})
			for range 10 { // every player has all its memory
				for at := 0; at < players; at += 64 {
					x.play(b, at, at+64)
				}
			}
			b.ReportAllocs()
			moves := 0
			for b.Loop() {
				x.play(b, moves%players, moves%players+64)
				moves += 64
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(moves), "ns/move")
		})
	}
}

// BenchmarkUnknownToken measures a hello from an address that never comes back.
func BenchmarkUnknownToken(b *testing.B) {
	s := NewEndpoint(Config{MaxPaths: 4096, TokenRate: 120, HostRate: 500})
	var out Batch
	packet := hello(wamble.Token{}, 1)
	b.ReportAllocs()
	for i := range b.N {
		ip := [4]byte{byte(i >> 24), byte(i >> 16), byte(i >> 8), byte(i)}
		p := wamble.Peer{Addr: netip.AddrPortFrom(netip.AddrFrom4(ip), 1000)}
		now := time.Duration(i) * time.Microsecond
		if got := s.Receive(now, p, packet, &out); got.Verdict == New {
			s.Finish(got.Request, 1)
			s.Release(now, 1, &out)
		}
		s.Due(now, &out)
		out.Reset()
	}
}
