package server

import (
	"context"
	"errors"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"time"

	"wamble"
	"wamble/internal/admin"
	"wamble/internal/loop"
	"wamble/internal/profile"
	"wamble/internal/store/postgres"
	"wamble/internal/store/postgres/pglog"
	"wamble/internal/store/postgres/pgtest"
	"wamble/internal/watchtest"
	"wamble/wire"
)

// TestUnconnected: machines that do not reach each other cannot share a cluster. One has all
// partitions, the other waits, and gets all when the first one stops.
func TestUnconnected(t *testing.T) {
	t.Parallel()
	db := pgtest.Migrated(t)
	conf := func(node string) string { return shared(db, node) + "(def shards 4) (def min-boards 32)\n" }
	a := serve(t, Options{}, conf("a")).ready()
	untilOwned(t, 4, a.dir)
	c := gather(t, a.address(), 4)
	c.play()
	b := serve(t, Options{}, conf("b"))
	until(t, "a sees b", func() bool { return len(a.partitionOwners.LiveNodes()) == 2 })
	c.more(t, 400)
	if b.ready(); !a.Profiles()[0].Local || b.Profiles()[0].Local {
		t.Errorf("the profile is reported on a: %v, on b: %v, want only a", a.Profiles()[0].Local,
			b.Profiles()[0].Local)
	}
	if got := len(ownedPartitions(t, a.dir)); got != 4 {
		t.Errorf("a has %d parts", got)
	}
	c.finish()
	a.end()
	untilOwned(t, 4, b.dir)
	b.end()
	c.verify(t, openPostgres(t, db))
}

// TestPartitionsStopWithoutDatabase: a machine that is stopped right after it has lost its
// connections with PostgreSQL ends in order.
func TestPartitionsStopWithoutDatabase(t *testing.T) {
	t.Parallel()
	db := pgtest.Migrated(t)
	s := serve(t, Options{}, clusterConf(db, "a")).ready()
	until(t, "all parts serve players", func() bool { return s.partitionOwners.AllOwned() && !s.partitionsMoving() })
	s.rebalancer.stop() // stopped, so that it does not open them again
	pgtest.Execute(t, db, `SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()`)
	s.end()
}

// TestPartitionsHandoffWaits: a handoff waits for an arriving partition, which holds what a
// reload would hold; it does not wait for a reload.
func TestPartitionsHandoffWaits(t *testing.T) {
	t.Parallel()
	s := serve(t, Options{}, clusterConf(pgtest.Migrated(t), "a")).ready()
	until(t, "all parts serve players", func() bool { return !s.partitionsMoving() })
	s.running.changeMu.Lock()
	if s.tryBeginChange(t.Context()) {
		t.Fatal("a change begins beside a reload")
	}
	s.running.changeMu.Unlock()
	var m *moves
	until(t, "a partition moves", func() bool {
		m = s.beginMoves()
		return m != nil
	})
	time.AfterFunc(50*time.Millisecond, m.end)
	if !s.tryBeginChange(t.Context()) {
		t.Fatal("a handoff is refused while a part comes")
	}
	s.endChange()
}

// TestPartitionsReloadClaimsNothing: a machine in a reload claims nothing of a machine that is gone,
// because it could not serve it, and everything when the reload is over.
func TestPartitionsReloadClaimsNothing(t *testing.T) {
	t.Parallel()
	db := pgtest.Migrated(t)
	a := serve(t, Options{}, clusterConf(db, "a")).ready()
	untilOwned(t, 4, a.dir)
	b := serve(t, Options{}, clusterConf(db, "b"))
	until(t, "b knows who has the parts", func() bool { return b.partitionOwners.AllOwned() })
	until(t, "no part moves to b", func() bool {
		return !b.partitionsMoving() && b.running.changeMu.TryLock()
	})
	had := len(b.runners())
	until(t, "b says that it reloads", func() bool {
		return pgtest.Query[int](t, db, `SELECT count(*)::int FROM shard_nodes WHERE node LIKE 'b/%' AND note LIKE '%/changing%'`) == 1
	})
	a.end()
	for range 5 {
		_, beaten := b.sharedJournal.log.ClusterView(b.sharedJournal.name, 4)
		<-beaten
	}
	if got := len(b.runners()); got != had {
		t.Errorf("it has claimed %d parts in its reload", got-had)
	}
	b.endChange()
	untilOwned(t, 4, b.dir)
	b.end()
}

