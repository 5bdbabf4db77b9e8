package server

import (
	"fmt"
	"math/rand/v2"
	"net"
	"net/netip"
	"os"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"wamble"
	"wamble/internal/host"
	"wamble/internal/prooftest"
	"wamble/internal/store/postgres"
	"wamble/internal/store/postgres/pgtest"
)

// machine is one of several that share a journal: a process with an address of its own
// on the loopback, and a way to the database that can be cut.
type machine struct {
	*child
	name string
	dir  string
	text string
	ip   string
	ways []*pgtest.Proxy // to the primary and the standby of the database
}

// begin starts the process, which serves players or waits as a standby.
func (m *machine) begin(t testing.TB) { m.child, _ = begin(t, m.dir, m.text) }

// state is what the machine says of itself.
func (m *machine) state(t testing.TB) string {
	var s host.Status
	if err := host.Ask(t.Context(), m.dir, "status", nil, &s); err != nil {
		return err.Error()
	}
	if s.Ready() {
		return "serves"
	}
	return s.Journal.State
}

// switchboard leads players to whichever machine answers them, as an address does that
// moves from machine to machine. It counts what each one says.
type switchboard struct {
	front *net.UDPConn
	to    []netip.AddrPort
	said  []atomic.Int64

	mu    sync.Mutex
	backs map[netip.AddrPort][]*net.UDPConn // a socket for each machine, by player
}

func newSwitchboard(t testing.TB, to []netip.AddrPort) *switchboard {
	t.Helper()
	front, err := net.ListenUDP("udp", &net.UDPAddr{IP: net.IPv4(127, 0, 0, 1)})
	if err != nil {
		t.Fatal(err)
	}
	s := &switchboard{front: front, to: to, said: make([]atomic.Int64, len(to)), backs: map[netip.AddrPort][]*net.UDPConn{}}
	go s.run()
	t.Cleanup(func() {
		front.Close()
		s.mu.Lock()
		defer s.mu.Unlock()
		for _, backs := range s.backs {
			for _, b := range backs {
				b.Close()
			}
		}
	})
	return s
}

func (s *switchboard) address() string { return "udp://" + s.front.LocalAddr().String() }

func (s *switchboard) run() {
	b := make([]byte, 65536)
	for {
		n, from, err := s.front.ReadFromUDPAddrPort(b)
		if err != nil {
			return
		}
		for i, back := range s.backsOf(from) {
			back.WriteToUDPAddrPort(b[:n], s.to[i])
		}
	}
}

func (s *switchboard) backsOf(player netip.AddrPort) []*net.UDPConn {
	s.mu.Lock()
	defer s.mu.Unlock()
	if backs, ok := s.backs[player]; ok {
		return backs
	}
	var backs []*net.UDPConn
	for i := range s.to {
		c, err := net.ListenUDP("udp", &net.UDPAddr{IP: net.IPv4(127, 0, 0, 1)})
		if err != nil {
			break
		}
		backs = append(backs, c)
		go func() {
			b := make([]byte, 65536)
			for {
				n, _, err := c.ReadFromUDPAddrPort(b)
				if err != nil {
					return
				}
				s.said[i].Add(1)
				s.front.WriteToUDPAddrPort(b[:n], player)
			}
		}()
	}
	s.backs[player] = backs
	return backs
}

// fleet is machines that share a journal, their database, and players.
type fleet struct {
	t        testing.TB
	machines []*machine
	board    *switchboard
	crowd    *crowd
	primary  *pgtest.Cluster
	standby  *pgtest.Cluster
	db       postgres.Options
	longest  map[string]time.Duration // until everybody has moved again, by fault
}

