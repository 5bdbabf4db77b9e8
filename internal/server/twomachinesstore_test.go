package server

import (
	"context"
	"math"
	"slices"
	"sync"
	"testing"

	"wamble"
	"wamble/client"
	"wamble/internal/admin"
	"wamble/internal/profile"
	"wamble/internal/store/postgres/pgtest"
	"wamble/wire"
)

// TestTwoMachinesLeaderboard: points won on one machine are on the leaderboard of the other one,
// in one row with those won there.
func TestTwoMachinesLeaderboard(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithTimeout(t.Context(), 4*patience)
	defer cancel()
	db := pgtest.Migrated(t)
	const short = "(def max-moves-per-board 6)\n"
	a, b := twoServers(t, db, short)
	on := map[*here]*crowd{a: gather(t, a.address(), 4), b: gather(t, b.address(), 4)}
	private := on[a].players[0].login(ctx)
	on[b].players[0].loginAs(ctx, private)

	// rows returns those of the player on the leaderboard of a machine.
	size := 10
	rows := func(h *here) []client.Rank {
		size = size%20 + 10 // a page is kept for a while
		page, err := on[h].players[1].c.Leaderboard(ctx, client.LeaderboardPage{Size: size})
		if err != nil {
			t.Fatal(err)
		}
		return slices.DeleteFunc(page.Rows,
			func(r client.Rank) bool { return r.Handle != on[h].players[0].stats(ctx).Handle })
	}
	score := 0.0
	for h, other := range map[*here]*here{a: b, b: a} {
		me := on[h].players[0]
		on[h].play()
		until(t, "the player has won something", func() bool { return me.stats(ctx).Score > score })
		on[h].finish()
		until(t, "it is on the leaderboard of the other machine", func() bool {
			list, now := rows(other), me.stats(ctx)
			if len(list) > 1 {
				t.Fatalf("the player has %d rows: %+v", len(list), list)
			}
			score = now.Score
			return len(list) == 1 && math.Abs(list[0].Score-now.Score) < 1e-4
		})
	}
}

// TestTwoMachinesRetention: one machine deletes what is too old, for all. When it is lost the
// other one does, with the same timer.
func TestTwoMachinesRetention(t *testing.T) {
	t.Parallel()
	db := pgtest.Migrated(t)
	proxies := map[*here]*pgtest.Proxy{}
	begin := func(node string) *here {
		proxy, way := pgtest.NewProxy(t, db)
		h := serve(t, Options{Lease: oneDies}, clusterConf(way, node)+"(def retention-days 30)\n")
		proxies[h] = proxy
		return h
	}
	a, b := begin("a"), begin("b")
	inHalves(t, a, b)
	owner, before := janitorTimer(t, a, b)
	other := map[*here]*here{a: b, b: a}[owner]
	pass := sync.OnceFunc(proxies[owner].Still()) // the other machine no longer receives its heartbeat
	defer pass()
	untilOwned(t, 4, other.dir)
	until(t, "the other machine serves", func() bool { return other.Status(t.Context()).Ready() })
	_, timer := janitorTimer(t, other)
	if timer.ID != before.ID {
		t.Errorf("the timer is %v, and was %v", timer.ID, before.ID)
	}
	gone := other.addOld(900002, 31)
	other.fire(timer)
	until(t, "the old session is gone", func() bool { return !other.hasSession(gone) })
	pass()
	janitorTimer(t, a, b) // the machine that was lost has none
}

// TestTwoMachinesLimits: limits that protect the server count over all machines, except for
// players who come before one machine was told of the other's.
func TestTwoMachinesLimits(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithTimeout(t.Context(), 4*patience)
	defer cancel()
	db := pgtest.Migrated(t)
	const limits = "(def max-bots 8) (def max-spectators 4) (def max-players 20)\n"
	a, b := twoServers(t, db, limits)
	knows := func(h *here, what string, is func(profile.ShardCount) bool) {
		t.Helper()
		until(t, "the other machine knows of "+what,
			func() bool { return is(h.rebalancer.peers.Counts("default").Sum()) })
		for range 2 { // its shards are told before
			heard := h.rebalancer.peers.Reports()
			until(t, "the next report", func() bool { return h.rebalancer.peers.Reports() != heard })
		}
	}
	joined(t, a, client.Dialer{Bot: true}, 6)
	knows(b, "programs", func(n profile.ShardCount) bool { return n.Bots >= 6 })
	bots, denied := joined(t, b, client.Dialer{Bot: true}, 8)
	if len(bots) > 3 || denied == nil || denied.Reason != "there are enough bots at present" {
		t.Errorf("%d programs joined the other machine, want 2; then %v", len(bots), denied)
	}
	watching := func(h *here) (n int) {
		t.Helper()
		list, _ := joined(t, h, client.Dialer{}, 4)
		for _, c := range list {
			if _, err := c.Spectate(ctx, client.View{}); err == nil {
				n++
			} else if client.DeniedCode(err) == 0 {
				t.Fatal(err)
			}
		}
		return n
	}
	if n := watching(a); n != 4 {
		t.Errorf("%d watch, want 4", n)
	}
	knows(b, "spectators", func(n profile.ShardCount) bool { return n.Spectators >= 4 })
	if n := watching(b); n > 1 {
		t.Errorf("%d watch on the other machine, want nobody", n)
	}
	knows(a, "players", func(n profile.ShardCount) bool { return n.Players >= len(bots)+4 })
	joined(t, a, client.Dialer{}, 16) // others leave for them
	players := 0
	for _, h := range []*here{a, b} {
		for _, l := range h.first().localShards() {
			players += l.runtime.Count().Players
		}
	}
	if players > 21 {
		t.Errorf("there are %d players, want 20", players)
	}
}

// TestTwoMachinesHandoffRemembers: whose facts are stale a machine knows after a handoff, too: who logs in there is
// refused until the database has what the other machine has decided.
func TestTwoMachinesHandoffRemembers(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithTimeout(t.Context(), 4*patience)
	defer cancel()
	db := pgtest.Migrated(t)
	a := serve(t, Options{}, clusterConf(db, "a")).ready()
	b := spawnImage(t, staying(t, clusterConf(db, "b")))
	untilOwned(t, 2, a.dir, b.dir)
	until(t, "both serve", func() bool { return a.Status(ctx).Ready() && b.status().Ready() })
	watcher := join(t, b.address(), wamble.Token{})
	player := join(t, a.address(), wamble.Token{})
	private := player.login(ctx)
	until(t, "the database has the player", func() bool { return a.pending() == 0 })
	a.pause(true)
	a.command("rename", admin.Arguments{Whom: player.stats(ctx).Handle, Name: "Anna"})
	a.command("announce", admin.Arguments{Text: "tea is served"})
	for notice(t, watcher, wire.NoticeAnnouncement) != "tea is served" {
	}
	if _, err := b.handOff(""); err != nil {
		t.Fatalf("handoff: %v", err)
	}
	p := join(t, b.address(), wamble.Token{})
	if _, err := p.c.Login(ctx, private); client.DeniedCode(err) != wamble.Internal {
		t.Errorf("before the database has the name, the player is told %v", err)
	}
	a.pause(false)
	p.loginAs(ctx, private)
	if got := p.stats(ctx).Handle; got != "Anna" {
		t.Errorf("the player is called %s, want Anna", got)
	}
	b.end()
}
