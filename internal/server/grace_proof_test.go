//go:build proof && linux

package server

import (
	"bufio"
	"context"
	"crypto/rand"
	"encoding/binary"
	"fmt"
	"io"
	mathrand "math/rand/v2"
	"net"
	"net/http"
	"net/netip"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"wamble/chess"
	"wamble/internal/prooftest"
	"wamble/wire"
)

const (
	graceShare = 0.1              // of a core, for the server
	graceRate  = 10_000           // datagrams a second
	graceConns = 10_000           // connections a minute
	graceMove  = time.Second / 5  // from a move of a player to the next
	graceNew   = time.Second / 10 // from a newcomer to the next
	graceSoon  = 2 * time.Second  // for a newcomer
	graceP99   = 500 * time.Millisecond
	graceAfter = time.Second // from the end of a flood to normal play

	graceNormal = 50 * time.Millisecond // half of the moves without a flood
)

// moveTime is when a move began, and how long it took.
type moveTime struct{ at, took time.Duration }

// TestGraceUnderTooMuch: with a tenth of a core, which a flood wants many times over, twenty people play and newcomers
// come in, and a second after the flood it is as before it.
func TestGraceUnderTooMuch(t *testing.T) {
	length := prooftest.Sized(10*time.Second, 10*time.Second, time.Minute)
	anywhere := func(b []byte, rng *mathrand.Rand) (from [4]byte) {
		binary.BigEndian.PutUint32(from[:], 127<<24|uint32(1+rng.IntN(100))<<16|rng.Uint32N(1<<16))
		return from
	}
	for _, tc := range []struct {
		name  string
		flood func(ctx context.Context, f *forger, seed uint64) (sent int)
	}{
		{"forged hellos", func(ctx context.Context, f *forger, seed uint64) int {
			return f.pour(ctx, seed, func(n int, rng *mathrand.Rand) []byte { return someHello(n, rng) }, anywhere)
		}},
		{"invented tokens", func(ctx context.Context, f *forger, seed uint64) int {
			return f.pour(ctx, seed, func(n int, rng *mathrand.Rand) []byte {
				b := someHello(n, rng)
				if n%4 < 2 {
					uci, _ := wire.MakeUCI("e2e4")
					b, _ = wire.Append(nil, wire.Header{Board: 1, Seq: rng.Uint32()}, wire.PlayerMove{UCI: uci})
				}
				rand.Read(b[wire.TokenOffset:][:16])
				return b
			}, anywhere)
		}},
		{"forged hellos and JSON connections", func(ctx context.Context, f *forger, seed uint64) int {
			var conns atomic.Int64
			var both sync.WaitGroup
			both.Go(func() { pourConnections(ctx, f.server, &conns) })
			n := f.pour(ctx, seed, func(n int, rng *mathrand.Rand) []byte { return someHello(n, rng) }, anywhere)
			both.Wait()
			t.Logf("%d connections were answered", conns.Load())
			return n
		}},
	} {
		t.Run(tc.name, func(t *testing.T) { grace(t, length, tc.flood) })
	}
}

// someHello returns a hello, every other one with room for a cookie.
func someHello(n int, rng *mathrand.Rand) []byte {
	var ext []wire.Field
	if n%2 == 1 {
		ext = append(ext, wire.NoCookie())
	}
	b, _ := wire.Append(nil, wire.Header{Seq: rng.Uint32()}, wire.ClientHello{}, ext...)
	return b
}