// newFleet starts machines on a database with a synchronous standby.
func newFleet(t testing.TB, n, players int) *fleet {
	t.Helper()
	f := &fleet{t: t, primary: pgtest.Start(t, false), longest: map[string]time.Duration{}}
	f.db = f.primary.OverTCP(f.primary.Migrated(t))
	f.standby = f.primary.Follow(t)
	other := f.db
	other.Port = f.standby.Server().Port
	port := freePorts(t, 1)[0]
	var to []netip.AddrPort
	for i := range n {
		m := &machine{name: fmt.Sprintf("m%d", i+1), dir: t.TempDir(), ip: fmt.Sprintf("127.0.0.%d", i+11)}
		first, way := pgtest.NewProxy(t, f.db)
		second, way2 := pgtest.NewProxy(t, other)
		m.ways = []*pgtest.Proxy{first, second}
		way.Host = fmt.Sprintf("127.0.0.1:%d,127.0.0.1:%d", way.Port, way2.Port)
		m.text = strings.Replace(conf(postgresConf(way)), "(def port 0)", fmt.Sprintf("(def port %d)", port), 1)
		m.text = strings.Replace(m.text, `(def listen-address "127.0.0.1")`, fmt.Sprintf("(def listen-address %q)", m.ip), 1)
		m.text += fmt.Sprintf("(def journal \"postgres\") (def journal-node %q) (def min-boards 32)\n", m.name)
		f.machines = append(f.machines, m)
		to = append(to, netip.AddrPortFrom(netip.MustParseAddr(m.ip), port))
		m.begin(t)
	}
	f.board = newSwitchboard(t, to)
	f.owner()
	f.crowd = gather(t, f.board.address(), players)
	f.crowd.play()
	f.moved()
	t.Cleanup(func() {
		if t.Failed() {
			for _, m := range f.machines {
				t.Logf("the log of %s:\n%s", m.name, m.log)
			}
		}
	})
	return f
}

// owner waits until one machine serves players, and returns it.
func (f *fleet) owner() (owner *machine) {
	f.t.Helper()
	until(f.t, "a machine serves players", func() bool {
		for _, m := range f.machines {
			if m.state(f.t) == "serves" {
				owner = m
				return true
			}
		}
		return false
	})
	return owner
}

// moved waits until everybody has had two moves accepted, of which the answer to the
// first may have been on its way, and returns how long the last one took.
func (f *fleet) moved() time.Duration {
	f.t.Helper()
	began := time.Now()
	var before []int64
	for _, p := range f.crowd.players {
		before = append(before, p.moves.Load())
	}
	until(f.t, "everybody moves", func() bool {
		for i, p := range f.crowd.players {
			if p.moves.Load() < before[i]+2 {
				return false
			}
		}
		return true
	})
	return time.Since(began)
}

// suffer lets a fault happen, and waits until everybody moves again.
func (f *fleet) suffer(fault string, do func()) {
	f.t.Helper()
	do()
	d := f.moved()
	f.longest[fault] = max(f.longest[fault], d)
	f.t.Logf("%s: everybody moved again after %v", fault, d.Round(time.Millisecond))
}

// end lets the players finish, stops the machines, and compares.
func (f *fleet) end() {
	f.t.Helper()
	f.crowd.finish()
	for _, m := range f.machines {
		m.child.end()
	}
	f.crowd.verify(f.t, openPostgres(f.t, f.db))
}

// kill kills the owner; it comes back as a standby.
func (f *fleet) kill() {
	m := f.owner()
	f.suffer("kill", m.kill)
	m.begin(f.t)
}

// pause stops the owner's process for longer than its lease. When it goes on it says
// nothing.
func (f *fleet) pause() {
	m := f.owner()
	f.suffer("pause", func() {
		f.signal(m, syscall.SIGSTOP)
		until(f.t, "it sleeps", func() bool {
			stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", m.cmd.Process.Pid))
			return err == nil && strings.Contains(string(stat), ") T ")
		})
	})
	i := f.index(m)
	before := f.board.said[i].Load()
	f.signal(m, syscall.SIGCONT)
	until(f.t, "it becomes a standby", func() bool { return strings.HasPrefix(m.state(f.t), "standby of ") })
	if said := f.board.said[i].Load() - before; said > 0 {
		f.t.Errorf("%s sent %d packets after it had slept", m.name, said)
	}
}