// TestTwoMachinesHandoffSchema: one of two machines is replaced by a process that adds to the
// database. The older one plays on beside it, and takes over its partitions.
func TestTwoMachinesHandoffSchema(t *testing.T) {
	t.Parallel()
	db := pgtest.Migrated(t)
	a := serve(t, Options{}, clusterConf(db, "a")).ready()
	b := spawnImage(t, staying(t, clusterConf(db, "b")))
	untilOwned(t, 2, a.dir, b.dir)
	c, guests := gather(t, a.address(), 2), gather(t, b.address(), 2)
	c.think, guests.think = 10*time.Millisecond, 10*time.Millisecond
	c.play()
	guests.play()
	guests.more(t, 20)
	b.write("extra.sql", "-- additive\nCREATE TABLE extra (id BIGINT PRIMARY KEY)")
	if _, err := b.handOff(""); err != nil {
		t.Fatalf("handoff: %v", err)
	}
	until(t, "the database has the newer schema", func() bool {
		return pgtest.Query[int](t, db, `SELECT count(*) FROM schema_migrations WHERE name = 'extra.sql'`) == 1
	})
	c.more(t, 20)
	guests.more(t, 20)
	guests.finish()
	b.end()
	untilOwned(t, 4, a.dir)
	c.more(t, 20)
	c.finish()
	a.end()
	all := &crowd{players: append(c.players, guests.players...)}
	all.verify(t, openPostgres(t, db))
}

// TestTwoMachinesDrain: while one machine drains the other takes new players, and a host's
// command on that one does not end the drain.
func TestTwoMachinesDrain(t *testing.T) {
	t.Parallel()
	a, b := twoServers(t, pgtest.Migrated(t), "")
	onA, onB := join(t, a.address(), wamble.Token{}), join(t, b.address(), wamble.Token{})
	a.command("drain", admin.Arguments{On: true})
	a.command("announce", admin.Arguments{Text: "a drains"})
	notice(t, onB, wire.NoticeAnnouncement)
	if turnedAway(t, a.address()) == nil || turnedAway(t, b.address()) != nil {
		t.Error("the machine that drains takes somebody new, or the other one nobody")
	}
	b.command("brownout", admin.Arguments{Brownout: profile.Brownout{NoPredictions: true}})
	b.command("announce", admin.Arguments{Text: "no predictions"})
	for notice(t, onA, wire.NoticeAnnouncement) != "no predictions" {
	}
	if turnedAway(t, a.address()) == nil {
		t.Error("what a host says on another machine ends the drain")
	}
	a.command("drain", admin.Arguments{On: false})
	for _, h := range []*here{a, b} {
		if up, why := h.readiness(); !up || !strings.Contains(why, "parts of a") || !strings.Contains(why, "b") {
			t.Errorf("/readyz: %v, %q", up, why)
		}
	}
}

// TestTwoMachinesRestrictions: a lasting restriction holds on every machine because it is stored,
// though the machine that ordered it crashed before it could send it; two announcements at
// once do not withdraw each other.
func TestTwoMachinesRestrictions(t *testing.T) {
	t.Parallel()
	db := pgtest.Migrated(t)
	a, b := twoServers(t, db, "")
	kept := func(text string) {
		t.Helper()
		if err := (sharedRestrictions{a.Server}).Amend(t.Context(), a.first().name,
			func(string) (string, error) { return text, nil }); err != nil {
			t.Fatal(err)
		}
	}
	kept(`{"Bans": [{"Whom": "127.0.0.0/8", "Text": "spam"}]}`)
	for _, h := range []*here{a, b} {
		until(t, "the ban holds", func() bool { return turnedAway(t, h.address()) != nil })
	}
	kept(`{}`)
	for _, h := range []*here{a, b} {
		until(t, "the ban is lifted", func() bool { return turnedAway(t, h.address()) == nil })
	}

	on := map[*here]*player{a: join(t, a.address(), wamble.Token{}), b: join(t, b.address(), wamble.Token{})}
	var both sync.WaitGroup
	for _, h := range []*here{a, b} {
		both.Go(func() {
			h.command("announce", admin.Arguments{Text: "said on " + h.address(), Until: time.Now().Add(time.Hour)})
		})
	}
	both.Wait()
	a.command("announce", admin.Arguments{Text: "the end"})
	for _, p := range on {
		for said, n := "", 0; said != "the end"; n++ {
			if said = notice(t, p, wire.NoticeAnnouncement); strings.HasPrefix(said, "withdrawn") || n > 2 {
				t.Fatalf("somebody is told %q", said)
			}
		}
	}
	for _, h := range []*here{a, b} {
		until(t, "both stay", func() bool { return len(h.host.Global.Announced()) == 2 })
	}
}

