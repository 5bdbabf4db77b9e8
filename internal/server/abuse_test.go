package server

import (
	"bytes"
	"context"
	"crypto/tls"
	"encoding/hex"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"os"
	goruntime "runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"wamble"
	"wamble/internal/prooftest"
	"wamble/wire"
)

// vandal makes every error that a client can make.
type vandal struct {
	rng       *rand.Rand
	udp, http string
	many      bool     // sends from many addresses
	corpus    [][]byte // packets that are right
	count     *atomic.Int64
}

// rightPackets returns one valid packet of each kind that clients send.
func rightPackets(token wamble.Token) [][]byte {
	var list [][]byte
	for i, m := range []wire.Message{
		wire.ClientHello{}, wire.ListProfiles{}, wire.GetLegalMoves{Square: 12}, wire.SpectateGame{}, wire.Logout{},
		wire.GetPlayerStats{}, wire.GetLeaderboard{Limit: 10}, wire.GetProfileTOS{}, wire.GetActiveReservations{},
	} {
		p, err := wire.Append(nil, wire.Header{Token: token, Board: wamble.BoardID(i), Seq: uint32(i + 1)}, m)
		if err != nil {
			panic(err)
		}
		list = append(list, p)
	}
	return list
}

// mutated returns a valid packet with random changes.
func (v *vandal) mutated() []byte {
	p := bytes.Clone(v.corpus[v.rng.IntN(len(v.corpus))])
	for range 1 + v.rng.IntN(8) {
		switch v.rng.IntN(5) {
		case 0:
			p[v.rng.IntN(len(p))] ^= 1 << v.rng.IntN(8)
		case 1:
			p[v.rng.IntN(len(p))] = byte(v.rng.Uint32())
		case 2:
			p = p[:1+v.rng.IntN(len(p))]
		case 3:
			p = append(p, bytes.Repeat([]byte{byte(v.rng.Uint32())}, v.rng.IntN(200))...)
		case 4:
			other := v.corpus[v.rng.IntN(len(v.corpus))]
			p = append(p[:v.rng.IntN(len(p)+1)], other[v.rng.IntN(len(other)):]...)
		}
		if len(p) == 0 {
			p = []byte{0}
		}
	}
	return p[:min(len(p), 1400)]
}

// from returns an address of a vandal: 127.3.0.1, or one of a million.
func (v *vandal) from() net.IP {
	if v.many {
		return net.IPv4(127, byte(16+v.rng.IntN(16)), byte(v.rng.Uint32()), byte(1+v.rng.IntN(250)))
	}
	return net.IPv4(127, 3, 0, 1)
}

// floods sends mutated datagrams from ever new sockets, some 25,000 a second. They are made
// beforehand and sent in small batches, as they would come from a network: the test is about
// the server's work, not about the scheduler of a small machine.
func (v *vandal) floods(ctx context.Context) {
	packets := make([][]byte, 1<<14)
	for i := range packets {
		packets[i] = v.mutated()
	}
	for n := 0; ctx.Err() == nil; {
		dialer := net.Dialer{LocalAddr: &net.UDPAddr{IP: v.from()}}
		c, err := dialer.Dial("udp", v.udp)
		if err != nil {
			continue
		}
		for range 4 {
			for range 28 {
				c.Write(packets[n%len(packets)])
				n++
			}
			v.count.Add(28)
			sleep(ctx, time.Millisecond)
		}
		c.Close()
	}
}

