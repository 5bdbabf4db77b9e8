//go:build proof && linux

package server

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"net/netip"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"
	"time"

	"wamble/internal/prooftest"
	"wamble/internal/store/postgres"
	"wamble/internal/store/postgres/pglog"
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
	standby  *pgtest.Cluster            // nil: the primary has no standby left
	lost     *pgtest.Cluster            // the primary before this one
	name     string                     // of the database
	waits    map[string][]time.Duration // by fault: the longest wait of a player, for each occurrence
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
	pgtest.Execute(t, f.database(), noteSuccessions)
	f.crowd = gather(t, f.board.address(), players)
	f.crowd.think = 0
	f.crowd.play()
	f.moved()
	return f
}

// noteSuccessions makes a database record for how long an owner of the journal was silent
// when another one took its place, by a clock that no test sets.
const noteSuccessions = `
	CREATE TABLE heard (node text PRIMARY KEY, at timestamptz);
	CREATE TABLE successions (silence interval);
	CREATE FUNCTION hear() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
		INSERT INTO heard VALUES (NEW.node, pg_catalog.clock_timestamp()) ON CONFLICT (node) DO UPDATE SET at = EXCLUDED.at;
		RETURN NULL; END $$;
	CREATE TRIGGER hear AFTER INSERT OR UPDATE ON nodes FOR EACH ROW EXECUTE FUNCTION hear();
	CREATE FUNCTION succeed() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
		INSERT INTO successions SELECT pg_catalog.clock_timestamp() - at FROM heard WHERE node = OLD.holder;
		RETURN NULL; END $$;
	CREATE TRIGGER succeed AFTER UPDATE OF holder ON shards FOR EACH ROW
		WHEN (OLD.holder <> '' AND NEW.holder NOT IN ('', OLD.holder)) EXECUTE FUNCTION succeed();`

// newRealm makes a database with a synchronous standby, and sites for machines, which do
// not run yet.
func newRealm(t testing.TB, n int, port uint16) *fleet {
	t.Helper()
	f := &fleet{t: t, rng: prooftest.Random(t), net: newNetwork(t), waits: map[string][]time.Duration{}}
	f.dbs, f.players = []*site{f.net.add(), f.net.add()}, f.net.add()
	f.primary = pgtest.StartAt(t, false, f.dbs[0].database())
	db := f.primary.Migrated(t)
	f.name = db.Name
	f.standby = f.primary.StandbyAt(t, f.dbs[1].database())
	db.Host = fmt.Sprintf("%s:%d,%s:%d", f.dbs[0].ip, f.primary.Server().Port, f.dbs[1].ip, f.standby.Server().Port)
	for i := range n {
		m := &machine{name: fmt.Sprintf("m%d", i+1), dir: t.TempDir()}
		site := f.net.add()
		m.ip = site.ip
		m.start = func(cmd *exec.Cmd) error { return site.within(cmd.Start) }
		m.text = strings.Replace(conf(postgresConf(db)), "(def port 0)", fmt.Sprintf("(def port %d)", port), 1)
		m.text = strings.Replace(m.text, `(def listen-address "127.0.0.1")`,
			fmt.Sprintf("(def listen-address %q)", m.ip), 1)
		m.text = strings.Replace(m.text, `(def log-level "warn")`, `(def log-level "info")`, 1)
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

// silence returns for how long an owner was silent at least when another machine took its
// place; 0: none did.
func (f *fleet) silence() time.Duration {
	f.t.Helper()
	s := pgtest.Query[float64](f.t, f.database(),
		`SELECT COALESCE(extract(epoch FROM min(silence)), 0)::float8 FROM successions`)
	return time.Duration(s * float64(time.Second))
}

// databaseClock gives a database a clock that can be set: the offset in its table is added to
// the machine's clock.
func databaseClock(name string) string {
	return `CREATE TABLE clock (shift interval); INSERT INTO clock VALUES ('0');
		CREATE FUNCTION public.clock_timestamp() RETURNS timestamptz LANGUAGE sql VOLATILE
			RETURN pg_catalog.clock_timestamp() + (SELECT shift FROM public.clock);
		ALTER DATABASE ` + name + ` SET search_path = public, pg_catalog`
}

// database returns the address of the database that accepts writes now.
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

// moved waits until everybody has had two moves accepted: the answer to the first may have
// been on its way.
func (f *fleet) moved() {
	f.t.Helper()
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
}

// suffer injects a fault, and waits until everybody moves again.
func (f *fleet) suffer(fault string, do func()) {
	f.t.Helper()
	d := f.crowd.longestWait(f.t, do)
	f.waits[fault] = append(f.waits[fault], d)
	f.t.Logf("%s: everybody moved again after %v", fault, d.Round(time.Millisecond))
	if d <= longestLoss {
		return
	}
	for _, m := range f.machines {
		lines := strings.Split(m.child.log.String(), "\n")
		f.t.Logf("the last that %s has said:\n%s", m.name, strings.Join(lines[max(0, len(lines)-60):], "\n"))
	}
}

// longestLoss is how long a player may wait when a machine is lost.
const longestLoss = 5 * time.Second

// measured reports the longest waits of players, by fault. With WAMBLE_SOAK the bound is five
// seconds for the faults in lost, by which a machine is lost.
func (f *fleet) measured(p *prooftest.Proof, lost ...string) {
	f.t.Helper()
	for _, fault := range slices.Sorted(maps.Keys(f.waits)) {
		d := slices.Max(f.waits[fault])
		f.t.Logf("measured: %s (%d): everybody moved again after %v at most", fault, len(f.waits[fault]),
			d.Round(time.Millisecond))
		if prooftest.Soaking() && slices.Contains(lost, fault) {
			p.Bound(fault, d, longestLoss)
		}
	}
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

func (f *fleet) signal(m *machine, s os.Signal) {
	if err := m.cmd.Process.Signal(s); err != nil {
		f.t.Error(err)
	}
}

func (f *fleet) siteOf(m *machine) *site { return f.sites[slices.Index(f.machines, m)] }

func (f *fleet) others(m *machine) []*site {
	return slices.DeleteFunc(slices.Clone(f.sites), func(s *site) bool { return s == f.siteOf(m) })
}

// everybody returns all sites but that of a machine.
func (f *fleet) everybody(m *machine) []*site {
	return slices.Concat(f.dbs, []*site{f.players}, f.others(m))
}

// TestFleet: machines that share a journal crash, are stopped, are cut off, have wrong clocks
// and lose their database, under load (testdata/faults/standbys). Every accepted move is in
// the database once, no machine sends anything after another has taken its place, and
// everybody moves again. With WAMBLE_SOAK nobody waits for longer than five seconds when a
// machine is lost.
func TestFleet(t *testing.T) {
	p := prooftest.Needs(t, "root, minutes and a machine for itself")
	f := newFleet(t, 3, 12)
	lost := playAll(t, "standbys", f, nil)
	f.end()
	if d := f.silence(); d < pglog.DefaultLease {
		t.Errorf("an owner that was silent for %v only was taken for dead", d)
	}
	f.measured(p, lost...)
}
