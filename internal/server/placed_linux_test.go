package server

import (
	"context"
	"crypto/ed25519"
	"encoding/hex"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"wamble"
	"wamble/internal/host"
	"wamble/internal/profile"
	"wamble/internal/store/postgres"
	"wamble/internal/store/postgres/pgtest"
	"wamble/wire"
)

// placedConf is the configuration of one machine of a cluster with four shards, whose
// machines reach each other.
func placedConf(db postgres.Options, node string) string {
	return shared(db, node) + "(def shards 4) (def min-boards 32) (def cluster-address \"127.0.0.1:0\")\n"
}

// held returns the partitions that a machine reports as its own.
func held(t testing.TB, dir string) (parts []int) {
	var s host.Status
	if err := host.Ask(t.Context(), dir, "status", nil, &s); err != nil {
		return nil
	}
	for i, p := range s.Parts {
		if p.Here {
			parts = append(parts, i)
		}
	}
	return parts
}

// untilShared waits until two machines have two parts each.
func untilShared(t testing.TB, a, b string) {
	t.Helper()
	until(t, "both have two parts", func() bool { return len(held(t, a)) == 2 && len(held(t, b)) == 2 })
}

// placedPair starts two machines of a cluster, with more configuration for both, and waits
// until each has two partitions and serves.
func placedPair(t *testing.T, db postgres.Options, more string) (a, b *here) {
	t.Helper()
	a = serve(t, Options{}, placedConf(db, "a")+more)
	b = serve(t, Options{}, placedConf(db, "b")+more)
	inHalves(t, a, b)
	return a, b
}

// inHalves waits until both machines have two parts each, and serve.
func inHalves(t *testing.T, a, b *here) {
	t.Helper()
	untilShared(t, a.dir, b.dir)
	until(t, "both serve", func() bool { return a.Status(t.Context()).Ready() && b.Status(t.Context()).Ready() })
}

// TestPlaced: a single machine has all partitions. A second one gets its share, one partition
// after another, and both serve players of their own; boards travel between them. When one
// stops in order, the other has all again.
func TestPlaced(t *testing.T) {
	t.Parallel()
	db := pgtest.Empty(t)
	a := serve(t, Options{}, placedConf(db, "a")).ready()
	until(t, "a has all parts", func() bool { return len(held(t, a.dir)) == 4 })
	alone := gather(t, a.address(), 4)
	alone.play()
	alone.more(t, 40)
	b := serve(t, Options{}, placedConf(db, "b")).ready()
	untilShared(t, a.dir, b.dir)
	all := append(held(t, a.dir), held(t, b.dir)...)
	if slices.Sort(all); fmt.Sprint(all) != "[0 1 2 3]" {
		t.Errorf("the parts are %v", all)
	}
	moved := 0
	for _, p := range alone.players {
		if !a.partitionOwners.Owner(p.c.Token().Shard(4)).Local {
			moved++
		}
	}
	t.Logf("%d of %d players are on the other machine now", moved, len(alone.players))
	guests := gather(t, b.address(), 4)
	for _, p := range guests.players {
		if shard := p.c.Token().Shard(4); !slices.Contains(held(t, b.dir), shard) {
			t.Errorf("a player who came to b is in shard %d", shard)
		}
	}
	guests.play()
	guests.more(t, 400)
	until(t, "boards have travelled", func() bool {
		return pgtest.Query[int](t, db, `SELECT count(*) FROM boards WHERE shard_version > 0`) > 0
	})
	guests.finish()
	began := time.Now()
	b.end()
	until(t, "a has all parts", func() bool { return len(held(t, a.dir)) == 4 })
	t.Logf("a had all parts after %v", time.Since(began))
	alone.more(t, 40)
	alone.finish()
	a.end()
	store := openPostgres(t, db)
	both := &crowd{players: append(alone.players, guests.players...)}
	both.verify(t, store)
	if strings.Contains(a.log.String(), "damaged") {
		t.Error("a board is damaged")
	}
}

// TestUnconnected: machines that do not reach each other cannot share a cluster. One has all
// partitions, the other waits, and gets all when the first one stops.
func TestUnconnected(t *testing.T) {
	t.Parallel()
	db := pgtest.Migrated(t)
	conf := func(node string) string { return shared(db, node) + "(def shards 4) (def min-boards 32)\n" }
	a := serve(t, Options{}, conf("a")).ready()
	until(t, "a has all parts", func() bool { return len(held(t, a.dir)) == 4 })
	c := gather(t, a.address(), 4)
	c.play()
	b := serve(t, Options{}, conf("b"))
	until(t, "a sees b", func() bool { return len(a.partitionOwners.LiveNodes()) == 2 })
	c.more(t, 400)
	if got := len(held(t, a.dir)); got != 4 {
		t.Errorf("a has %d parts", got)
	}
	c.finish()
	a.end()
	until(t, "b has all parts", func() bool { return len(held(t, b.dir)) == 4 })
	b.ready()
	b.end()
	c.verify(t, openPostgres(t, db))
}

