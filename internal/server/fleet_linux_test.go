package server

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"wamble/internal/prooftest"
	"wamble/internal/store/postgres"
	"wamble/internal/store/postgres/pgtest"
)

// fleet is machines that share a journal, their database, and players, each at a site
// of its own.
type fleet struct {
	t        testing.TB
	rng      *rand.Rand
	net      *network
	machines []*machine
	sites    []*site // of the machines
	dbs      []*site // of the primary, and of the standby
	players  *site
	board    *switchboard
	crowd    *crowd
	primary  *pgtest.Cluster
	standby  *pgtest.Cluster          // nil: the primary is the one that is left
	lost     *pgtest.Cluster          // the primary before this one
	name     string                   // of the database
	longest  map[string]time.Duration // until everybody has moved again, by fault
}

// newFleet starts machines that share a journal on a database with a synchronous standby.
func newFleet(t testing.TB, n, players int) *fleet {
	t.Helper()
	const port = 8888
	f := newRealm(t, n, port)
	pgtest.Execute(t, f.database(), databaseClock(f.name))
	var to []netip.AddrPort
	for _, m := range f.machines {
		to = append(to, netip.AddrPortFrom(netip.MustParseAddr(m.ip), port))
		m.begin(t)
	}
	f.board = newSwitchboard(t, f.players, netip.MustParseAddrPort("127.0.0.1:0"), to...)
	f.owner()
	f.crowd = gather(t, f.board.address(), players)
	f.crowd.play()
	f.moved()
	return f
}

// newRealm makes a database with a synchronous standby, and sites for machines, which do
// not run yet.
func newRealm(t testing.TB, n int, port uint16) *fleet {
	t.Helper()
	f := &fleet{t: t, rng: prooftest.Random(t), net: newNetwork(t), longest: map[string]time.Duration{}}
	f.dbs, f.players = []*site{f.net.add(), f.net.add()}, f.net.add()
	f.primary = pgtest.StartAt(t, false, f.dbs[0].database())
	db := f.primary.Migrated(t)
	f.name = db.Name
	f.standby = f.primary.FollowAt(t, f.dbs[1].database())
	db.Host = fmt.Sprintf("%s:%d,%s:%d", f.dbs[0].ip, f.primary.Server().Port, f.dbs[1].ip, f.standby.Server().Port)
	for i := range n {
		m := &machine{name: fmt.Sprintf("m%d", i+1), dir: t.TempDir()}
		site := f.net.add()
		m.ip = site.ip
		m.start = func(cmd *exec.Cmd) error { return site.within(cmd.Start) }
		m.text = strings.Replace(conf(postgresConf(db)), "(def port 0)", fmt.Sprintf("(def port %d)", port), 1)
		m.text = strings.Replace(m.text, `(def listen-address "127.0.0.1")`, fmt.Sprintf("(def listen-address %q)", m.ip), 1)
		m.text += fmt.Sprintf("(def journal \"postgres\") (def journal-node %q) (def min-boards 32)\n", m.name)
		f.machines, f.sites = append(f.machines, m), append(f.sites, site)
	}
	t.Cleanup(func() {
		if t.Failed() {
			for _, m := range f.machines {
				if m.child != nil {
					t.Logf("the log of %s:\n%s", m.name, m.log)
				}
			}
		}
	})
	return f
}

// databaseClock makes a database go by a clock that can be set: what the table says is
// added to that of the machine.
func databaseClock(name string) string {
	return `CREATE TABLE clock (shift interval); INSERT INTO clock VALUES ('0');
		CREATE FUNCTION public.clock_timestamp() RETURNS timestamptz LANGUAGE sql VOLATILE
			RETURN pg_catalog.clock_timestamp() + (SELECT shift FROM public.clock);
		ALTER DATABASE ` + name + ` SET search_path = public, pg_catalog`
}

// database is the database where it takes writes now.
func (f *fleet) database() postgres.Options {
	o := f.primary.Server()
	o.Name = f.name
	return o
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
	f.crowd.verify(f.t, openPostgres(f.t, f.database()))
}

