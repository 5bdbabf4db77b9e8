package server

import (
	"context"
	"crypto/ed25519"
	"fmt"
	"testing"

	"wamble"
	"wamble/internal/host"
	"wamble/internal/journal"
	"wamble/internal/store"
	"wamble/internal/store/postgres/pgtest"
	"wamble/wire"
)

// TestPlacedCountedOnce: points won on one machine count once on the other one when the
// player logs in there, whether its note arrives after the database has them or before.
func TestPlacedCountedOnce(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithTimeout(t.Context(), 4*patience)
	defer cancel()
	a, b := placedPair(t, pgtest.Migrated(t), "")
	watcher := join(t, b.address(), wamble.Token{})
	// heard waits until the other machine has received what happened on the first.
	heard := func(text string) {
		t.Helper()
		a.command("announce", host.Arguments{Text: text})
		for notice(t, watcher, wire.NoticeAnnouncement) != text {
		}
		watcher.stats(ctx)
	}
	stored := func(private ed25519.PrivateKey) {
		t.Helper()
		until(t, "the database has the move", func() bool {
			p, err := a.first().store.Player(ctx, wamble.PublicKey(private.Public().(ed25519.PublicKey)))
			return err == nil && p.Stats.Games == 1
		})
	}
	has := func(p *player, when string) {
		t.Helper()
		if got := p.stats(ctx).Games; got != 1 {
			t.Errorf("%s the player has moved on %d boards, want 1", when, got)
		}
	}

	// The database has it first.
	b.receivedNotes.SetPaused(true)
	private := guest(ctx, t, a).login(ctx)
	stored(private)
	p := join(t, b.address(), wamble.Token{})
	p.loginAs(ctx, private)
	has(p, "before the other machine has heard of it")
	b.receivedNotes.SetPaused(false)
	heard("one")
	has(p, "after the other machine has heard of it")

	// The other machine receives it first.
	pauseStore(t, a, true)
	private = guest(ctx, t, a).login(ctx)
	heard("two")
	p = join(t, b.address(), wamble.Token{})
	p.loginAs(ctx, private)
	has(p, "before the database has it")
	pauseStore(t, a, false)
	stored(private)
	has(p, "after the database has it")
}

// guest returns a guest who has moved.
func guest(ctx context.Context, t *testing.T, h *here) *player {
	t.Helper()
	p := join(t, h.address(), wamble.Token{})
	for p.stats(ctx).Games == 0 {
		p.move(ctx)
	}
	return p
}

// pauseStore stops or restarts a machine's drain from its journal to the database.
func pauseStore(t *testing.T, h *here, on bool) {
	t.Helper()
	for shard := range h.partitionCount() {
		part := h.partitionOf(shard)
		if part == nil {
			continue
		}
		set := part.runner.ResumeQueue
		if on {
			set = part.runner.PauseQueue
		}
		worker, err := journal.WorkerOf(t.Context(), part.runner, store.ShardName("default", shard))
		if err == nil {
			err = set(t.Context(), fmt.Sprint(worker))
		}
		if err != nil {
			t.Fatal(err)
		}
	}
}

// TestPlacedHandoffRemembers: what a machine was told before a handoff, and the database does
// not have yet, its next process applies to players who come then.
func TestPlacedHandoffRemembers(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithTimeout(t.Context(), 4*patience)
	defer cancel()
	db := pgtest.Migrated(t)
	a := serve(t, Options{}, placedConf(db, "a")).ready()
	b := spawnImage(t, staying(t, placedConf(db, "b")))
	untilShared(t, a.dir, b.dir)
	until(t, "both serve", func() bool { return a.Status(ctx).Ready() && b.status().Ready() })
	watcher := join(t, b.address(), wamble.Token{})
	pauseStore(t, a, true)
	private := guest(ctx, t, a).login(ctx)
	a.command("announce", host.Arguments{Text: "tea is served"})
	for notice(t, watcher, wire.NoticeAnnouncement) != "tea is served" {
	}
	if _, err := b.handOff(""); err != nil {
		t.Fatalf("handoff: %v", err)
	}
	p := join(t, b.address(), wamble.Token{})
	p.loginAs(ctx, private)
	if got := p.stats(ctx).Games; got != 1 {
		t.Errorf("before the database has it the player has moved on %d boards, want 1", got)
	}
	pauseStore(t, a, false)
	b.end()
}
