package transport

import (
	"encoding/binary"
	"slices"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"wamble"
	"wamble/internal/link"
	"wamble/wire"
)

// answerTemplate is a board as a server of this project sends it.
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

// echo is the bare server: it reads and writes the same packets in the same
// batches, and knows nothing.
func echo(tb testing.TB, u *UDP, moves *atomic.Int64) {
	hello, update := answerTemplate(tb, wire.CtrlServerHello), answerTemplate(tb, wire.CtrlBoardUpdate)
	ack, _ := wire.Append(nil, wire.Header{}, wire.Ack{})
	var out link.Batch
	for {
		packets, err := u.Read(time.Time{})
		if err != nil {
			return
		}
		for _, p := range packets {
			switch wire.Control(p.Data[0]) {
			case wire.CtrlPlayerMove:
				copy(ack[4:32], p.Data[4:32])
				copy(update[4:32], p.Data[4:32])
				out.Send(p.Peer, ack)
				out.Send(p.Peer, update)
				moves.Add(1)
			case wire.CtrlClientHello:
				tokenOf(p.Peer, hello[4:20])
				out.Send(p.Peer, hello)
			}
		}
		u.Write(&out)
		out.Reset()
	}
}

// tokenOf is the token of the loader's client at a peer: it begins with the
// client's number.
func tokenOf(p wamble.Peer, token []byte) {
	a := p.IP().As4()
	a[0] = 0
	binary.BigEndian.PutUint32(token, binary.BigEndian.Uint32(a[:])-0x10002)
	token[15] = 1
}

// linked is the same with a link and a trivial handler.
func linked(tb testing.TB, u *UDP, moves *atomic.Int64) {
	hello, update := answerTemplate(tb, wire.CtrlServerHello), answerTemplate(tb, wire.CtrlBoardUpdate)
	s := link.NewServer(link.Config{})
	epoch := time.Now()
	var out link.Batch
	var gate uint64
	for {
		var until time.Time
		if next, ok := s.Next(); ok {
			until = epoch.Add(next)
		}
		packets, err := u.Read(until)
		if err != nil {
			checkPattern(tb, s.Stats(), moves.Load())
			return
		}
		now := time.Since(epoch)
		gate++
		for _, p := range packets {
			r := s.Receive(now, p.Peer, p.Data, &out)
			if r.Verdict != link.New {
				continue
			}
			switch r.Packet.Ctrl {
			case wire.CtrlPlayerMove:
				copy(update[4:20], r.Packet.Token[:])
				s.Reply(r.Request, update)
				moves.Add(1)
			case wire.CtrlClientHello:
				tokenOf(p.Peer, hello[4:20])
				s.Reply(r.Request, hello)
			}
			s.Finish(r.Request, gate)
		}
		s.Release(now, gate, &out)
		s.Due(now, &out)
		u.Write(&out)
		out.Reset()
	}
}

// checkPattern makes sure that what was measured is what was meant: nearly
// every move was new and its answer acknowledged.
func checkPattern(tb testing.TB, s link.Stats, moves int64) {
	if s.Acks < uint64(moves)*9/10 || s.Repeated > uint64(moves)/10 || s.Duplicates > uint64(moves)/10 {
		tb.Errorf("%d moves are not the pattern that was meant: %+v", moves, s)
	}
}

// result is what one run measured.
type result struct {
	perSecond float64 // moves in a second
	perCPU    float64 // moves in a second of this process's processor time
}

// measure runs a server against the loader for about a second.
func measure(tb testing.TB, serve func(testing.TB, *UDP, *atomic.Int64)) result {
	tb.Helper()
	u := listenTestUDP(tb, "[::]:0", UDPOptions{})
	var moves atomic.Int64
	done := make(chan bool)
	go func() {
		serve(tb, u, &moves)
		close(done)
	}()
	loader := &cleanups{TB: tb}
	startLoader(loader, netipLoopback(u))
	for deadline := time.Now().Add(patience); moves.Load() < 10_000; {
		if time.Now().After(deadline) {
			tb.Fatalf("only %d moves in %v", moves.Load(), patience)
		}
		<-time.After(10 * time.Millisecond)
	}
	n, cpu, start := moves.Load(), cpuTime(tb), time.Now()
	<-time.After(time.Second)
	n, cpu, wall := moves.Load()-n, cpuTime(tb)-cpu, time.Since(start)
	loader.run()
	u.Close()
	<-done
	return result{float64(n) / wall.Seconds(), float64(n) / cpu.Seconds()}
}

func cpuTime(tb testing.TB) time.Duration {
	var r syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &r); err != nil {
		tb.Fatal(err)
	}
	return time.Duration(r.Utime.Nano() + r.Stime.Nano())
}

// BenchmarkLinkOverEcho measures what reliable delivery costs: moves (move in,
// ACK and update out, ACK in) through transport, link and a trivial handler,
// against a bare echo with the same system calls. The two take turns; the
// ratio is the median of three. The ratio by processor time is the one to look
// at on a machine that others use too.
func BenchmarkLinkOverEcho(b *testing.B) {
	const rounds = 3
	var echoes, links, byWall, byCPU []float64
	for range b.N {
		for range rounds {
			e, l := measure(b, echo), measure(b, linked)
			b.Logf("echo %6.0f/s (%6.0f per CPU second), link %6.0f/s (%6.0f per CPU second)", e.perSecond, e.perCPU, l.perSecond, l.perCPU)
			echoes, links = append(echoes, e.perSecond), append(links, l.perSecond)
			byWall, byCPU = append(byWall, l.perSecond/e.perSecond), append(byCPU, l.perCPU/e.perCPU)
		}
	}
	b.ReportMetric(median(echoes), "echo-moves/s")
	b.ReportMetric(median(links), "link-moves/s")
	b.ReportMetric(median(byWall), "ratio")
	b.ReportMetric(median(byCPU), "ratio-by-cpu")
	b.ReportMetric(0, "ns/op")
}

func median(v []float64) float64 {
	v = slices.Clone(v)
	slices.Sort(v)
	return v[len(v)/2]
}