// requests are invalid HTTP and WebSocket requests.
var requests = []string{
	"", "\x00\x01\x02", "GET", "GET / HTTP/1.1\r\n", "GET / HTTP/9.9\r\nHost: x\r\n\r\n",
	"GET /" + strings.Repeat("a", 20000) + " HTTP/1.1\r\nHost: x\r\n\r\n",
	"GET / HTTP/1.1\r\nHost: x\r\nX: " + strings.Repeat("b", 20000) + "\r\n\r\n",
	"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 1000000000\r\n\r\nabc",
	"POST /api/ HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\nffffffff\r\n",
	"GET /../../etc/passwd HTTP/1.1\r\nHost: x\r\n\r\n", "GET /metrics HTTP/1.1\r\nHost: x\r\n\r\n",
	"GET /api/leaderboard?limit=99999999999999999999 HTTP/1.1\r\nHost: x\r\n\r\n",
	"GET /ws HTTP/1.1\r\nHost: x\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\r\n",
	"GET /ws HTTP/1.1\r\nHost: x\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: short\r\n\r\n",
	"GET /ws HTTP/1.1\r\nHost: x\r\nOrigin: http://evil.example\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\n\r\n",
}

const upgrade = "GET /ws HTTP/1.1\r\nHost: x\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\n\r\n"

// annoys sends invalid HTTP and WebSocket requests.
func (v *vandal) annoys(ctx context.Context) {
	for ctx.Err() == nil {
		dialer := net.Dialer{LocalAddr: &net.TCPAddr{IP: v.from()}, Timeout: time.Second}
		c, err := dialer.Dial("tcp", v.http)
		if err != nil {
			continue
		}
		c.SetDeadline(time.Now().Add(200 * time.Millisecond))
		switch n := v.rng.IntN(len(requests) + 4); {
		case n < len(requests):
			io.WriteString(c, requests[n])
		case n == len(requests):
			tls.Client(c, &tls.Config{InsecureSkipVerify: true}).Handshake()
		default:
			io.WriteString(c, upgrade)
			c.Read(make([]byte, 512))
			for range v.rng.IntN(20) {
				c.Write(v.frame())
			}
		}
		io.CopyN(io.Discard, c, 1<<12)
		c.Close()
		v.count.Add(1)
	}
}

// frame returns a WebSocket frame, valid or not, around a mutated packet.
func (v *vandal) frame() []byte {
	p := v.mutated()
	head := []byte{byte(v.rng.Uint32()), 0x80 | byte(min(len(p), 125))}
	if v.rng.IntN(2) == 0 {
		head[0] = 0x82 // binary, and whole
	}
	if len(p) > 125 {
		head = []byte{head[0], 0x80 | 126, byte(len(p) >> 8), byte(len(p))}
	}
	return append(append(head, 0, 0, 0, 0), p...)
}

// arena is a server under abuse, with a player on it.
type arena struct {
	*child
	dir     string
	crowd   *crowd
	insider *player // a vandal with a session
	seed    uint64
	packets int // of the vandals so far
	conns   int
}

func openArena(t testing.TB) *arena {
	// The server has its default configuration: only its addresses are set, and what a busy
	// machine needs.
	text := `(def listen-address "127.0.0.1") (def port 0) (def admin-listen "127.0.0.1:0")
		(def disk-reserve-mb 0) (def shutdown-timeout 120) (def log-level "warn")`
	a := &arena{dir: t.TempDir()}
	a.child = spawn(t, a.dir, text)
	a.crowd = gather(t, a.address(), 8)
	a.insider = join(t, a.address(), wamble.Token{})
	a.seed = prooftest.Seed(t)
	return a
}

// pulse lets every player move at a rate below the limit of requests a second, and returns
// how long each move took, sorted.
func (a *arena) pulse(t testing.TB, n int) (took []time.Duration) {
	t.Helper()
	lists := make([][]time.Duration, len(a.crowd.players))
	var players sync.WaitGroup
	for i, p := range a.crowd.players {
		players.Go(func() {
			for len(lists[i]) < n {
				ctx, cancel := context.WithTimeout(t.Context(), patience)
				began, before := time.Now(), len(p.played)
				again := p.move(ctx)
				cancel()
				if !again {
					t.Error("a player cannot move")
					return
				}
				if len(p.played) > before {
					lists[i] = append(lists[i], time.Since(began))
				}
				sleep(t.Context(), pulseTime-time.Since(began))
			}
		})
	}
	players.Wait()
	took = slices.Concat(lists...)
	slices.Sort(took)
	return took
}

