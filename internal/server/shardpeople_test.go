package server

import (
	"context"
	"crypto/ed25519"
	"encoding/hex"
	"errors"
	"strings"
	"testing"

	"wamble"
	"wamble/client"
	"wamble/internal/host"
	"wamble/internal/loop"
	"wamble/internal/store"
	"wamble/wire"
)

// TestShardsPeople: a host's command about players reaches them in every shard, and counts
// once.
func TestShardsPeople(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithTimeout(t.Context(), 3*patience)
	defer cancel()
	h := serve(t, Options{}, conf(`(def shards 4)`)).ready()
	c := spread(t, h.address())
	of := map[int]*player{} // one of each shard
	for _, p := range c.players {
		of[p.c.Token().Shard(4)] = p
	}
	if got := h.command("announce", host.Arguments{Text: "tea is served"}); int(got["default"]) < len(c.players) { // a hello that was repeated while a shard opened may be a session of its own
		t.Errorf("announced to %v of %d", got, len(c.players))
	}
	for k, p := range of {
		if got := notice(t, p, wire.NoticeAnnouncement); got != "tea is served" {
			t.Errorf("shard %d was told %q", k, got)
		}
	}

	// One player in two shards, and another in a third.
	private := of[0].login(ctx)
	if !of[0].move(ctx) {
		t.Fatal("nobody could move")
	}
	of[1].loginAs(ctx, private)
	for _, k := range []int{0, 1} {
		if got := of[k].stats(ctx); got.Games != 1 {
			t.Errorf("in shard %d the player has moved on %d boards, want 1", k, got.Games)
		}
	}
	of[2].login(ctx)
	if !of[2].move(ctx) {
		t.Fatal("nobody could move")
	}
	from, into := of[2].stats(ctx), of[0].stats(ctx)
	if got := h.command("merge", host.Arguments{Whom: from.Handle, Into: into.Handle}); len(got) != 1 {
		t.Errorf("merged in %v", got)
	}
	for _, k := range []int{0, 1, 2} {
		until(t, "the player is one in every shard", func() bool {
			got := of[k].stats(ctx)
			return got.Handle == into.Handle && got.Games == from.Games+into.Games
		})
	}
	key := wamble.PublicKey(private.Public().(ed25519.PublicKey))
	var known []struct{ Sessions []any }
	if err := host.Ask(ctx, h.dir, "player", host.Arguments{Whom: hex.EncodeToString(key[:])}, &known); err != nil || len(known) != 1 || len(known[0].Sessions) != 3 {
		t.Errorf("what is known of the player: %+v, %v", known, err)
	}
	tokens := []wamble.Token{of[0].c.Token(), of[1].c.Token(), of[2].c.Token()}
	if got := h.command("erase", host.Arguments{Whom: hex.EncodeToString(key[:])}); got["default"] != 1 {
		t.Errorf("erased: %v, want one identity", got)
	}
	db := h.profiles()[0].store
	until(t, "the player is deleted", func() bool {
		_, err := db.Player(ctx, key)
		return errors.Is(err, store.ErrNotFound)
	})
	for _, token := range tokens {
		until(t, "the player's session is deleted, too", func() bool {
			_, err := db.Session(ctx, token)
			return errors.Is(err, store.ErrNotFound)
		})
	}

	// Kicked and banned in a shard that is not the first.
	last := of[3]
	if got := h.command("kick", host.Arguments{Whom: last.c.Token().String(), Text: "too loud"}); got["default"] != 1 {
		t.Errorf("kicked: %v", got)
	}
	if got := notice(t, last, wire.NoticeSessionExpired); !strings.Contains(got, "too loud") {
		t.Errorf("the player was told %q", got)
	}
	h.command("ban", host.Arguments{Whom: "127.0.0.0/8", Text: "spam"})
	for k := range 4 {
		p := c.players[0]
		for _, q := range c.players {
			if q.c.Token().Shard(4) == k && q != of[k] {
				p = q
			}
		}
		if _, err := p.c.Hello(ctx); client.DeniedCode(err) != wamble.AccessDenied {
			t.Errorf("a player of shard %d: %v", k, err)
		}
	}
	h.command("unban", host.Arguments{Whom: "127.0.0.0/8"})
	if d := turnedAway(t, h.address()); d != nil {
		t.Errorf("a newcomer after the ban: %v", d)
	}
}

// TestShardsHouseBots: house bots are as many as the profile wants, over all shards.
func TestShardsHouseBots(t *testing.T) {
	t.Parallel()
	h := serve(t, Options{}, conf(`(def shards 4) (def house-bots 8)`)).ready()
	var all loop.Figures
	until(t, "eight bots are here", func() bool {
		all = h.first().Figures(t.Context())
		return all.Gauges.Bots == 8
	})
	join(t, h.address(), wamble.Token{})
	until(t, "one steps back", func() bool { return h.first().Figures(t.Context()).Gauges.Bots == 7 })
}
