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
	"os/exec"
	"slices"
	"strconv"
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

// abuseTime is how long a server is abused: 3 s, 60 s with WAMBLE_SOAK.
func abuseTime() time.Duration { return prooftest.Sized(3*time.Second, time.Minute) }

// vandal does everything wrong that a client can do.
type vandal struct {
	rng       *rand.Rand
	udp, http string
	corpus    [][]byte // packets that are right
	count     *atomic.Int64
}

// rightPackets returns one right packet of each kind that clients send.
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
// requests a second, as often as is wanted.
func pulse(t testing.TB, p *player, n int) (took []time.Duration) {
	t.Helper()
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
	return took
}

// arena is a server that is abused, and a player on it.
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
	// The limits that hold by default are what is tested; players come from the
	// same address as the vandals here, so only those that count by address are
	// raised; and every stranger holds a board, so that there must be enough of
	// them for a player to be switched.
	text := strings.NewReplacer("(def rate-limit-requests-per-sec 0)", "", "(def new-players-per-ip-per-min 0)", "").Replace(conf("(def new-players-per-ip-per-min 600) (def max-boards 100000)"))
	a := &arena{dir: t.TempDir()}
	a.child = spawn(t, a.dir, text)
	a.crowd = gather(t, a.address(), 1)
	a.insider = join(t, a.address(), wamble.Token{})
	a.seed = prooftest.Seed(t)
	return a
}

// asVandals is set in a child process that abuses a server: its value is the
// port, the seed and a token.
const asVandals = "WAMBLE_TEST_VANDALS"

// beVandals abuses a server until standard input ends, two with packets and two
// with connections, and says how much there was. A process of its own, and a nice
// one: this is about what the server does to its players, not about who gets the
// processor of a small machine.
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
		v := &vandal{rng: rand.New(rand.NewPCG(seed, uint64(i))), udp: "127.0.0.1:" + port, http: "127.0.0.1:" + port, count: &counts[i%2]}
		v.corpus = append(rightPackets(insider), rightPackets(wamble.Token{byte(i), 7})...)
		if i%2 == 0 {
			vandals.Go(func() { v.floods(ctx) })
		} else {
			vandals.Go(func() { v.annoys(ctx) })
		}
	}
	io.Copy(io.Discard, os.Stdin)
	enough()
	vandals.Wait()
	fmt.Println(counts[0].Load(), counts[1].Load())
}

// storm lets vandals loose until the returned function is called.
func (a *arena) storm(t testing.TB) (end func()) {
	t.Helper()
	a.seed++
	cmd := exec.Command(os.Args[0])
	token := a.insider.c.Token()
	cmd.Env = append(os.Environ(), fmt.Sprintf("%s=%s %d %x", asVandals, a.port, a.seed, token[:]))
	cmd.Stderr = os.Stderr
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
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

// TestAbuse: mutated packets, HTTP and WebSocket abuse do not crash a server, do
// not fill its memory, and do not keep players from playing.
func TestAbuse(t *testing.T) {
	a := openArena(t)
	player := a.crowd.players[0]
	pulse(t, player, 10)
	before, began := memoryOf(t, a.cmd.Process.Pid), time.Now()
	for time.Since(began) < abuseTime() || a.packets < 100 || a.conns < 10 {
		end := a.storm(t)
		pulse(t, player, 100)
		end()
	}
	after := memoryOf(t, a.cmd.Process.Pid)
	pulse(t, player, 10)
	t.Logf("%d packets, %d connections; memory %d MB before, %d MB after", a.packets, a.conns, before>>20, after>>20)
	// The journal keeps what is new in at most three tables of 64 MB, which fill
	// whoever writes. Links, limits and the sessions of strangers are bounded
	// tables as well: 40 MB with the garbage that is not collected yet.
	if grown := after - before; grown > 240<<20 {
		t.Errorf("the memory has grown by %d MB", grown>>20)
	}
	// The last connections of the vandals may still be counted.
	until(t, "/readyz answers", func() bool { return fetch(t, "http://127.0.0.1:"+a.port+"/readyz") == "200 ready" })
	if strings.Contains(a.log.String(), "panic") {
		t.Errorf("something has panicked:\n%s", a.log)
	}
	a.end()
	verifySQLite(t, a.dir, a.crowd)
}

// BenchmarkAbuse is how long a move takes while nothing else happens and while the
// server is abused, in turn, so that a machine that is busy disturbs both alike.
// The ratio of the p99 is to stay below 2.
func BenchmarkAbuse(b *testing.B) {
	a := openArena(b)
	player := a.crowd.players[0]
	var calm, storm []time.Duration
	for b.Loop() {
		calm = append(calm, pulse(b, player, 50)...)
		end := a.storm(b)
		storm = append(storm, pulse(b, player, 50)...)
		end()
	}
	slices.Sort(calm)
	slices.Sort(storm)
	for _, q := range []struct {
		name string
		at   int
	}{{"p50", 50}, {"p99", 99}} {
		quiet, loud := calm[len(calm)*q.at/100], storm[len(storm)*q.at/100]
		b.ReportMetric(float64(quiet)/1e6, "calm-"+q.name+"-ms")
		b.ReportMetric(float64(loud)/1e6, "storm-"+q.name+"-ms")
		b.ReportMetric(float64(loud)/float64(quiet), q.name+"-ratio")
	}
	b.ReportMetric(float64(a.packets)/float64(b.N), "packets/op")
	a.end()
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