// pulseTime is the time from a move of a player to the next.
const pulseTime = 20 * time.Millisecond

// at returns a quantile of a sorted list, in milliseconds.
func at(took []time.Duration, percent int) float64 {
	return float64(took[len(took)*percent/100]) / float64(time.Millisecond)
}

// asVandals is set in a child process that abuses a server: its value is the
// port, the seed and a token.
const asVandals = "WAMBLE_TEST_VANDALS"

// beVandals abuses a server until standard input ends, two goroutines with packets and two
// with connections, one of each from a single address and one from many, and prints how much
// it sent. It is a process of its own with a low priority.
func beVandals(task string) {
	syscall.Setpriority(syscall.PRIO_PROCESS, 0, 19)
	var port, token string
	var seed uint64
	var insider wamble.Token
	if _, err := fmt.Sscan(task, &port, &seed, &token); err != nil {
		panic(err)
	}
	if _, err := hex.Decode(insider[:], []byte(token)); err != nil {
		panic(err)
	}
	ctx, enough := context.WithCancel(context.Background())
	var counts [2]atomic.Int64
	var vandals sync.WaitGroup
	for i := range 4 {
		v := &vandal{rng: rand.New(rand.NewPCG(seed, uint64(i))), udp: "127.0.0.1:" + port, http: "127.0.0.1:" + port,
			count: &counts[i%2], many: i < 2}
		v.corpus = append(rightPackets(insider), rightPackets(wamble.Token{byte(i), 7})...)
		if i%2 == 0 {
			vandals.Go(func() { v.floods(ctx) })
		} else {
			vandals.Go(func() { v.annoys(ctx) })
		}
	}
	for counts[0].Load() == 0 || counts[1].Load() == 0 {
		goruntime.Gosched()
	}
	fmt.Println("begun")
	io.Copy(io.Discard, os.Stdin)
	enough()
	vandals.Wait()
	fmt.Println(counts[0].Load(), counts[1].Load())
}

// storm starts the vandals, and returns when they have begun; end stops them.
func (a *arena) storm(t testing.TB) (end func()) {
	t.Helper()
	a.seed++
	token := a.insider.c.Token()
	cmd, in, out := converse(t, fmt.Sprintf("%s=%s %d %x", asVandals, a.port, a.seed, token[:]))
	var begun string
	if _, err := fmt.Fscan(out, &begun); err != nil {
		t.Errorf("the vandals do not begin: %v", err)
	}
	return func() {
		t.Helper()
		in.Close()
		var packets, conns int
		if _, err := fmt.Fscan(out, &packets, &conns); err != nil {
			t.Errorf("the vandals do not say what they did: %v", err)
		}
		if err := cmd.Wait(); err != nil {
			t.Error(err)
		}
		a.packets += packets
		a.conns += conns
	}
}

// BenchmarkAbuse measures how long a move takes without load and while the server is abused,
// ten seconds of each in turn, so that a busy machine slows both alike. The ratio of the p99
// should stay below 2.
func BenchmarkAbuse(b *testing.B) {
	a := openArena(b)
	var calm, storm []time.Duration
	for b.Loop() {
		calm = append(calm, a.pulse(b, 500)...)
		end := a.storm(b)
		storm = append(storm, a.pulse(b, 500)...)
		end()
	}
	slices.Sort(calm)
	slices.Sort(storm)
	for _, percent := range []int{50, 90, 99} {
		quiet, loud := at(calm, percent), at(storm, percent)
		b.ReportMetric(quiet, fmt.Sprintf("calm-p%d-ms", percent))
		b.ReportMetric(loud, fmt.Sprintf("storm-p%d-ms", percent))
		b.ReportMetric(loud/quiet, fmt.Sprintf("p%d-ratio", percent))
	}
	b.ReportMetric(float64(a.packets)/float64(b.N), "packets/op")
	a.end()
}