// cut cuts the owner from its database, without a word.
func (f *fleet) cut() {
	m := f.owner()
	var pass []func()
	f.suffer("cut", func() {
		for _, way := range m.ways {
			pass = append(pass, way.Still())
		}
	})
	i := f.index(m)
	before := f.board.said[i].Load()
	for _, pass := range pass {
		pass()
	}
	until(f.t, "it becomes a standby", func() bool { return strings.HasPrefix(m.state(f.t), "standby of ") })
	if said := f.board.said[i].Load() - before; said > 0 {
		f.t.Errorf("%s sent %d packets after another had its place", m.name, said)
	}
}

// stop stops the owner in order; it comes back as a standby.
func (f *fleet) stop() {
	m := f.owner()
	f.suffer("stop", m.child.end)
	m.begin(f.t)
}

// restart restarts the database.
func (f *fleet) restart() {
	f.suffer("restart of PostgreSQL", func() { f.primary.Restart(f.t) })
}

// lone kills the standby of the database for a while: nothing is acknowledged
// meanwhile.
func (f *fleet) lone() {
	f.standby.Down(f.t)
	before := f.crowd.moves.Load() + int64(len(f.crowd.players)) // those whose answers were on their way
	time.Sleep(prooftest.Sized(time.Second, 7*time.Second))
	if n := f.crowd.moves.Load(); n > before {
		f.t.Errorf("%d moves were accepted without a standby", n-before)
	}
	f.suffer("PostgreSQL's standby back", func() { f.standby.Up(f.t) })
}

// promote kills the primary of the database, and makes the standby take its place.
func (f *fleet) promote() {
	f.suffer("PostgreSQL's primary killed", func() {
		f.primary.Down(f.t)
		f.standby.Promote(f.t)
	})
	f.db.Port = f.standby.Server().Port
}

func (f *fleet) signal(m *machine, s os.Signal) {
	if err := m.cmd.Process.Signal(s); err != nil {
		f.t.Error(err)
	}
}

func (f *fleet) index(m *machine) int {
	for i := range f.machines {
		if f.machines[i] == m {
			return i
		}
	}
	return -1
}

// TestFleet: machines that share a journal die, sleep, are cut off and lose their
// database, under load. Every accepted move is in the database once, nobody speaks
// whose place another has, and everybody moves again. With WAMBLE_SOAK 200 faults come
// in random order, and nobody waits for longer than five seconds when a machine dies.
func TestFleet(t *testing.T) {
	if !prooftest.Soaking() { // where nobody's time is taken
		t.Parallel()
	}
	f := newFleet(t, 3, 12)
	faults := []func(*fleet){(*fleet).kill, (*fleet).pause, (*fleet).cut, (*fleet).stop, (*fleet).restart, (*fleet).lone}
	end, bounded := t.Deadline()
	for i := range prooftest.Sized(len(faults), 200) {
		if bounded && time.Until(end) < time.Minute {
			t.Logf("the time ends after %d faults", i)
			break
		}
		if prooftest.Soaking() {
			i = rand.IntN(len(faults))
		}
		faults[i](f)
	}
	f.promote()
	f.end()
	for fault, d := range f.longest {
		t.Logf("%s: everybody moved again after %v at most", fault, d.Round(time.Millisecond))
		if prooftest.Soaking() && d > 5*time.Second && slices.Contains([]string{"kill", "pause", "cut", "stop"}, fault) {
			t.Errorf("%s: somebody waited for %v", fault, d)
		}
	}
}

// shared is the configuration of a machine with its journal in a database.
func shared(db postgres.Options, node string) string {
	return conf(postgresConf(db)) + fmt.Sprintf("(def journal \"postgres\") (def journal-node %q)\n", node)
}

// long is a lease that no test is slow enough for: whoever takes over before it has run
// out was let.
const long = 10 * patience

// beginLong starts a machine whose lease is long.
func (m *machine) beginLong(t testing.TB) {
	m.child, _ = begin(t, m.dir, m.text, "WAMBLE_TEST_LEASE="+long.String())
}