// placedMachines starts machines at addresses of their own, and tells their clients all of
// them.
func placedMachines(t *testing.T, db postgres.Options, lease time.Duration, ips ...string) []*machine {
	t.Helper()
	port := freePorts(t, 1)[0]
	var machines []*machine
	for i, ip := range ips {
		text := strings.Replace(placedConf(db, fmt.Sprint("m", i+1)), "(def port 0)", fmt.Sprintf("(def port %d)", port), 1)
		text = strings.Replace(text, `(def listen-address "127.0.0.1")`, fmt.Sprintf("(def listen-address %q)", ip), 1)
		m := &machine{name: fmt.Sprint("m", i+1), ip: fmt.Sprintf("udp://%s:%d", ip, port), dir: t.TempDir(), lease: lease}
		m.text = text + fmt.Sprintf("(def cluster-endpoints %q)\n", strings.Join(ips, " "))
		m.begin(t)
		machines = append(machines, m)
	}
	t.Cleanup(func() {
		if t.Failed() {
			for _, m := range machines {
				t.Logf("the log of %s:\n%s", m.name, m.log)
			}
		}
	})
	return machines
}

// share waits until each machine has so many parts, and no part two of them.
func share(t *testing.T, want int, machines ...*machine) {
	t.Helper()
	until(t, fmt.Sprintf("everybody has %d parts", want), func() bool {
		seen := map[int]bool{}
		for _, m := range machines {
			parts := held(t, m.dir)
			if len(parts) != want || m.state(t) != "serves" {
				return false
			}
			for _, part := range parts {
				seen[part] = true
			}
		}
		return len(seen) == want*len(machines)
	})
}

// TestPlacedHandoff: a machine of several hands its partitions over to its next process.
func TestPlacedHandoff(t *testing.T) {
	t.Parallel()
	db := pgtest.Migrated(t)
	i := spawnImage(t, staying(t, placedConf(db, "one")))
	until(t, "it has all parts", func() bool { return len(held(t, i.dir)) == 4 })
	c := gather(t, i.address(), 4)
	c.play()
	c.more(t, 50)
	if _, err := i.handOff(""); err != nil {
		t.Fatalf("handoff: %v", err)
	}
	c.more(t, 50)
	until(t, "it has all parts", func() bool { return len(held(t, i.dir)) == 4 })
	c.finish()
	i.end()
	c.verify(t, openPostgres(t, db))
}

// TestPlacedStopWithoutDatabase: a machine that is stopped right after it has lost its
// connections with PostgreSQL ends in order.
func TestPlacedStopWithoutDatabase(t *testing.T) {
	t.Parallel()
	db := pgtest.Migrated(t)
	s := serve(t, Options{}, placedConf(db, "a")).ready()
	until(t, "all parts serve players", func() bool { return s.partitionOwners.AllOwned() && !s.partitionsMoving() })
	s.rebalancer.stop() // stopped, so that it does not open them again
	pgtest.Execute(t, db, `SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()`)
	s.end()
}

// TestPlacedHandoffWaits: a handoff waits for an arriving partition, which holds what a
// reload would hold; it does not wait for a reload.
func TestPlacedHandoffWaits(t *testing.T) {
	t.Parallel()
	s := serve(t, Options{}, placedConf(pgtest.Migrated(t), "a")).ready()
	until(t, "all parts serve players", func() bool { return !s.partitionsMoving() })
	s.running.changeMu.Lock()
	if s.tryBeginChange(t.Context()) {
		t.Fatal("a change begins beside a reload")
	}
	s.rebalancer.workerCount.Add(1)
	time.AfterFunc(50*time.Millisecond, func() {
		s.running.changeMu.Unlock()
		s.rebalancer.workerCount.Add(-1)
	})
	if !s.tryBeginChange(t.Context()) {
		t.Fatal("a handoff is refused while a part comes")
	}
	s.endChange()
}

// TestPlacedHandoffSchema: one of two machines is replaced by a process that adds to the
// database. The older one plays on beside it, and takes over its partitions.
func TestPlacedHandoffSchema(t *testing.T) {
	t.Parallel()
	db := pgtest.Migrated(t)
	a := serve(t, Options{}, placedConf(db, "a")).ready()
	b := spawnImage(t, staying(t, placedConf(db, "b")))
	untilShared(t, a.dir, b.dir)
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
	until(t, "the older one has all parts", func() bool { return len(held(t, a.dir)) == 4 })
	c.more(t, 20)
	c.finish()
	a.end()
	all := &crowd{players: append(c.players, guests.players...)}
	all.verify(t, openPostgres(t, db))
}

