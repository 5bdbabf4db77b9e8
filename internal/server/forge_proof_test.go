//go:build proof && linux

package server

import (
	"context"
	"database/sql"
	"encoding/binary"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"net/netip"
	"os"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"wamble"
	"wamble/chess"
	"wamble/internal/prooftest"
	"wamble/wire"
)

// forgeTime is how long a server is flooded with hellos: 4 s, 5 minutes with
// WAMBLE_SOAK.
func forgeTime() time.Duration { return prooftest.Sized(4*time.Second, 4*time.Second, 5*time.Minute) }

// forgeRate is the number of hellos a second.
const forgeRate = 2000

// forger sends hellos from addresses in 127.0.0.0/8. It counts what comes back, and reads it
// only if it answers.
type forger struct {
	conn           *net.UDPConn
	server         netip.AddrPort
	from           func(*rand.Rand) [4]byte
	answers        bool // the address is its own, and it acknowledges what comes back
	hellos         atomic.Int64
	sent, received atomic.Int64 // bytes
	greetings      atomic.Int64 // SERVER_HELLOs
	greeting       atomic.Int64 // bytes of them: the one reply that may be longer
	joined         atomic.Int64 // tokens that it has acknowledged
}

func newForger(t *testing.T, port string, from func(*rand.Rand) [4]byte) *forger {
	t.Helper()
	conn, err := net.ListenUDP("udp4", &net.UDPAddr{IP: net.IPv4zero})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	conn.SetReadBuffer(1 << 20)
	return &forger{conn: conn, server: netip.MustParseAddrPort("127.0.0.1:" + port), from: from}
}

// send sends a packet from one of its addresses.
func (f *forger) send(b []byte, from [4]byte) {
	f.conn.WriteMsgUDPAddrPort(b, unix.PktInfo4(&unix.Inet4Pktinfo{Spec_dst: from}), f.server)
	f.sent.Add(int64(len(b)))
}

// flood sends hellos until the context ends: half of them as clients of the original, half as
// ours.
func (f *forger) flood(ctx context.Context, seed uint64) {
	rng := rand.New(rand.NewPCG(seed, 0))
	old, _ := wire.Append(nil, wire.Header{Seq: 1}, wire.ClientHello{})
	ours, _ := wire.Append(nil, wire.Header{Seq: 1}, wire.ClientHello{}, wire.NoCookie())
	began := time.Now()
	for n := 0; ctx.Err() == nil; sleep(ctx, time.Millisecond) {
		for ; n < int(time.Since(began).Seconds()*forgeRate) && ctx.Err() == nil; n++ {
			packet := old
			if n%2 == 1 {
				packet = ours
			}
			wire.SetSeq(packet, rng.Uint32())
			f.send(packet, f.from(rng))
			f.hellos.Add(1)
		}
	}
}

// listen counts what comes back, until the socket is closed.
func (f *forger) listen() {
	buffer, control := make([]byte, 2048), make([]byte, 256)
	for {
		n, _, _, _, err := f.conn.ReadMsgUDPAddrPort(buffer, control)
		if err != nil {
			return
		}
		f.received.Add(int64(n))
		h, err := wire.Peek(buffer[:n])
		if err != nil || h.Ctrl != wire.CtrlServerHello {
			continue
		}
		f.greetings.Add(1)
		f.greeting.Add(int64(n))
		if f.answers {
			ack, _ := wire.Append(nil, wire.Header{Token: h.Token, Board: h.Board, Seq: h.Seq}, wire.Ack{})
			f.send(ack, f.from(nil))
			f.joined.Add(1)
		}
	}
}

// newcomer is an honest player at their own address, written byte by byte: as the C library,
// which acknowledges nothing, or as our clients.
type newcomer struct {
	conn   *net.UDPConn
	ours   bool
	seq    uint32
	acked  uint32 // the last request with an ACK; the answers for old clients do not always name theirs
	denied bool   // the last request was answered with an ERROR
	token  wamble.Token
	packet wire.Packet
	buffer [2048]byte
}

// enter says hello and plays a move, and returns how long that took, without the time that
// the player thinks.
func enter(server netip.AddrPort, from [4]byte, ours bool, think time.Duration) (time.Duration, error) {
	conn, err := net.DialUDP("udp4", &net.UDPAddr{IP: from[:]}, net.UDPAddrFromAddrPort(server))
	if err != nil {
		return 0, err
	}
	defer conn.Close()
	c := &newcomer{conn: conn, ours: ours}
	began := time.Now()
	if err := c.hello(began); err != nil {
		return 0, err
	}
	board, fen := c.packet.Board, c.packet.Message.(*wire.ServerHello).FEN.String()
	time.Sleep(think)
	for { // until a move is accepted: another player may have got the board
		position, err := chess.ParseFEN(fen + " - - 0 1")
		if err != nil {
			return 0, err
		}
		uci, _ := wire.MakeUCI(position.LegalMoves(nil)[0].String())
		c.seq++
		b, err := wire.Append(nil, wire.Header{Token: c.token, Board: board, Seq: c.seq}, wire.PlayerMove{UCI: uci})
		if err != nil {
			return 0, err
		}
		accepted := false
		err = c.ask(b, began.Add(think), func() bool {
			m, ok := c.packet.Message.(*wire.BoardUpdate)
			if !ok {
				return false
			}
			of, named := c.packet.Ext.Int(wire.KeyRequestSeq)
			if named && uint32(of) != c.seq || !named && c.acked != c.seq {
				return false // a late copy of an earlier answer
			}
			accepted = !c.denied
			board, fen = c.packet.Board, m.FEN.String()
			return true
		})
		if accepted || err != nil {
			took := time.Since(began) - think
			c.leave()
			return took, err
		}
	}
}

