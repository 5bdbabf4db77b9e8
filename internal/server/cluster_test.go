package server

import (
	"cmp"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"

	"wamble"
	"wamble/internal/admin"
	"wamble/internal/store/postgres"
	"wamble/internal/store/postgres/pgtest"
)

// machine is one of several that share a journal: a process with an address of its own.
type machine struct {
	*child
	name string
	dir  string
	text string
	ip   string
	// start starts the process at the machine's site; nil: in this namespace.
	start  func(*exec.Cmd) error
	asleep bool          // the process is stopped (SIGSTOP) and does not answer
	lease  time.Duration // 0: oneDies; with start the default
}

// begin starts the process, which serves players or waits as a standby.
func (m *machine) begin(t testing.TB) {
	if m.start == nil {
		m.child, _ = begin(t, m.dir, m.text, asLease+"="+cmp.Or(m.lease, oneDies).String())
		return
	}
	m.child, _ = beginWith(t, m.dir, m.text, m.start)
}

// state returns the state that the machine reports.
func (m *machine) state(t testing.TB) string {
	if m.asleep {
		return "asleep"
	}
	var s admin.Status
	if err := admin.Ask(t.Context(), m.dir, "status", nil, &s); err != nil {
		return err.Error()
	}
	if s.Ready() {
		return "serves"
	}
	return s.Journal.State
}

// shared is the configuration of a machine with its journal in a database.
func shared(db postgres.Options, node string) string {
	return conf(postgresConf(db)) + fmt.Sprintf("(def journal \"postgres\") (def journal-node %q)\n", node)
}

// long is a lease that outlasts every test: a machine that takes over before it has run out
// was allowed to.
const long = 10 * patience

// beginLong starts a machine with a long lease.
func (m *machine) beginLong(t testing.TB) {
	m.child, _ = begin(t, m.dir, m.text, asLease+"="+long.String())
}

// TestStandby: a second machine waits and reports that, over HTTP, on the ports of hosts and
// of players, and at the control socket. It takes over at once when the first one stops in
// order.
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
	text, doors := ported(t, shared(db, "two"))
	second := machine{dir: t.TempDir(), text: text}
	second.beginLong(t)
	until(t, "it waits", func() bool { return second.state(t) == "standby of one" })
	for _, door := range doors {
		if got := fetch(t, door+"/readyz"); got != "503 standby of one" {
			t.Errorf("%s/readyz: got %q, want 503 standby of one", door, got)
		}
		if got := fetch(t, door+"/healthz"); got != "200 alive" {
			t.Errorf("%s/healthz: got %q, want 200 alive", door, got)
		}
	}
	if got := fetch(t, doors[0]+"/console/"); !strings.HasPrefix(got, "200 ") {
		t.Errorf("the console of a standby: got %.60q", got)
	}
	token, err := os.ReadFile(second.dir + "/admin-token")
	if err != nil {
		t.Fatal(err)
	}
	if got := fetchWith(t, doors[0]+"/metrics", strings.TrimSpace(string(token))); !strings.Contains(got,
		`wamble_standby{node="two"} 1`) {
		t.Errorf("the metrics of a standby: got %.60q", got)
	}
	until(t, "the first one lists it", func() bool {
		var all admin.Cluster
		err := admin.Ask(t.Context(), first.dir, "cluster", nil, &all)
		return err == nil && len(all.Nodes) == 2 && all.Nodes[1].Name == "two"
	})
	first.end()
	until(t, "it has taken over", func() bool { return second.state(t) == "serves" })
	for _, door := range doors {
		if got := fetch(t, door+"/readyz"); got != "200 ready" {
			t.Errorf("%s/readyz: got %q, want 200 ready", door, got)
		}
	}
	second.child.end()
	crowd := &crowd{players: []*player{p}}
	crowd.verify(t, openPostgres(t, db))
}

// TestLostMachine: a machine that was killed is listed as lost until it is back; one that stops in order leaves
// the list.
func TestLostMachine(t *testing.T) {
	t.Parallel()
	db := pgtest.Empty(t)
	first := serve(t, Options{}, shared(db, "one")).ready()
	second := machine{dir: t.TempDir(), text: shared(db, "two")}
	listed := func(what string, is func(list []admin.NodeStatus) bool) {
		t.Helper()
		until(t, what, func() bool {
			var all admin.Cluster
			return admin.Ask(t.Context(), first.dir, "cluster", nil, &all) == nil && is(all.Nodes)
		})
	}
	lives := func(list []admin.NodeStatus) bool { return len(list) == 2 && list[1].Lost == nil }
	second.begin(t)
	listed("it is listed", lives)
	second.child.kill()
	listed("it is lost", func(list []admin.NodeStatus) bool {
		return len(list) == 2 && list[1].Name == "two" && list[1].Lost != nil && !list[1].Ready
	})
	second.begin(t)
	listed("it is back", lives)
	second.child.end()
	listed("it has left", func(list []admin.NodeStatus) bool { return len(list) == 1 })
}

// ported returns a configuration with known ports, and the addresses at which its server
// answers HTTP: the admin listener, and the port of its profile.
func ported(t testing.TB, text string) (_ string, doors []string) {
	t.Helper()
	ports := freePorts(t, 2)
	for _, port := range ports {
		doors = append(doors, fmt.Sprintf("http://127.0.0.1:%d", port))
	}
	return strings.NewReplacer(`(def admin-listen "127.0.0.1:0")`,
		fmt.Sprintf(`(def admin-listen "127.0.0.1:%d")`, ports[0]),
		"(def port 0)", fmt.Sprintf("(def port %d)", ports[1])).Replace(text), doors
}

