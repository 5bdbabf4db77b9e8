package server

import (
	"context"
	"fmt"
	"slices"
	"testing"

	"wamble"
	"wamble/internal/admin"
	"wamble/internal/store"
	"wamble/internal/store/postgres"
	"wamble/internal/store/postgres/pgtest"
)

// topology is a way to run profiles that share their players.
type topology struct {
	name    string
	options string // of each server
	// places is the number of parts that players can be in: profiles, shards or machines.
	places   int
	machines int // that share a journal and its database; 0: one server with its own journal
}

// The topologies. What does not depend on them is a row of behaviours (servers in this
// process) or of interruptions (servers in processes of their own).
var (
	oneLoop     = &topology{name: "one loop", places: 2} // two players are in one place
	twoProfiles = &topology{name: "two profiles", places: 2,
		options: `(def advertise 1) (defprofile red ((def advertise 1))) (defprofile blue ((def advertise 1)))`}
	fourShards  = &topology{name: "four shards", places: 4, options: `(def shards 4)`}
	withStandby = &topology{name: "a standby", places: 1, machines: 2}
	twoMachines = &topology{name: "two machines", places: 2, machines: 2, options: clusterOptions}
)

// clusterOptions let machines share a profile of four shards.
const clusterOptions = "(def shards 4) (def min-boards 32) (def cluster-address \"127.0.0.1:0\")\n"

// clusterConf is the configuration of one machine of a cluster with four shards, whose
// machines reach each other.
func clusterConf(db postgres.Options, node string) string { return shared(db, node) + clusterOptions }

// deployment is the servers of a topology in this process.
type deployment struct {
	*topology
	*testing.T            // of the behaviour that runs
	whole      *testing.T // of the deployment
	ctx        context.Context
	servers    []*here
	texts      []string // the configuration of each
}

// deploy starts the servers of a topology, with more options, and waits until all serve. The
// games are in PostgreSQL if machines share them or if the test asks for it.
func (tp *topology) deploy(t *testing.T, inPostgres bool, more string) *deployment {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 10*patience)
	t.Cleanup(cancel)
	d := &deployment{topology: tp, T: t, whole: t, ctx: ctx}
	switch {
	case tp.machines > 0:
		db := pgtest.Migrated(t)
		for i := range tp.machines {
			d.texts = append(d.texts, shared(db, string(rune('a'+i)))+tp.options+more)
		}
	case inPostgres:
		d.texts = []string{conf(postgresConf(pgtest.Migrated(t)) + more + tp.options)}
	default:
		d.texts = []string{conf(more + tp.options)}
	}
	for _, text := range d.texts {
		d.servers = append(d.servers, serve(t, Options{}, text))
	}
	d.ready()
	return d
}

// ready waits until all servers serve, and machines are connected with each other.
func (d *deployment) ready() {
	d.Helper()
	if d.machines > 0 {
		inHalves(d.T, d.servers[0], d.servers[1])
		sharing(d.T, d.servers[0], d.servers[1].dir)
		return
	}
	d.servers[0].ready()
}

// restart stops all servers and starts them again.
func (d *deployment) restart() {
	d.Helper()
	for _, h := range d.servers {
		h.end()
	}
	for i, h := range d.servers {
		d.servers[i] = serve(d.whole, Options{Dir: h.dir}, d.texts[i])
	}
	d.ready()
}

// address returns where players reach a place.
func (d *deployment) address(place int) string {
	switch d.topology {
	case twoProfiles:
		return d.servers[0].at([]string{"red", "blue"}[place])
	case twoMachines:
		return d.servers[place].address()
	}
	return d.servers[0].address()
}

// join lets a new player join in a place.
func (d *deployment) join(place int) (p *player) {
	d.Helper()
	until(d, "a player comes to the place", func() bool {
		p = join(d, d.address(place), wamble.Token{})
		return d.topology != fourShards || p.c.Token().Shard(4) == place
	})
	return p
}

// joinAll lets a new player join in each place.
func (d *deployment) joinAll() (list []*player) {
	d.Helper()
	for place := range d.places {
		list = append(list, d.join(place))
	}
	return list
}

// first and last return the servers at which a host gives commands.
func (d *deployment) first() *here { return d.servers[0] }
func (d *deployment) last() *here  { return d.servers[len(d.servers)-1] }

// games returns the store of the games.
func (d *deployment) games() store.Store { return d.first().first().store }

// holds fails the test unless ok is true at once; if there are several machines, soon.
func (d *deployment) holds(what string, ok func() bool) {
	d.Helper()
	if d.machines > 0 {
		until(d, what, ok)
	} else if !ok() {
		d.Errorf("not at once: %s", what)
	}
}

// awaitStored waits until the store has everything, and fails the test if it has refused
// something.
func (d *deployment) awaitStored() {
	d.Helper()
	for _, h := range d.servers {
		until(d, "the store has everything", func() bool { return h.pending() == 0 })
		for _, p := range h.partitions() {
			if n := p.runner.Stats().DeadLetters; n > 0 {
				d.Errorf("%d messages were refused by the store", n)
			}
		}
	}
}

// dossier returns what the server has about a player.
func (d *deployment) dossier(whom string) (list []seen) {
	if admin.Ask(d.ctx, d.last().dir, "player", admin.Arguments{Whom: whom}, &list) != nil {
		return nil
	}
	return list
}

// partitions returns the partitions of the journal that a server has.
func (h *here) partitions() (list []*partition) {
	for i := range h.partitionCount() {
		if p := h.partitionOf(i); p != nil && !slices.Contains(list, p) {
			list = append(list, p)
		}
	}
	return list
}

// ownedPartitions returns the partitions that a machine reports as its own.
func ownedPartitions(t testing.TB, dir string) (parts []int) {
	var s admin.Status
	if err := admin.Ask(t.Context(), dir, "status", nil, &s); err != nil {
		return nil
	}
	for i, p := range s.Parts {
		if p.Here {
			parts = append(parts, i)
		}
	}
	return parts
}

// untilOwned waits until a machine has so many partitions.
func untilOwned(t testing.TB, n int, dirs ...string) {
	t.Helper()
	for _, dir := range dirs {
		until(t, fmt.Sprintf("a machine has %d partitions", n),
			func() bool { return len(ownedPartitions(t, dir)) == n })
	}
}

// twoServers starts two machines of a cluster in this process, with more configuration for
// both, and waits until each has two partitions and serves.
func twoServers(t *testing.T, db postgres.Options, more string) (a, b *here) {
	t.Helper()
	a = serve(t, Options{}, clusterConf(db, "a")+more)
	b = serve(t, Options{}, clusterConf(db, "b")+more)
	inHalves(t, a, b)
	return a, b
}

// inHalves waits until both machines have two partitions each, and serve.
func inHalves(t *testing.T, a, b *here) {
	t.Helper()
	until(t, "both machines have two partitions", func() bool {
		return len(ownedPartitions(t, a.dir)) == 2 && len(ownedPartitions(t, b.dir)) == 2
	})
	until(t, "both serve", func() bool { return a.Status(t.Context()).Ready() && b.Status(t.Context()).Ready() })
}