// TestPlacedPeople: the host's commands on one machine hold on all, and a player who logs in
// on two of them is one player.
func TestPlacedPeople(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithTimeout(t.Context(), 3*patience)
	defer cancel()
	db := pgtest.Migrated(t)
	a, b := placedPair(t, db, "")
	on := map[*here]*player{a: join(t, a.address(), wamble.Token{}), b: join(t, b.address(), wamble.Token{})}
	a.command("announce", host.Arguments{Text: "tea is served"})
	for _, p := range on {
		if got := notice(t, p, wire.NoticeAnnouncement); got != "tea is served" {
			t.Errorf("somebody was told %q", got)
		}
	}

	private := on[a].login(ctx)
	if !on[a].move(ctx) {
		t.Fatal("nobody could move")
	}
	key := wamble.PublicKey(private.Public().(ed25519.PublicKey))
	until(t, "the database has the player", func() bool {
		p, err := a.first().store.Player(ctx, key)
		return err == nil && p.Stats.Games > 0
	})
	on[b].loginAs(ctx, private)
	if got := on[b].stats(ctx); got.Games != 1 || got.Handle != on[a].stats(ctx).Handle {
		t.Errorf("on the other machine the player has moved on %d boards and is called %s", got.Games, got.Handle)
	}

	b.command("ban", host.Arguments{Whom: "127.0.0.0/8", Text: "spam"})
	for _, h := range []*here{a, b} {
		until(t, "the ban is known", func() bool { return len(h.first().restrictions.Bans()) == 1 })
		until(t, "the ban holds", func() bool { return turnedAway(t, h.address()) != nil })
	}
	a.command("unban", host.Arguments{Whom: "127.0.0.0/8"})
	for _, h := range []*here{a, b} {
		until(t, "the ban is lifted", func() bool { return turnedAway(t, h.address()) == nil })
		until(t, "the ban is forgotten", func() bool { return len(h.first().restrictions.Bans()) == 0 })
	}

	// The other machine takes new players while one drains.
	for h := range on {
		on[h] = join(t, h.address(), wamble.Token{}) // the ban has ended the session of before
	}
	a.command("drain", host.Arguments{On: true})
	a.command("announce", host.Arguments{Text: "a drains"})
	notice(t, on[b], wire.NoticeAnnouncement)
	if turnedAway(t, a.address()) == nil || turnedAway(t, b.address()) != nil {
		t.Error("the machine that drains takes somebody new, or the other one nobody")
	}
	b.command("brownout", host.Arguments{Brownout: profile.Brownout{NoPredictions: true}})
	b.command("announce", host.Arguments{Text: "no predictions"})
	for notice(t, on[a], wire.NoticeAnnouncement) != "no predictions" {
	}
	if turnedAway(t, a.address()) == nil {
		t.Error("what a host says on another machine ends the drain")
	}
	a.command("drain", host.Arguments{On: false})
	for _, h := range []*here{a, b} {
		if up, why := h.readiness(); !up || !strings.Contains(why, "parts of a") || !strings.Contains(why, "b") {
			t.Errorf("/readyz: %v, %q", up, why)
		}
	}

	on[a].loginAs(ctx, private)
	b.command("erase", host.Arguments{Whom: hex.EncodeToString(key[:])})
	if got := notice(t, on[a], wire.NoticeSessionExpired); !strings.Contains(got, "deleted") {
		t.Errorf("on the other machine the player is told %q", got)
	}
	until(t, "nothing is left of the player", func() bool {
		return pgtest.Query[int](t, db, `SELECT (SELECT count(*) FROM players) + (SELECT count(*) FROM sessions WHERE player_id IS NOT NULL)`) == 0
	})
}

// TestPlacedRestrictions: a lasting restriction holds on every machine because it is stored,
// though the machine that ordered it crashed before it could send it; two announcements at
// once do not withdraw each other.
func TestPlacedRestrictions(t *testing.T) {
	t.Parallel()
	db := pgtest.Migrated(t)
	a, b := placedPair(t, db, "")
	kept := func(text string) {
		t.Helper()
		if err := (sharedRestrictions{a.Server}).Amend(t.Context(), a.first().name, func(string) (string, error) { return text, nil }); err != nil {
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
			h.command("announce", host.Arguments{Text: "said on " + h.address(), Until: time.Now().Add(time.Hour)})
		})
	}
	both.Wait()
	a.command("announce", host.Arguments{Text: "the end"})
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

// TestPlacedHouseBots: house bots are as many as the profile wants, over all machines; a
// player on any of them lets one leave. HTTP answers on all. A handoff that is aborted starts
// none on a machine that had none.
func TestPlacedHouseBots(t *testing.T) {
	t.Parallel()
	db := pgtest.Migrated(t)
	a, b := placedPair(t, db, "(def house-bots 4)\n")
	bots := func() int {
		return a.first().Figures(t.Context()).Gauges.Bots + b.first().Figures(t.Context()).Gauges.Bots
	}
	until(t, "four bots are here", func() bool { return bots() == 4 })
	for _, h := range []*here{a, b} {
		h.pauseHTTP(t.Context(), 0)
		h.resumeHTTP()
	}
	if (a.first().bots.Load() == nil) == (b.first().bots.Load() == nil) {
		t.Error("not one of the machines has house bots")
	}
	until(t, "four bots are here again", func() bool { return bots() == 4 })
	join(t, a.address(), wamble.Token{})
	join(t, b.address(), wamble.Token{})
	until(t, "two step back", func() bool { return bots() == 2 })
	for _, h := range []*here{a, b} {
		until(t, "both are counted", func() bool {
			c, err := h.first().counts(t.Context())
			return err == nil && c.Players-c.Bots == 2
		})
	}
}
