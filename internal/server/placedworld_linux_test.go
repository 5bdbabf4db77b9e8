package server

import (
	"context"
	"errors"
	"math"
	"slices"
	"sync"
	"testing"
	"time"

	"wamble"
	"wamble/client"
	"wamble/internal/intent"
	"wamble/internal/journal"
	"wamble/internal/profile"
	"wamble/internal/store"
	"wamble/internal/store/postgres/pgtest"
	"wamble/runner"
)

// TestPlacedLeaderboard: points won on one machine are on the leaderboard of the other one,
// in one row with those won there.
func TestPlacedLeaderboard(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithTimeout(t.Context(), 4*patience)
	defer cancel()
	db := pgtest.Migrated(t)
	const short = "(def max-moves-per-board 6)\n"
	a, b := placedPair(t, db, short)
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
		return slices.DeleteFunc(page.Rows, func(r client.Rank) bool { return r.Handle != on[h].players[0].stats(ctx).Handle })
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

// timers returns those of the journal's partitions on a machine, by partition.
func (h *here) timers() map[int][]runner.ArmedTimer {
	all := map[int][]runner.ArmedTimer{}
	for part := range h.partitionCount() {
		if p := h.partitionOf(part); p != nil {
			if list, err := p.runner.Timers(runner.TimerID{}, 10); err == nil && len(list) > 0 {
				all[part] = list
			}
		}
	}
	return all
}

// TestPlacedRetention: one machine deletes what is too old, for all. When it is lost another
// one does, with the same timer.
func TestPlacedRetention(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithTimeout(t.Context(), 3*patience)
	defer cancel()
	db := pgtest.Migrated(t)
	const days = "(def retention-days 30)\n"
	proxies := map[*here]*pgtest.Proxy{}
	begin := func(node string) *here {
		proxy, way := pgtest.NewProxy(t, db)
		h := serve(t, Options{Lease: oneDies}, placedConf(way, node)+days)
		proxies[h] = proxy
		return h
	}
	owner, other := begin("a"), begin("b")
	inHalves(t, owner, other)
	if other.partitionOf(0) != nil {
		owner, other = other, owner
	}
	until(t, "the first part has a timer", func() bool { return len(owner.timers()) == 1 && len(owner.timers()[0]) == 1 })
	if all := other.timers(); len(all) > 0 {
		t.Errorf("the machine without the first part has timers, too: %v", all)
	}

	// purged lets the timer of a machine fire, and waits until an old session is gone.
	purged := func(h *here, id wamble.SessionID) {
		t.Helper()
		until(t, "the machine serves players", func() bool { return h.Status(ctx).Ready() })
		r, timer := h.partitionOf(0).runner, h.timers()[0][0]
		worker, err := journal.WorkerOf(ctx, r, store.ShardName("default", 0))
		if err == nil {
			_, err = journal.Post(ctx, r, worker, &intent.CreateSession{Session: id, Token: wamble.Token{9, byte(id)}.Hash(), At: time.Now().AddDate(0, 0, -31)})
		}
		games := h.first().store
		until(t, "the session is stored", func() bool { _, err := games.SessionByID(ctx, id); return err == nil })
		m, no := runner.DecodeMessage(timer.Frame)
		if err = errors.Join(err, no, r.Cancel(ctx, timer.ID)); err == nil {
			_, err = r.Arm(ctx, time.Now(), &m)
		}
		if err != nil {
			t.Fatal(err)
		}
		until(t, "the old session is gone", func() bool {
			_, err := games.SessionByID(ctx, id)
			return errors.Is(err, store.ErrNotFound)
		})
		until(t, "the timer is armed for tomorrow", func() bool {
			all := h.timers()
			return len(all) == 1 && len(all[0]) == 1 && all[0][0].ID.Due().After(time.Now().Add(23*time.Hour))
		})
	}
	purged(owner, 900001)
	before := owner.timers()[0][0].ID
	pass := sync.OnceFunc(proxies[owner].Still()) // the other machine no longer receives its heartbeat
	defer pass()
	until(t, "the other machine has all parts", func() bool { return len(held(t, other.dir)) == 4 })
	until(t, "the timer has gone over", func() bool { return len(other.timers()) == 1 && other.timers()[0][0].ID == before })
	purged(other, 900002)
	pass()
	until(t, "the machine that was lost has no timer any more", func() bool { return len(owner.timers())+len(other.timers()) == 1 })
}

// TestPlacedLimits: limits that protect the server count over all machines, except for
// players who come before one machine was told of the other's.
func TestPlacedLimits(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithTimeout(t.Context(), 4*patience)
	defer cancel()
	db := pgtest.Migrated(t)
	const limits = "(def max-bots 8) (def max-spectators 4) (def max-players 20)\n"
	a, b := placedPair(t, db, limits)
	knows := func(h *here, what string, is func(profile.ShardCount) bool) {
		t.Helper()
		until(t, "the other machine knows of "+what, func() bool { return is(h.rebalancer.peers.Counts("default").Sum()) })
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