// leave says goodbye, so that newcomers do not take all boards in the end.
func (c *newcomer) leave() {
	c.seq++
	if b, err := wire.Append(nil, wire.Header{Token: c.token, Seq: c.seq}, wire.ClientGoodbye{}); err == nil {
		c.conn.Write(b)
	}
}

// hello says hello, with a cookie if the client supports cookies.
func (c *newcomer) hello(began time.Time) error {
	var ext []wire.Field
	if c.ours {
		ext = append(ext, wire.NoCookie())
	}
	c.seq++
	b, err := wire.Append(nil, wire.Header{Seq: c.seq}, wire.ClientHello{}, ext...)
	if err != nil {
		return err
	}
	return c.ask(b, began, func() bool {
		if cookie := c.packet.Ext.View(wire.KeyHelloCookie); cookie != nil {
			wire.SetCookie(b, cookie)
			c.conn.Write(b)
		}
		if c.packet.Ctrl == wire.CtrlServerHello {
			c.token = c.packet.Token
			return true
		}
		return false
	})
}

// ask sends a request every 250 ms until take has its answer.
func (c *newcomer) ask(b []byte, began time.Time, take func() bool) error {
	last := ""
	c.denied = false
	for time.Since(began) < patience {
		c.conn.Write(b)
		c.conn.SetReadDeadline(time.Now().Add(250 * time.Millisecond))
		for {
			n, err := c.conn.Read(c.buffer[:])
			if errors.Is(err, os.ErrDeadlineExceeded) {
				break
			}
			if err != nil {
				return err
			}
			if err := c.packet.Decode(c.buffer[:n]); err != nil {
				return err
			}
			if c.packet.Ctrl == wire.CtrlAck {
				c.acked = c.packet.Seq
			}
			if e, ok := c.packet.Message.(*wire.Error); ok {
				last, c.denied = fmt.Sprintf("ERROR %d %s", e.Code, e.Reason), true
			}
			if c.ours && !c.packet.Flags.Unreliable() && c.packet.Ctrl != wire.CtrlAck {
				ack, _ := wire.Append(nil, wire.Header{Token: c.packet.Token, Board: c.packet.Board, Seq: c.packet.Seq},
					wire.Ack{})
				c.conn.Write(ack)
			}
			if take() {
				return nil
			}
		}
	}
	return fmt.Errorf("no answer (the last error is %q)", last)
}

// underFlood lets players move, and newcomers come, while hellos flood a server with its
// default limits. It returns how many newcomers have played.
func underFlood(t *testing.T, p *prooftest.Proof, a *arena, f *forger) int {
	server := netip.MustParseAddrPort("127.0.0.1:" + a.port)
	soon := prooftest.Sized(10*time.Second, 10*time.Second, 2*time.Second) // on an otherwise idle machine 2 s
	pulses := int(forgeTime() / pulseTime)
	calm := a.pulse(t, max(pulses/4, 50))
	before := memoryOf(t, a.cmd.Process.Pid)
	ctx, stop := context.WithCancel(t.Context())
	var all sync.WaitGroup
	go f.listen()
	all.Go(func() { f.flood(ctx, a.seed) })
	var honest, late atomic.Int64
	var slowest atomic.Int64
	var newcomers sync.WaitGroup
	all.Go(func() {
		for n := uint32(1); ctx.Err() == nil; n++ {
			sleep(ctx, 100*time.Millisecond)
			newcomers.Go(func() {
				var from [4]byte
				binary.BigEndian.PutUint32(from[:], 127<<24|200<<16|n)
				took, err := enter(server, from, n%2 == 0, time.Duration(n%3)*200*time.Millisecond)
				if err != nil {
					t.Errorf("newcomer %d: %v", n, err)
					return
				}
				honest.Add(1)
				if took > soon {
					late.Add(1)
				}
				for old := slowest.Load(); int64(took) > old &&
					!slowest.CompareAndSwap(old, int64(took)); old = slowest.Load() {
				}
			})
		}
	})
	loud := a.pulse(t, pulses)
	stop()
	all.Wait()
	newcomers.Wait()
	after := memoryOf(t, a.cmd.Process.Pid)
	times := func(bytes int64) float64 { return float64(bytes) / float64(f.sent.Load()) }
	t.Logf("%d hellos are answered with %.2f times their bytes, %.2f times without %d SERVER_HELLOs",
		f.hellos.Load(), times(f.received.Load()), times(f.received.Load()-f.greeting.Load()), f.greetings.Load())
	t.Logf("%d newcomers, the slowest in %v, %d late; memory %d MB, then %d MB", honest.Load(),
		time.Duration(slowest.Load()), late.Load(), before>>20, after>>20)
	t.Logf("moves took p50 %.2f ms, p99 %.2f ms before it, %.2f and %.2f during it: p99 %.2f times", at(calm, 50),
		at(calm, 99), at(loud, 50), at(loud, 99), at(loud, 99)/at(calm, 99))
	p.Judge(late.Load() == 0,
		fmt.Sprintf("%d of %d newcomers did not play within %v", late.Load(), honest.Load(), soon))
	// What moves write stays in the journal's memtables, at most two of 64 MB at this
	// pace: one that is filled, and one that is kept to be filled again.
	moves := len(loud) + int(honest.Load())
	most := int64(24<<20 + min(moves*600, 128<<20))
	if prooftest.Raced {
		most *= 4 // the race detector's own memory grows with the server's
	}
	if grown := after - before; grown > most {
		t.Errorf("the memory has grown by %d MB, at most %d MB with %d moves", grown>>20, most>>20, moves)
	}
	if prooftest.Soaking() {
		p.Judge(at(loud, 99) <= 2*at(calm, 99),
			fmt.Sprintf("p99 is %.2f ms, %.2f ms alone", at(loud, 99), at(calm, 99)))
	}
	return int(honest.Load())
}