// silent lets a machine come back whose place another has: it becomes a standby, and
// says nothing before.
func (f *fleet) silent(m *machine, comeBack func()) {
	f.t.Helper()
	said := &f.board.said[slices.Index(f.machines, m)]
	before := said.Load()
	comeBack()
	until(f.t, "it becomes a standby", func() bool { return strings.HasPrefix(m.state(f.t), "standby of ") })
	if n := said.Load() - before; n > 0 {
		f.t.Errorf("%s sent %d packets though another has its place", m.name, n)
	}
}

// back starts a machine again, and waits until it is a standby.
func (f *fleet) back(m *machine) {
	f.t.Helper()
	f.silent(m, func() { m.begin(f.t) })
}

// kill kills the owner; it comes back as a standby.
func (f *fleet) kill() {
	m := f.owner()
	f.suffer("kill", m.kill)
	f.back(m)
}

// pause stops the owner's process for 10 s: it misses that its lease ends, and
// whatever else happens.
func (f *fleet) pause() {
	m := f.owner()
	var asleep time.Time
	f.suffer("pause", func() {
		f.signal(m, syscall.SIGSTOP)
		until(f.t, "it sleeps", func() bool {
			stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", m.cmd.Process.Pid))
			return err == nil && strings.Contains(string(stat), ") T ")
		})
		asleep, m.asleep = time.Now(), true
	})
	f.isolate()
	time.Sleep(time.Until(asleep.Add(10 * time.Second)))
	f.owner() // else it may be the one that has the right to speak
	f.silent(m, func() {
		f.signal(m, syscall.SIGCONT)
		m.asleep = false
	})
}

// cut cuts the owner from its database.
func (f *fleet) cut() {
	m := f.owner()
	var mend func()
	f.suffer("cut from PostgreSQL", func() { mend = f.net.cut(f.siteOf(m), f.dbs...) })
	f.silent(m, mend)
}

// unplug cuts the owner from everybody.
func (f *fleet) unplug() {
	m := f.owner()
	var mend func()
	others := append(append(slices.Clone(f.dbs), f.players), f.others(m)...)
	f.suffer("unplugged", func() { mend = f.net.cut(f.siteOf(m), others...) })
	f.silent(m, mend)
}

// isolate cuts the owner from the other machines, and nothing comes of it.
func (f *fleet) isolate() {
	m := f.owner()
	mend := f.net.cut(f.siteOf(m), f.others(m)...)
	f.suffer("cut from the other machines", func() {})
	mend()
	if now := f.owner(); now != m {
		f.t.Errorf("%s serves after %s was cut from the other machines", now.name, m.name)
	}
}

// stop stops the owner in order; it comes back as a standby.
func (f *fleet) stop() {
	m := f.owner()
	f.suffer("stop", m.child.end)
	f.back(m)
}

// clocks sets the clocks of all machines, that of the database too, up to five seconds
// forward or back, and nobody takes another's place for that.
func (f *fleet) clocks() {
	step := func() time.Duration { return time.Duration(f.rng.IntN(11)-5) * time.Second }
	f.suffer("clocks set", func() {
		for _, m := range f.machines {
			if err := os.WriteFile(filepath.Join(m.dir, "clock"), []byte(step().String()), 0o600); err != nil {
				f.t.Fatal(err)
			}
			f.signal(m, syscall.SIGUSR1)
		}
		pgtest.Execute(f.t, f.database(), fmt.Sprintf(`UPDATE clock SET shift = '%d s'`, int(step().Seconds())))
		time.Sleep(time.Second) // two beats: whoever believes the clock claims now
	})
}

// restart restarts the database.
func (f *fleet) restart() {
	f.suffer("restart of PostgreSQL", func() { f.primary.Restart(f.t) })
}

