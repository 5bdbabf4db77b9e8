//go:build proof && linux

package server

import (
	"fmt"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"wamble"
	"wamble/internal/admin"
	"wamble/internal/prooftest"
	"wamble/internal/store/postgres/pgtest"
	"wamble/internal/watchtest"
)

// continent is a fleet whose machines form a cluster: each has an address of its own for
// players, and sends them the addresses of the others.
type continent struct{ *fleet }

// partsOfContinent is the number of shards of the cluster.
const partsOfContinent = 8

// newContinent starts the machines of a cluster.
func newContinent(t testing.TB, n, players int) *continent {
	t.Helper()
	port := freePorts(t, 1)[0]
	c := &continent{fleet: newRealm(t, n, port)}
	var fronts []string
	for i, m := range c.machines {
		front := netip.AddrFrom4([4]byte{127, 0, 23, byte(i + 1)})
		newSwitchboard(t, c.players, netip.AddrPortFrom(front, port),
			netip.AddrPortFrom(netip.MustParseAddr(m.ip), port))
		fronts = append(fronts, front.String())
	}
	for _, m := range c.machines {
		// A shard has one or two players here: while one of them waits for a machine the
		// other gets a new board with every move, because players answer only others' moves.
		m.text += fmt.Sprintf("(def max-boards 1000000) (def shards %d) (def cluster-address \"%s:8886\") (def cluster-endpoints %q)\n", partsOfContinent, m.ip, strings.Join(fronts, " "))
		c.begin(m)
	}
	c.whole()
	c.crowd = &crowd{think: 5 * time.Millisecond} // the machines share two cores here
	for i := range players {
		p := join(t, fmt.Sprintf("udp://%s:%d", fronts[i%n], port), wamble.Token{})
		p.crowd = c.crowd
		c.crowd.players = append(c.crowd.players, p)
	}
	c.crowd.play()
	c.moved()
	return c
}

// begin starts a machine, as a process that can hand over.
func (c *continent) begin(m *machine) {
	c.t.Helper()
	if err := os.WriteFile(filepath.Join(m.dir, "test.conf"), []byte(m.text), 0o600); err != nil {
		c.t.Fatal(err)
	}
	if err := os.Chmod(m.dir, 0o700); err != nil {
		c.t.Fatal(err)
	}
	log := &watchtest.Log{}
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), asImage+"="+m.dir)
	cmd.Stderr = log
	if err := m.start(cmd); err != nil {
		c.t.Fatal(err)
	}
	m.child = &child{t: c.t, log: log, cmd: cmd}
	c.t.Cleanup(func() {
		if cmd.ProcessState == nil {
			cmd.Process.Kill()
			cmd.Wait()
		}
		if strings.Contains(log.String(), "DATA RACE") {
			c.t.Errorf("the race detector has found something in %s:\n%s", m.name, log)
		}
	})
}

// spread returns the machine of each partition, by the reports of the running ones; "": none,
// or two.
func (c *continent) spread() (at [partsOfContinent]string) {
	for _, m := range c.machines {
		if m.asleep || m.child == nil || m.cmd.ProcessState != nil {
			continue
		}
		for _, part := range ownedPartitions(c.t, m.dir) {
			if at[part] != "" {
				at[part] = "two"
			} else {
				at[part] = m.name
			}
		}
	}
	for part := range at {
		if at[part] == "two" {
			at[part] = ""
		}
	}
	return at
}

// whole waits until one machine has each partition, and all of them serve, or wait for
// partitions: one that comes and goes does so for up to two minutes.
func (c *continent) whole() {
	c.t.Helper()
	until(c.t, "each part has its machine", func() bool {
		for _, m := range c.machines {
			if !m.asleep && m.state(c.t) != "serves" && !m.waits(c.t) {
				return false
			}
		}
		at := c.spread()
		return !slices.Contains(at[:], "")
	})
}

// waits reports whether a machine reports that others have all partitions.
func (m *machine) waits(t testing.TB) bool {
	var s admin.Status
	err := admin.Ask(t.Context(), m.dir, "status", nil, &s)
	return err == nil && len(s.Parts) == partsOfContinent &&
		!slices.ContainsFunc(s.Parts, func(p admin.PartStatus) bool { return p.Here || p.Node == "" })
}

// victim returns a machine that has partitions.
func (c *continent) victim() *machine {
	var busy []*machine
	at := c.spread()
	for _, m := range c.machines {
		if slices.Contains(at[:], m.name) {
			busy = append(busy, m)
		}
	}
	if len(busy) == 0 {
		c.t.Fatal("no machine has a part")
	}
	return busy[c.rng.IntN(len(busy))]
}

// end lets the players finish, and compares: nobody has the board of another, no session has
// two, each board is in one of the shards, which is that of its holder, and every board that
// was sent arrives.
func (c *continent) end() {
	c.t.Helper()
	c.crowd.finish()
	arrived(c.t, c.database())
	holders := map[wamble.BoardID]int{}
	for _, p := range c.crowd.players {
		if b := p.c.Board(); b.ID != 0 {
			holders[b.ID]++
		}
	}
	for id, n := range holders {
		if n > 1 {
			c.t.Errorf("%d players have board %d", n, id)
		}
	}
	for _, m := range c.machines {
		m.child.end()
	}
	db := c.database()
	store := openPostgres(c.t, db)
	c.crowd.verify(c.t, store)
	c.crowd.checkPlaces(c.t, store, partsOfContinent)
	for what, query := range map[string]string{
		"sessions have several boards": `SELECT count(*) FROM (SELECT 1 FROM reservations GROUP BY session_id HAVING count(*) > 1) s`,
		"boards are in no shard": fmt.Sprintf(`SELECT count(*) FROM boards WHERE shard NOT BETWEEN 0 AND %d`,
			partsOfContinent-1),
		"boards arrive elsewhere":  `SELECT count(*) FROM arrivals a JOIN boards b ON b.id = a.board_id WHERE (a.shard, a.version) <> (b.shard, b.shard_version)`,
		"boards have a move twice": `SELECT count(*) FROM (SELECT 1 FROM moves GROUP BY board_id, move_number HAVING count(*) > 1) s`,
	} {
		if n := pgtest.Query[int](c.t, db, query); n > 0 {
			c.t.Errorf("%d %s", n, what)
		}
	}
	c.t.Logf("%d boards have travelled",
		pgtest.Query[int](c.t, db, `SELECT count(*) FROM boards WHERE shard_version > 0`))
}

// TestClusterFleet: machines of a cluster crash, are stopped, are cut off and are upgraded
// while everybody plays, and partitions move between them (testdata/faults/parts). Every
// accepted move is in the database once, each board with one player in one shard, and
// everybody moves again. With WAMBLE_SOAK nobody waits for longer than five seconds when a
// machine is lost.
func TestClusterFleet(t *testing.T) {
	p := prooftest.Needs(t, "root, minutes and a machine for itself")
	c := newContinent(t, 3, 12)
	lost := playAll(t, "parts", c.fleet, c)
	c.end()
	c.measured(p, lost...)
}