// TestStandbyWithoutDatabase: a machine that cannot reach the journal's database reports that
// it waits for it, and serves when the database is back.
func TestStandbyWithoutDatabase(t *testing.T) {
	t.Parallel()
	cluster := pgtest.Start(t, false)
	text, doors := ported(t, shared(cluster.Migrated(t), "one"))
	cluster.Down(t)
	m := machine{dir: t.TempDir(), text: text}
	m.begin(t)
	for _, door := range doors {
		until(t, door+" says what it waits for", func() bool {
			return strings.HasPrefix(fetch(t, door+"/readyz"), "503 waiting for the journal's database: ")
		})
	}
	if got := m.state(t); !strings.HasPrefix(got, "waiting for the journal's database: ") {
		t.Errorf("its status: got %q", got)
	}
	cluster.Up(t)
	until(t, "it serves", func() bool { return m.state(t) == "serves" })
	m.child.end()
}

// TestOwnerWithoutDatabase: a serving machine loses the one database of its journal and its
// games. It reports that nobody can play, and why, and serves again when the database is
// back.
func TestOwnerWithoutDatabase(t *testing.T) {
	t.Parallel()
	cluster := pgtest.Start(t, false)
	text, doors := ported(t, shared(cluster.Migrated(t), "one"))
	m := machine{dir: t.TempDir(), text: text}
	m.begin(t)
	ready := func() {
		for _, door := range doors {
			until(t, door+" is ready", func() bool { return fetch(t, door+"/readyz") == "200 ready" })
		}
	}
	ready()
	cluster.Down(t)
	for _, door := range doors {
		until(t, door+" says what is away", func() bool {
			got := fetch(t, door+"/readyz")
			// It reopens the journal repeatedly, or is a standby by now.
			return strings.HasPrefix(got, "503 the journal has failed: ") ||
				strings.HasPrefix(got, "503 waiting for the journal's database: ")
		})
	}
	cluster.Up(t)
	ready()
	m.child.end()
}

// TestSleeperWithoutPlayers: a machine without players was stopped while another took its
// place. It becomes a standby, whether its profile or its journal finds out first.
func TestSleeperWithoutPlayers(t *testing.T) {
	t.Parallel()
	db := pgtest.Migrated(t)
	sleeper := &machine{dir: t.TempDir(), text: shared(db, "one")}
	other := &machine{dir: t.TempDir(), text: shared(db, "two")}
	sleeper.begin(t)
	until(t, "it serves", func() bool { return sleeper.state(t) == "serves" })
	other.begin(t)
	until(t, "the other one waits", func() bool { return other.state(t) == "standby of one" })
	if err := sleeper.cmd.Process.Signal(syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	until(t, "the other one serves", func() bool { return other.state(t) == "serves" })
	if err := sleeper.cmd.Process.Signal(syscall.SIGCONT); err != nil {
		t.Fatal(err)
	}
	until(t, "it waits", func() bool { return sleeper.state(t) == "standby of two" })
	if got := other.state(t); got != "serves" {
		t.Errorf("the other one: %s", got)
	}
}

// TestRestrictionsOfOlderVersion: a ban that an older version kept in the journal of one shard holds,
// on every machine, until it is lifted.
func TestRestrictionsOfOlderVersion(t *testing.T) {
	t.Parallel()
	db := pgtest.Migrated(t)
	set := func(k admin.TextStore, name, text string) {
		t.Helper()
		if err := k.Amend(t.Context(), name, func(string) (string, error) { return text, nil }); err != nil {
			t.Fatal(err)
		}
	}
	h := serve(t, Options{}, shared(db, "one")).ready()
	name := h.first().name
	set(admin.InJournal(h.partitionOf(0).runner), name, `{"Revision": 1, "Bans": [{"Whom": "127.0.0.0/8", "Text": "spam"}]}`)
	h.end()
	for _, node := range []string{"one", "two"} {
		h = serve(t, Options{}, shared(db, node)).ready()
		if turnedAway(t, h.address()) == nil {
			t.Errorf("on machine %s the ban does not hold", node)
		}
		if node == "one" {
			h.end()
		}
	}
	set(sharedRestrictions{h.Server}, name, `{"Revision": 2}`)
	until(t, "the ban is lifted", func() bool { return turnedAway(t, h.address()) == nil })
	h.end()
	h = serve(t, Options{}, shared(db, "one")).ready()
	if err := turnedAway(t, h.address()); err != nil {
		t.Errorf("the ban is back: %v", err)
	}
}

// TestStandbyStops: a standby stops in order when told to. What it left in the journal when
// it was killed before belongs to the other machine now: it may have another journal next.
func TestStandbyStops(t *testing.T) {
	t.Parallel()
	db := pgtest.Migrated(t)
	serve(t, Options{Lease: long}, shared(db, "one")).ready()
	second := machine{dir: t.TempDir(), text: shared(db, "two")}
	killed := journalMarker{location: sharedJournalLocation(loadConf(t, second.text)), id: "0"}
	if err := killed.write(second.dir); err != nil {
		t.Fatal(err)
	}
	second.beginLong(t)
	until(t, "it waits", func() bool { return second.state(t) == "standby of one" })
	second.child.end()
	killed.emptied = true
	if m, err := readMarker(second.dir); err != nil || m != killed {
		t.Errorf("the mark: got %+v, %v, want %+v", m, err, killed)
	}
}
