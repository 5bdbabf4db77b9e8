//go:build proof && linux

package server

import (
	"fmt"
	"io"
	"net"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"wamble"
	"wamble/internal/loader"
	"wamble/internal/prooftest"
	"wamble/internal/store/postgres/pglog"
	"wamble/internal/store/postgres/pgtest"
)

// crowded starts two machines with everybody playing, as a fleet whose waits are measured.
func crowded(t *testing.T) (*processes, *fleet) {
	p := twoMachines.start(t, false, pglog.DefaultLease)
	p.gather()
	p.crowd.play()
	f := &fleet{t: t, crowd: p.crowd, waits: map[string][]time.Duration{}}
	f.moved()
	return p, f
}

// TestTwoMachinesKill: one of two machines that serve players is killed. The other goes on
// with its partitions, and everybody plays again; when it comes back it gets its share again.
// Every accepted move is in the database once, and every board in one shard.
func TestTwoMachinesKill(t *testing.T) {
	prooftest.Needs(t, "a machine for itself")
	p, f := crowded(t)
	p.crowd.more(t, 500)
	began := time.Now()
	p.nodes[1].kill()
	p.takenOver()
	serves := time.Since(began)
	f.moved()
	t.Logf("measured: after a kill the other machine served all partitions after %v, and everybody moved again after %v", serves.Round(time.Millisecond), time.Since(began).Round(time.Millisecond))
	p.launch(1)
	p.settle()
	f.suffer("partitions moved back", func() {})
	p.end(p.finish())
}

// TestTwoMachinesPause: a machine that is stopped for longer than its lease loses its
// partitions, and its writes after that are refused; the same process gets its share again.
func TestTwoMachinesPause(t *testing.T) {
	prooftest.Needs(t, "a machine for itself")
	p, f := crowded(t)
	signal := func(s syscall.Signal) {
		if err := p.nodes[1].cmd.Process.Signal(s); err != nil {
			t.Error(err)
		}
	}
	f.suffer("pause", func() { signal(syscall.SIGSTOP) })
	untilOwned(t, 4, p.nodes[0].dir)
	signal(syscall.SIGCONT)
	p.settle()
	f.suffer("awake", func() {})
	p.end(p.finish())
}

// TestTwoMachinesOneAddress: clients that know one address and never ask for another, as those of
// the original do, play on when their partition goes to another machine: the one they know
// forwards their packets.
func TestTwoMachinesOneAddress(t *testing.T) {
	prooftest.Needs(t, "a machine for itself: which shards have players depends on how fast they open")
	db := pgtest.Migrated(t)
	a := serve(t, Options{}, clusterConf(db, "a")).ready()
	untilOwned(t, 4, a.dir)
	var loads []*load
	for len(loads) < 4 { // later players find more shards open
		loads = append(loads, startLoad(t, loader.Options{Server: a.Addresses().UDP, Clients: playersPerShard}))
	}
	b := serve(t, Options{}, clusterConf(db, "b")).ready()
	untilOwned(t, 2, a.dir, b.dir)
	made := func() uint64 { return b.Status(t.Context()).Profiles[0].Moves }
	before := made()
	until(t, "b takes moves", func() bool { return made() > before+200 })
	t.Logf("%d moves were made on the machine that nobody knew", made())
	reports := make([]*loader.Report, len(loads))
	for i, l := range loads {
		reports[i] = l.end()
		if c := reports[i].Counts; c.Forgotten+c.Moved+c.Malformed > 0 {
			t.Errorf("something did not go straight: %+v", c)
		}
	}
	a.end()
	b.end()
	for _, r := range reports {
		v, err := loader.Verify(t.Context(), r, openPostgres(t, db))
		if t.Logf("%d moves accepted: %+v, %+v", r.AcceptedCount(), v, r.Counts); err != nil || !v.Exact() {
			t.Errorf("%+v, %v", v, err)
		}
	}
}

// longestWait runs do, and returns the longest time that a player waited until their next
// move was accepted. It returns when everybody has moved twice after that.
func (c *crowd) longestWait(t testing.TB, do func()) time.Duration {
	t.Helper()
	over, longest := make(chan struct{}), make(chan time.Duration, 1)
	end := sync.OnceFunc(func() { close(over) })
	defer end() // if it fails meanwhile
	go func() {
		var most time.Duration
		moves, since := make([]int64, len(c.players)), slices.Repeat([]time.Time{time.Now()}, len(c.players))
		for tick := time.NewTicker(5 * time.Millisecond); ; {
			for i, p := range c.players {
				if n := p.moves.Load(); n != moves[i] {
					moves[i], since[i] = n, time.Now()
				}
				most = max(most, time.Since(since[i]))
			}
			select {
			case <-tick.C:
			case <-over:
				tick.Stop()
				longest <- most
				return
			}
		}
	}()
	do()
	(&fleet{t: t, crowd: c}).moved()
	end()
	return <-longest
}