// alone is what the database does while it has no standby: nothing is acknowledged.
func (f *fleet) alone(meanwhile func(), d time.Duration) {
	before := f.crowd.moves.Load() + int64(len(f.crowd.players)) // those whose answers were on their way
	for end := time.Now().Add(d); time.Now().Before(end); time.Sleep(10 * time.Millisecond) {
		meanwhile()
	}
	if n := f.crowd.moves.Load(); n > before {
		f.t.Errorf("%d moves were accepted without a standby", n-before)
	}
}

// lone kills the standby of the database for a while.
func (f *fleet) lone() {
	f.standby.Down(f.t)
	f.alone(func() {}, prooftest.Sized(time.Second, 7*time.Second))
	f.suffer("PostgreSQL's standby back", func() { f.standby.Up(f.t) })
}

// cancel cuts the standby of the database off, and cancels every wait for it.
func (f *fleet) cancel() {
	mend := f.net.cut(f.dbs[0], f.dbs[1])
	cancelled := 0
	f.alone(func() {
		cancelled += pgtest.Query[int](f.t, f.database(), `SELECT count(pg_cancel_backend(pid)) FROM pg_stat_activity WHERE wait_event = 'SyncRep'`)
	}, prooftest.Sized(time.Second, 3*time.Second))
	if cancelled == 0 {
		f.t.Error("nobody waited for the standby")
	}
	f.suffer("waits for the standby cancelled", mend)
}

// promote kills the primary of the database, and makes the standby take its place.
func (f *fleet) promote() {
	f.suffer("PostgreSQL's primary killed", func() {
		f.primary.Down(f.t)
		f.standby.Promote(f.t)
	})
	f.lost, f.primary, f.standby = f.primary, f.standby, nil
}

// whole gives the database its standby back.
func (f *fleet) whole() {
	if f.standby == nil {
		f.lost.Rejoin(f.t, f.primary)
		f.standby, f.lost = f.lost, nil
	}
}

func (f *fleet) signal(m *machine, s os.Signal) {
	if err := m.cmd.Process.Signal(s); err != nil {
		f.t.Error(err)
	}
}

func (f *fleet) siteOf(m *machine) *site { return f.sites[slices.Index(f.machines, m)] }

func (f *fleet) others(m *machine) []*site {
	return slices.DeleteFunc(slices.Clone(f.sites), func(s *site) bool { return s == f.siteOf(m) })
}

// TestFleet: machines that share a journal die, sleep, are cut off, have wrong clocks
// and lose their database, under load. Every accepted move is in the database once,
// nobody speaks whose place another has, and everybody moves again. With WAMBLE_SOAK
// 200 faults come in random order, and nobody waits for longer than five seconds when a
// machine dies.
func TestFleet(t *testing.T) {
	if !prooftest.Soaking() { // where nobody's time is taken
		t.Parallel()
	}
	f := newFleet(t, 3, 12)
	faults := []func(*fleet){(*fleet).kill, (*fleet).pause, (*fleet).cut, (*fleet).cancel, (*fleet).lone, (*fleet).promote,
		(*fleet).unplug, (*fleet).isolate, (*fleet).clocks, (*fleet).stop, (*fleet).restart}
	end, bounded := t.Deadline()
	for i := range prooftest.Sized(6, 200) {
		if bounded && time.Until(end) < time.Minute {
			t.Errorf("the time ends after %d faults", i)
			break
		}
		if prooftest.Soaking() {
			i = f.rng.IntN(len(faults))
		}
		f.whole()
		faults[i](f)
	}
	f.end()
	for _, fault := range slices.Sorted(maps.Keys(f.longest)) {
		d := f.longest[fault]
		t.Logf("measured: %s: everybody moved again after %v at most", fault, d.Round(time.Millisecond))
		if prooftest.Soaking() && d > 5*time.Second && slices.Contains([]string{"kill", "pause", "cut from PostgreSQL", "unplugged", "stop"}, fault) {
			t.Errorf("%s: somebody waited for %v", fault, d)
		}
	}
}