// stored checks how many sessions and moves the store of an ended server has. A move whose
// answer did not come may be there or not.
func (a *arena) stored(t *testing.T, sessions, honest int) {
	t.Helper()
	db, err := sql.Open("sqlite", a.dir+"/games.db")
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	moves, doubtful := honest, 0 // one of each newcomer
	for _, p := range a.crowd.players {
		moves += len(p.played)
		doubtful += p.doubtful + p.refused
	}
	for table, want := range map[string][2]int{"sessions": {sessions, sessions}, "moves": {moves, moves + doubtful}} {
		var n int
		if err := db.QueryRow("SELECT count(*) FROM " + table).Scan(&n); err != nil {
			t.Fatal(err)
		}
		if n < want[0] || n > want[1] {
			t.Errorf("%d %s are stored, want %d to %d", n, table, want[0], want[1])
		}
	}
}

// TestForgedHellos: 2,000 hellos a second from random addresses, which receive no answer,
// leave no row and no board; every honest newcomer plays soon, and an address is sent little.
func TestForgedHellos(t *testing.T) {
	p := prooftest.Needs(t, "root and a machine for itself")
	a := openArena(t)
	f := newForger(t, a.port, func(rng *rand.Rand) (ip [4]byte) {
		binary.BigEndian.PutUint32(ip[:], 127<<24|uint32(1+rng.IntN(100))<<16|rng.Uint32N(1<<16))
		return ip
	})
	known := int(a.metric(t, "wamble_new_players_total{"))
	got := underFlood(t, p, a, f)
	if made := int(a.metric(t, "wamble_new_players_total{")) - known; made != got {
		t.Errorf("%d sessions were made, %d newcomers have played", made, got)
	}
	// Except for the one reply to a hello without a cookie, at most eight times as long
	// (docs/protocol.md), no address receives more bytes than it has sent.
	if f.received.Load()-f.greeting.Load() > f.sent.Load() || f.greetings.Load() > f.hellos.Load() {
		t.Errorf("%d bytes are answered with %d, and %d hellos with %d", f.sent.Load(),
			f.received.Load()-f.greeting.Load(), f.hellos.Load(), f.greetings.Load())
	}
	if n := f.greetings.Load(); n == 0 || f.greeting.Load() > n*8*wire.HeaderSize {
		t.Errorf("%d hellos without a cookie are answered with %d bytes", n, f.greeting.Load())
	}
	f.conn.Close()
	a.end()
	a.stored(t, known+got, got)
}

// TestFloodingAddress: one address that says hello 2,000 times a second, and acknowledges
// what it is offered, gets what one address may have; every honest newcomer plays soon.
func TestFloodingAddress(t *testing.T) {
	p := prooftest.Needs(t, "root and a machine for itself")
	a := openArena(t)
	f := newForger(t, a.port, func(*rand.Rand) [4]byte { return [4]byte{127, 150, 0, 1} })
	f.answers = true
	known := int(a.metric(t, "wamble_new_players_total{"))
	got := underFlood(t, p, a, f)
	made := int(a.metric(t, "wamble_new_players_total{")) - known - got
	t.Logf("the address has made %d sessions of %d offers", made, f.joined.Load())
	if most := 60 + int(2*forgeTime()/time.Second); made > most {
		t.Errorf("it has made %d sessions, and may make %d", made, most)
	}
	f.conn.Close()
	a.end()
	a.stored(t, known+got+made, got)
}