// TestStandby: a second machine waits and says so, over HTTP and at the control socket,
// and takes over at once when the first one stops in order.
func TestStandby(t *testing.T) {
	t.Parallel()
	db := pgtest.Empty(t)
	first := serve(t, Options{Lease: long}, shared(db, "one")).ready()
	if got := first.Status(t.Context()).Journal; got.Durability != "postgres" || got.State != "running" {
		t.Errorf("the journal of the first: got %+v", got)
	}
	p := join(t, first.address(), wamble.Token{})
	if !p.move(t.Context()) {
		t.Fatal("no move")
	}
	admin := fmt.Sprintf("127.0.0.1:%d", freePorts(t, 1)[0])
	text := strings.Replace(shared(db, "two"), `(def admin-listen "127.0.0.1:0")`, fmt.Sprintf("(def admin-listen %q)", admin), 1)
	second := machine{dir: t.TempDir(), text: text}
	second.beginLong(t)
	until(t, "it waits", func() bool { return second.state(t) == "standby of one" })
	if got := fetch(t, "http://"+admin+"/readyz"); got != "503 standby of one" {
		t.Errorf("/readyz: got %q, want 503 standby of one", got)
	}
	if got := fetch(t, "http://"+admin+"/healthz"); got != "200 alive" {
		t.Errorf("/healthz: got %q, want 200 alive", got)
	}
	if err := host.Ask(t.Context(), second.dir, "reload", nil, nil); err == nil {
		t.Error("a standby obeys a command")
	}
	first.end()
	until(t, "it has taken over", func() bool { return second.state(t) == "serves" })
	if got := fetch(t, "http://"+admin+"/readyz"); got != "200 ready" {
		t.Errorf("/readyz: got %q, want 200 ready", got)
	}
	second.child.end()
	crowd := &crowd{players: []*player{p}}
	crowd.verify(t, openPostgres(t, db))
}

// TestStandbyStops: a standby that is told to stop ends in order.
func TestStandbyStops(t *testing.T) {
	t.Parallel()
	db := pgtest.Empty(t)
	serve(t, Options{Lease: long}, shared(db, "one")).ready()
	second := machine{dir: t.TempDir(), text: shared(db, "two")}
	second.beginLong(t)
	until(t, "it waits", func() bool { return second.state(t) == "standby of one" })
	second.child.end()
}

// TestSharedHandoff: a server whose journal is in a database hands over to its next
// image, which goes on at once, and may be killed afterwards.
func TestSharedHandoff(t *testing.T) {
	t.Parallel()
	db := pgtest.Empty(t)
	i := spawnImage(t, staying(t, shared(db, "one")))
	c := gather(t, i.address(), 4)
	c.play()
	c.more(t, 50)
	if _, err := i.handOff(""); err != nil {
		t.Fatalf("handoff: %v", err)
	}
	c.more(t, 50)
	i.kill()
	i.launch()
	c.more(t, 50)
	c.finish()
	i.end()
	c.verify(t, openPostgres(t, db))
}

// TestClusterEndpoint: a client that knows one machine learns the others, and goes on
// with the one that takes over.
func TestClusterEndpoint(t *testing.T) {
	t.Parallel()
	db := pgtest.Empty(t)
	port := freePorts(t, 1)[0]
	var machines []*machine
	for i, ip := range []string{"127.0.0.31", "127.0.0.32"} {
		text := strings.Replace(shared(db, fmt.Sprint("m", i+1)), "(def port 0)", fmt.Sprintf("(def port %d)", port), 1)
		text = strings.Replace(text, `(def listen-address "127.0.0.1")`, fmt.Sprintf("(def listen-address %q)", ip), 1)
		m := &machine{ip: ip, dir: t.TempDir(), text: text + `(def cluster-endpoints "127.0.0.31 127.0.0.32")`}
		m.begin(t)
		until(t, "it serves or waits", func() bool { s := m.state(t); return s == "serves" || s == "standby of m1" })
		machines = append(machines, m)
	}
	c := gather(t, fmt.Sprintf("udp://%s:%d", machines[0].ip, port), 3)
	c.play()
	c.more(t, 20)
	machines[0].kill()
	c.more(t, 20)
	c.finish()
	machines[1].child.end()
	c.verify(t, openPostgres(t, db))
}