func grace(t *testing.T, length time.Duration, flood func(ctx context.Context, f *forger, seed uint64) int) {
	p := prooftest.Needs(t, "root, control groups and a machine for itself")
	a := openArena(t)
	a.crowd = gather(t, a.address(), 20)
	server := netip.MustParseAddrPort("127.0.0.1:" + a.port)
	limit(t, a.cmd.Process.Pid, graceShare)
	calm := a.playAt(t.Context(), t, length/2)
	f := newForger(t, a.port, nil)
	ctx, stop := context.WithTimeout(t.Context(), length)
	defer stop()
	began := time.Now()
	var all, newcomers sync.WaitGroup
	sent := 0
	all.Go(func() { sent = flood(ctx, f, a.seed) })
	var mu sync.Mutex
	var entered []time.Duration
	all.Go(func() {
		for n := uint32(1); ctx.Err() == nil; n++ {
			newcomers.Go(func() {
				var from [4]byte
				binary.BigEndian.PutUint32(from[:], 127<<24|200<<16|n)
				took, err := comeIn(server, from, n%2 == 0)
				mu.Lock()
				defer mu.Unlock()
				if entered = append(entered, took); err != nil {
					t.Errorf("newcomer %d: %v", n, err)
				}
			})
			sleep(ctx, graceNew)
		}
	})
	moves := a.playAt(t.Context(), t, length+4*graceAfter)
	all.Wait()
	newcomers.Wait()
	ended := length + graceAfter
	var during, after []time.Duration
	for _, m := range moves {
		switch {
		case m.at < length:
			during = append(during, m.took)
		case m.at > ended:
			after = append(after, m.took)
		}
	}
	before := make([]time.Duration, len(calm))
	for i, m := range calm {
		before[i] = m.took
	}
	for _, list := range [][]time.Duration{before, during, after, entered} {
		slices.Sort(list)
	}
	slowest := entered[len(entered)-1]
	t.Logf("%d datagrams in %v; %d newcomers, half of them in %.0f ms, the slowest in %v", sent, time.Since(began),
		len(entered), at(entered, 50), slowest)
	for _, part := range []struct {
		name string
		took []time.Duration
	}{{"before", before}, {"during", during}, {"after", after}} {
		t.Logf("%s the flood: %d moves, p50 %.0f ms, p99 %.0f ms, the slowest %v", part.name, len(part.took),
			at(part.took, 50), at(part.took, 99), part.took[len(part.took)-1])
	}
	for _, class := range []string{"player", "proven", "rest"} {
		t.Logf("of class %s %.0f were dropped", class, a.metric(t, `wamble_datagrams_shed_total{class="`+class+`"`))
	}
	p.Bound("the slowest newcomer's hello and move", slowest, graceSoon)
	p.Bound("99 % of the moves during the flood", during[len(during)*99/100], graceP99)
	p.Bound("half of the moves after the flood", after[len(after)/2], graceNormal)
	p.Bound("99 % of them", after[len(after)*99/100], graceP99)
	want := int(length/graceMove) * len(a.crowd.players)
	p.Judge(len(during) >= want*3/4, fmt.Sprintf("%d of %d moves were made during the flood", len(during), want))
	f.conn.Close()
	a.end()
	stored, accepted, doubtful := a.crowd.verifyMoves(t, openSQLite(t, a.dir), "")
	t.Logf("%d moves are stored; the players made %d, %d of them doubtful", stored, accepted, doubtful)
}

// comeIn says hello and makes a move with what the answer offers, and returns how long it took until that was answered.
// The answer may be that another player has the board by now.
func comeIn(server netip.AddrPort, from [4]byte, ours bool) (time.Duration, error) {
	conn, err := net.DialUDP("udp4", &net.UDPAddr{IP: from[:]}, net.UDPAddrFromAddrPort(server))
	if err != nil {
		return 0, err
	}
	defer conn.Close()
	c := &newcomer{conn: conn, ours: ours}
	began := time.Now()
	if err := c.hello(began); err != nil {
		return time.Since(began), err
	}
	position, err := chess.ParseFEN(c.packet.Message.(*wire.ServerHello).FEN.String() + " - - 0 1")
	if err != nil {
		return 0, err
	}
	uci, _ := wire.MakeUCI(position.LegalMoves(nil)[0].String())
	c.seq++
	b, err := wire.Append(nil, wire.Header{Token: c.token, Board: c.packet.Board, Seq: c.seq}, wire.PlayerMove{UCI: uci})
	if err != nil {
		return 0, err
	}
	err = c.ask(b, began, func() bool { return c.packet.Ctrl == wire.CtrlAck && c.packet.Seq == c.seq })
	took := time.Since(began)
	c.leave()
	return took, err
}