// TestTwoMachinesStop: a machine that is told to stop gives its partitions to the other one before
// it ends anything else. Players of those partitions on the other machine hardly notice, even
// if the rest of the stop is slow: here half a request keeps HTTP open for seconds. Meanwhile
// players who write to the stopping machine are served by the other one.
func TestTwoMachinesStop(t *testing.T) {
	p := prooftest.Needs(t, "a machine for itself")
	db := pgtest.Empty(t)
	a := serve(t, Options{Lease: pglog.DefaultLease}, clusterConf(db, "a")).ready()
	b := serve(t, Options{Lease: pglog.DefaultLease}, clusterConf(db, "b")).ready()
	untilOwned(t, 2, a.dir, b.dir)
	c := &crowd{}
	for _, first := range gather(t, a.address(), 4).players {
		token := first.c.Token()
		first.c.Close()
		p := join(t, b.address(), token)
		if !a.partitionOwners.Owner(p.c.Token().Shard(4)).Local {
			t.Fatalf("a player is in shard %d, which a does not have", p.c.Token().Shard(4))
		}
		p.crowd = c
		c.players = append(c.players, p)
	}
	c.play()
	c.more(t, 200)
	web := a.Addresses().HTTP.String()
	half := func() {
		if slow, err := net.Dial("tcp", web); err == nil { // otherwise the port is closed already
			t.Cleanup(func() { slow.Close() })
			io.WriteString(slow, "GET /healthz HTTP/1.1\r\nHost: x\r\nX-Half: ")
		}
	}
	through := gather(t, a.address(), 1)
	through.think = 10 * time.Millisecond
	through.play()
	began := time.Now()
	longest := c.longestWait(t, func() {
		a.stop()
		// A half request that is older than five seconds counts as idle: one is young when the drain ends.
		for ended := false; !ended; {
			half()
			select {
			case <-a.rebalancer.ended: // from here on it ends everything else
				ended = true
			case <-time.After(time.Second):
			}
		}
		through.more(t, 4)
		through.finish()
		a.end()
	})
	t.Logf("measured: the stop took %v, and nobody waited for longer than %v",
		time.Since(began).Round(time.Millisecond), longest.Round(time.Millisecond))
	p.Bound("the longest wait of a player", longest, prooftest.Sized(30*time.Second, 30*time.Second, 4*time.Second))
	if got := len(ownedPartitions(t, b.dir)); got != 4 {
		t.Errorf("b has %d parts", got)
	}
	c.finish()
	b.end() // no other machine is left: it keeps its partitions
	all := &crowd{players: append(through.players, c.players...)}
	all.verify(t, openPostgres(t, db))
	if n := pgtest.Query[int](t, db, `SELECT count(*) FROM shards WHERE holder <> ''`); n > 0 {
		t.Errorf("%d parts are held by machines that have stopped", n)
	}
}

// TestGoesHome: a client of ours whose session is served by another machine than the one it
// has dialled learns that, and connects there, over UDP and over a WebSocket: from then on
// none of its packets is forwarded. It plays meanwhile, and every move is made once.
func TestGoesHome(t *testing.T) {
	prooftest.Needs(t, "two addresses")
	t.Parallel()
	db := pgtest.Empty(t)
	port := freePorts(t, 1)[0]
	begin := func(node, ip string) *here {
		text := strings.Replace(clusterConf(db, node), "(def port 0)", fmt.Sprintf("(def port %d)", port), 1)
		text = strings.Replace(text, `(def listen-address "127.0.0.1")`, fmt.Sprintf("(def listen-address %q)", ip), 1)
		return serve(t, Options{}, text+"(def cluster-endpoints \"127.0.0.61 127.0.0.62\")\n").ready()
	}
	a := begin("a", "127.0.0.61")
	b := begin("b", "127.0.0.62")
	sharing(t, a, b.dir)
	passed := func() (n uint64) {
		for _, l := range b.first().shards {
			n += l.runtime.Port().Shards()[l.index].UDP().Stats().Passed
		}
		return n
	}
	c := &crowd{}
	for _, address := range []string{a.address(), "ws://" + a.Addresses().HTTP.String() + "/ws"} {
		guest := join(t, b.address(), wamble.Token{})
		token := guest.c.Token()
		guest.c.Close()
		before := passed()
		p := join(t, address, token)
		if p.crowd = c; p.c.Token() != token {
			t.Fatalf("a player who came back through a is somebody else: %v instead of %v", p.c.Token(), token)
		}
		if passed() == before {
			t.Errorf("%s: the hello was not passed on", address)
		}
		c.players = append(c.players, p)
	}
	c.play()
	c.more(t, 20)
	until(t, "nothing is passed on", func() bool {
		before := passed()
		c.more(t, 20)
		return passed() == before
	})
	c.finish()
	if got := b.metrics(); !strings.Contains(got, "wamble_packets_passed_total{") {
		t.Error("the metrics do not say how much was passed on")
	}
	a.end()
	b.end()
	c.verify(t, openPostgres(t, db))
}

// TestTwoMachinesDuplicateName: two machines with one name both report it; one with a unique name
// does not.
func TestTwoMachinesDuplicateName(t *testing.T) {
	prooftest.Needs(t, "two minutes")
	t.Parallel()
	db := pgtest.Empty(t)
	const warning = "is called like this one"
	a := serve(t, Options{Lease: pglog.DefaultLease}, clusterConf(db, "twin"))
	c := serve(t, Options{Lease: pglog.DefaultLease}, clusterConf(db, "single"))
	b := serve(t, Options{Lease: pglog.DefaultLease, Instance: "another"}, clusterConf(db, "twin"))
	for _, h := range []*here{a, b} {
		until(t, "the machine warns", func() bool { return strings.Contains(h.log.String(), warning) })
	}
	if strings.Contains(c.log.String(), warning) {
		t.Error("a machine with a name of its own was warned of")
	}
}
