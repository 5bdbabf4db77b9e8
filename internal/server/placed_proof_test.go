//go:build proof && linux

package server

import (
	"syscall"
	"testing"
	"time"

	"wamble/internal/loader"
	"wamble/internal/prooftest"
	"wamble/internal/store/postgres"
	"wamble/internal/store/postgres/pglog"
	"wamble/internal/store/postgres/pgtest"
)

// arrived waits until every board that was sent to another shard is there.
func arrived(t testing.TB, db postgres.Options) {
	t.Helper()
	until(t, "no board is under way", func() bool { return pgtest.Query[int](t, db, `SELECT count(*) FROM arrivals`) == 0 })
}

// TestPlacedKill: one of two machines that serve players is killed. The other goes on with
// its partitions, and everybody plays again; when it comes back it gets its share again.
// Every accepted move is in the database once, and every board in one shard.
func TestPlacedKill(t *testing.T) {
	prooftest.Needs(t, "a machine for itself")
	db := pgtest.Empty(t)
	machines := placedMachines(t, db, pglog.DefaultLease, "127.0.0.41", "127.0.0.42")
	share(t, 2, machines...)
	c := gather(t, machines[0].ip, 3)
	for _, p := range gather(t, machines[1].ip, 3).players {
		p.crowd = c
		c.players = append(c.players, p)
	}
	f := &fleet{t: t, crowd: c, waits: map[string][]time.Duration{}}
	c.play()
	f.moved()
	c.more(t, 500)
	began := time.Now()
	machines[1].kill()
	share(t, 4, machines[0])
	serves := time.Since(began)
	f.moved()
	t.Logf("measured: after a kill the other machine served all parts after %v, and everybody moved again after %v", serves.Round(time.Millisecond), time.Since(began).Round(time.Millisecond))
	machines[1].begin(t)
	share(t, 2, machines...)
	f.suffer("parts moved back", func() {})
	c.finish()
	arrived(t, db)
	for _, m := range machines {
		m.child.end()
	}
	store := openPostgres(t, db)
	c.verify(t, store)
	c.checkPlaces(t, store, 4)
	if n := pgtest.Query[int](t, db, `SELECT count(*) FROM boards WHERE shard NOT BETWEEN 0 AND 3`); n > 0 {
		t.Errorf("%d boards are in no shard", n)
	}
	if n := pgtest.Query[int](t, db, `SELECT count(*) FROM boards WHERE shard_version > 0`); n == 0 {
		t.Error("no board has travelled")
	}
}

// TestPlacedPause: a machine that is stopped for longer than its lease loses its partitions,
// and its writes after that are refused; the same process gets its share again.
func TestPlacedPause(t *testing.T) {
	prooftest.Needs(t, "a machine for itself")
	db := pgtest.Empty(t)
	machines := placedMachines(t, db, pglog.DefaultLease, "127.0.0.43", "127.0.0.44")
	share(t, 2, machines...)
	c := gather(t, machines[0].ip, 2)
	for _, p := range gather(t, machines[1].ip, 2).players {
		p.crowd = c
		c.players = append(c.players, p)
	}
	f := &fleet{t: t, crowd: c, waits: map[string][]time.Duration{}}
	c.play()
	f.moved()
	f.suffer("pause", func() { f.signal(machines[1], syscall.SIGSTOP) })
	share(t, 4, machines[0])
	f.signal(machines[1], syscall.SIGCONT)
	share(t, 2, machines...)
	f.suffer("awake", func() {})
	c.finish()
	for _, m := range machines {
		m.child.end()
	}
	c.verify(t, openPostgres(t, db))
}

// TestPlacedOneAddress: clients that know one address and never ask for another, as those of
// the original do, play on when their partition goes to another machine: the one they know
// forwards their packets.
func TestPlacedOneAddress(t *testing.T) {
	prooftest.Needs(t, "a machine for itself: which shards have players depends on how fast they open")
	db := pgtest.Migrated(t)
	a := serve(t, Options{}, placedConf(db, "a")).ready()
	until(t, "a has all parts", func() bool { return len(held(t, a.dir)) == 4 })
	var loads []*load
	for len(loads) < 4 { // later players find more shards open
		loads = append(loads, startLoad(t, loader.Options{Server: a.Addresses().UDP, Clients: playersPerShard}))
	}
	b := serve(t, Options{}, placedConf(db, "b")).ready()
	untilShared(t, a.dir, b.dir)
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
