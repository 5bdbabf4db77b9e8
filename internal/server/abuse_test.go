package server

import (
	"bytes"
	"context"
	"crypto/tls"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"wamble"
	"wamble/wire"
)

// abuseTime is how long a server is abused: 3 s, 60 s with WAMBLE_SOAK.
func abuseTime() time.Duration {
	if os.Getenv("WAMBLE_SOAK") != "" {
		return time.Minute
	}
	return 3 * time.Second
}

// seedOf returns the seed of a random test, and says how to repeat it.
func seedOf(t testing.TB) uint64 {
	seed := rand.Uint64()
	if text := os.Getenv("WAMBLE_SEED"); text != "" {
		n, err := strconv.ParseUint(text, 10, 64)
		if err != nil {
			t.Fatal(err)
		}
		seed = n
	}
	t.Logf("WAMBLE_SEED=%d repeats it", seed)
	return seed
}

// vandal does everything wrong that a client can do.
type vandal struct {
	rng       *rand.Rand
	udp, http string
	corpus    [][]byte // packets that are right
	count     *atomic.Int64
}

// packets returns one right packet of each kind that clients send.
func rightPackets(t testing.TB, token wamble.Token) [][]byte {
	t.Helper()
	var list [][]byte
	for i, m := range []wire.Message{
		wire.ClientHello{}, wire.ListProfiles{}, wire.GetLegalMoves{Square: 12}, wire.SpectateGame{}, wire.Logout{},
		wire.GetPlayerStats{}, wire.GetLeaderboard{Limit: 10}, wire.GetProfileTOS{}, wire.GetActiveReservations{},
	} {
		p, err := wire.Append(nil, wire.Header{Token: token, Board: wamble.BoardID(i), Seq: uint32(i + 1)}, m)
		if err != nil {
			t.Fatal(err)
		}
		list = append(list, p)
	}
	return list
}

// mutated returns a packet that was right once.
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

// floods sends mutated datagrams from ever new sockets, as fast as a hundredth of
// the machine allows: this is about what the server does, not about the kernel.
func (v *vandal) floods(ctx context.Context) {
	for ctx.Err() == nil {
		c, err := net.Dial("udp", v.udp)
		if err != nil {
			continue
		}
		for range 64 {
			c.Write(v.mutated())
			v.count.Add(1)
		}
		c.Close()
		wait(ctx, 2*time.Millisecond)
	}
}

// requests are HTTP and WebSocket as they should not be.
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

// annoys speaks HTTP and WebSocket wrongly.
func (v *vandal) annoys(ctx context.Context) {
	for ctx.Err() == nil {
		c, err := net.DialTimeout("tcp", v.http, time.Second)
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

// frame is a WebSocket frame, right or wrong, around a mutated packet.
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

// pulse measures how long moves of one player take who stays below the limit of
// requests a second.
func pulse(t testing.TB, p *player, n int) (p50, p99 time.Duration) {
	t.Helper()
	var took []time.Duration
	for len(took) < n {
		ctx, cancel := context.WithTimeout(t.Context(), patience)
		began, before := time.Now(), len(p.played)
		if !p.move(ctx) {
			t.Fatal("a player cannot move")
		}
		cancel()
		if len(p.played) > before {
			took = append(took, time.Since(began))
		}
		wait(t.Context(), 20*time.Millisecond-time.Since(began))
	}
	slices.Sort(took)
	return took[n/2], took[n*99/100]
}

// TestAbuse: mutated packets, HTTP and WebSocket abuse do not crash a server, do
// not fill its memory, and do not keep players from playing.
func TestAbuse(t *testing.T) {
	dir := t.TempDir()
	// The limits that hold by default are what is tested; players come from the
	// same address as the vandals here, so only those that count by address are
	// raised.
	text := strings.NewReplacer("(def rate-limit-requests-per-sec 0)", "", "(def new-players-per-ip-per-min 0)", "").Replace(conf("(def new-players-per-ip-per-min 600)"))
	s := spawn(t, dir, text)
	c := gather(t, s.address(), 1)
	player := c.players[0]
	insider := join(t, s.address(), wamble.Token{}) // a vandal with a session
	calm50, calm99 := pulse(t, player, 100)
	seed := seedOf(t)
	before := memoryOf(t, s.cmd.Process.Pid)
	ctx, enough := context.WithCancel(t.Context())
	defer enough()
	began := time.Now()
	var vandals sync.WaitGroup
	counts := [2]atomic.Int64{}
	for i := range 4 {
		v := &vandal{rng: rand.New(rand.NewPCG(seed, uint64(i))), udp: "127.0.0.1:" + s.port, http: "127.0.0.1:" + s.port,
			corpus: rightPackets(t, insider.c.Token()), count: &counts[i%2]}
		v.corpus = append(v.corpus, rightPackets(t, wamble.Token{byte(i), 7})...)
		if i%2 == 0 {
			vandals.Go(func() { v.floods(ctx) })
		} else {
			vandals.Go(func() { v.annoys(ctx) })
		}
	}
	storm50, storm99 := pulse(t, player, 100)
	until(t, "there is abuse", func() bool {
		return time.Since(began) >= abuseTime() && counts[0].Load() >= 100 && counts[1].Load() >= 10
	})
	enough()
	vandals.Wait()
	middle := memoryOf(t, s.cmd.Process.Pid)
	after50, after99 := pulse(t, player, 100)
	t.Logf("%d packets, %d connections; a move took p50 %v p99 %v before, %v %v during, %v %v after; memory %d, %d MB",
		counts[0].Load(), counts[1].Load(), calm50, calm99, storm50, storm99, after50, after99, before>>20, middle>>20)
	// Sessions, links and limits of strangers are bounded tables; they may fill.
	if grown := middle - before; grown > 256<<20 {
		t.Errorf("the memory has grown by %d MB", grown>>20)
	}
	// The last connections of the vandals may still be counted.
	until(t, "/readyz answers", func() bool { return fetch(t, "http://127.0.0.1:"+s.port+"/readyz") == "200 ready" })
	if strings.Contains(s.log.String(), "panic") {
		t.Errorf("something has panicked:\n%s", s.log)
	}
	s.end()
	verifySQLite(t, dir, &crowd{players: c.players})
}

// memoryOf is the resident memory of a process in bytes.
func memoryOf(t testing.TB, pid int) int64 {
	t.Helper()
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/statm", pid))
	if err != nil {
		t.Fatal(err)
	}
	pages, err := strconv.ParseInt(strings.Fields(string(text))[1], 10, 64)
	if err != nil {
		t.Fatal(err)
	}
	return pages * int64(os.Getpagesize())
}