// TestTwoMachinesOtherShards: a machine with another number of shards than the cluster is refused,
// with advice, before it claims a partition or is seen by the others, also one that would
// wait as a standby.
func TestTwoMachinesOtherShards(t *testing.T) {
	t.Parallel()
	db := pgtest.Migrated(t)
	a := serve(t, Options{}, clusterConf(db, "a")).ready()
	untilOwned(t, 4, a.dir)
	const epochs = `SELECT string_agg(shard || ' ' || epoch || ' ' || holder, ', ' ORDER BY shard) FROM shards`
	before := pgtest.Query[string](t, db, epochs)
	for _, n := range []string{"1", "2", "8"} {
		text := strings.Replace(clusterConf(db, "b"), "(def shards 4)", "(def shards "+n+")", 1)
		s, err := Open(Options{Config: loadConf(t, text), Dir: t.TempDir()})
		if err == nil {
			s.Close()
		}
		if !errors.Is(err, loop.ErrShards) ||
			!strings.Contains(err.Error(), "on all of them and run 'wamble shards "+n+" --profile default'") {
			t.Fatalf("with %s shards: got %v, want it to be refused with advice", n, err)
		}
	}
	if n := pgtest.Query[int](t, db, `SELECT count(*)::int FROM shard_nodes WHERE node LIKE 'b/%'`); n > 0 {
		t.Error("it has told the others that it is there")
	}
	if now := pgtest.Query[string](t, db, epochs); now != before {
		t.Errorf("the parts were\n%s\nand are\n%s", before, now)
	}
}

// TestTwoMachinesShardsFoundLate: a machine that finds out only after claiming a partition that
// the cluster has another number of shards ends, and the partition returns to a serving
// machine.
func TestTwoMachinesShardsFoundLate(t *testing.T) {
	t.Parallel()
	db := pgtest.Migrated(t)
	a := serve(t, Options{}, clusterConf(db, "a")).ready()
	untilOwned(t, 4, a.dir)
	s, err := Open(Options{Config: loadConf(t, clusterConf(db, "b")), Dir: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	pgtest.Execute(t, db, `UPDATE worlds SET shards = 8`)
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	if err := s.Run(ctx); !errors.Is(err, loop.ErrShards) {
		t.Fatalf("got %v, want it to end with %v", err, loop.ErrShards)
	}
	pgtest.Execute(t, db, `UPDATE worlds SET shards = 4`)
	until(t, "a serves all parts",
		func() bool { return len(ownedPartitions(t, a.dir)) == 4 && a.Status(t.Context()).Ready() })
}

// TestDeposedWords: a machine that has lost one partition of several does not report that it
// becomes a standby.
func TestDeposedWords(t *testing.T) {
	t.Parallel()
	db := postgres.Options{Host: "127.0.0.1", Port: 1, User: "wamble", Name: "wamble"}
	for text, want := range map[string]string{
		clusterConf(db, "a"): "another machine has taken over a part of the world; this one goes on with the others",
		shared(db, "a"):      "another machine has taken over; this one becomes a standby",
	} {
		log := &watchtest.Log{}
		s := &Server{o: Options{Config: loadConf(t, text)}, log: slog.New(slog.NewTextHandler(log, nil))}
		p := &partition{s: s, name: "main", deposed: make(chan struct{})}
		if p.depose(&pglog.HeldError{Holder: "b"}); !strings.Contains(log.String(), want) {
			t.Errorf("got %s, want %q", log, want)
		}
	}
}

// unjoined is the configuration of a machine that others do not reach: one has all
// partitions.
func unjoined(db postgres.Options, node string) string { return shared(db, node) + "(def shards 2)\n" }

// TestPartitionsHandoffOfNone: a machine without partitions hands over, and gets all of them when
// the other one stops.
func TestPartitionsHandoffOfNone(t *testing.T) {
	t.Parallel()
	db := pgtest.Migrated(t)
	a := serve(t, Options{}, unjoined(db, "a")).ready()
	untilOwned(t, 2, a.dir)
	b := spawnImage(t, staying(t, unjoined(db, "b")))
	r, err := b.handOff("")
	if err != nil {
		t.Fatalf("handoff: %v", err)
	}
	if r.Failure != "" || len(ownedPartitions(t, b.dir)) > 0 {
		t.Errorf("handoff: got %+v, and parts %v", r, ownedPartitions(t, b.dir))
	}
	a.end()
	untilOwned(t, 2, b.dir)
	if !join(t, b.address(), wamble.Token{}).move(t.Context()) {
		t.Error("nobody can move")
	}
	b.end()
}