// playAt lets every player move every graceMove for a time.
func (a *arena) playAt(ctx context.Context, t *testing.T, length time.Duration) []moveTime {
	t.Helper()
	began := time.Now()
	lists := make([][]moveTime, len(a.crowd.players))
	var players sync.WaitGroup
	for i, p := range a.crowd.players {
		players.Go(func() {
			sleep(ctx, graceMove*time.Duration(i)/time.Duration(len(lists)))
			for time.Since(began) < length {
				one, cancel := context.WithTimeout(ctx, patience)
				move, n := time.Now(), len(p.played)
				again := p.move(one)
				cancel()
				if !again {
					t.Error("a player cannot move")
					return
				}
				if len(p.played) > n {
					lists[i] = append(lists[i], moveTime{move.Sub(began), time.Since(move)})
				}
				sleep(ctx, graceMove-time.Since(move))
			}
		})
	}
	players.Wait()
	return slices.Concat(lists...)
}

// pour sends graceRate datagrams a second until the context ends, and returns how many.
func (f *forger) pour(ctx context.Context, seed uint64, packet func(n int, rng *mathrand.Rand) []byte,
	from func(b []byte, rng *mathrand.Rand) [4]byte) (n int) {
	rng := mathrand.New(mathrand.NewPCG(seed, 0))
	for began := time.Now(); ctx.Err() == nil; sleep(ctx, time.Millisecond) {
		for ; n < int(time.Since(began).Seconds()*graceRate) && ctx.Err() == nil; n++ {
			b := packet(n, rng)
			f.send(b, from(b, rng))
		}
	}
	return n
}

// pourConnections opens graceConns JSON connections a minute from many addresses until the context ends. Each asks for
// the profiles and leaves with the answer.
func pourConnections(ctx context.Context, server netip.AddrPort, answered *atomic.Int64) {
	var all sync.WaitGroup
	defer all.Wait()
	every := time.Minute / graceConns
	n := uint32(0)
	for began := time.Now(); ctx.Err() == nil; sleep(ctx, time.Millisecond) {
		for ; time.Duration(n)*every < time.Since(began) && ctx.Err() == nil; n++ {
			all.Go(func() {
				if askByJSON(ctx, server, n) == nil {
					answered.Add(1)
				}
			})
		}
	}
}

// askByJSON asks a question on a connection of its own, from address number n.
func askByJSON(ctx context.Context, server netip.AddrPort, n uint32) error {
	var from [4]byte
	binary.BigEndian.PutUint32(from[:], 127<<24|150<<16|n&0xffff)
	d := net.Dialer{LocalAddr: &net.TCPAddr{IP: from[:]}}
	c, err := d.DialContext(ctx, "tcp4", server.String())
	if err != nil {
		return err
	}
	defer c.Close()
	defer context.AfterFunc(ctx, func() { c.Close() })()
	fmt.Fprintf(c, "GET /ws/json HTTP/1.1\r\nHost: %s\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n"+
		"Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n", server)
	r := bufio.NewReader(c)
	answer, err := http.ReadResponse(r, nil)
	if err != nil {
		return err
	}
	if answer.StatusCode != http.StatusSwitchingProtocols {
		return fmt.Errorf("the server answers %s", answer.Status)
	}
	question := `{"id":1,"ctrl":"LIST_PROFILES"}`
	c.Write(append([]byte{0x81, 0x80 | byte(len(question)), 0, 0, 0, 0}, question...)) // masked with zeros
	_, err = io.ReadFull(r, make([]byte, 16))
	return err
}
