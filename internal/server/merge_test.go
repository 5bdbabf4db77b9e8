package server

import (
	"context"
	"crypto/ed25519"
	"encoding/hex"
	"testing"

	"wamble"
	"wamble/internal/host"
	"wamble/wire"
)

// TestMerge: two players of one person become one, in all profiles of the store at once: the
// merged session goes on as the remaining player, with the games of both; the other key logs
// in as that player, after a restart too; and the other name is free.
func TestMerge(t *testing.T) {
	t.Parallel()
	eachHouse(t, func(ctx context.Context, t *testing.T, h *hiding) {
		phone, desk := join(t, h.at("red"), wamble.Token{}), join(t, h.at("blue"), wamble.Token{})
		private := phone.login(ctx)
		desk.login(ctx)
		if !phone.move(ctx) || !desk.move(ctx) {
			t.Fatal("nobody could move")
		}
		from, into := phone.stats(ctx), desk.stats(ctx)
		name := func(what string, p *player) {
			t.Helper()
			until(t, what, func() bool {
				got := p.stats(ctx)
				return got.Handle == into.Handle && got.Games == from.Games+into.Games
			})
		}
		until(t, "the store has both", func() bool { return h.pending() == 0 })
		h.pause(true) // so the store does not have the merge
		if got := h.command("merge", host.Arguments{Whom: from.Handle, Into: into.Handle}); len(got) != 1 {
			t.Errorf("merged in %v", got)
		}
		if err := host.Ask(ctx, h.dir, "merge", host.Arguments{Whom: hex.EncodeToString(private.Public().(ed25519.PublicKey)), Into: into.Handle}, &struct{}{}); err == nil {
			t.Error("they were merged twice")
		}
		h.pause(false)
		name("who plays goes on as the other one", phone)
		name("who stays has the games of both", desk)
		again := join(t, h.at("blue"), wamble.Token{})
		again.loginAs(ctx, private)
		name("the other key is theirs", again)
		h.restart()
		name("their session after a restart", join(t, h.at("red"), phone.c.Token()))
		last := join(t, h.at("red"), wamble.Token{})
		last.loginAs(ctx, private)
		name("the other key after a restart", last)
		h.command("rename", host.Arguments{Whom: into.Handle, Name: from.Handle})
		if got := last.stats(ctx); got.Handle != from.Handle {
			t.Errorf("the other name is not free: the player is called %s", got.Handle)
		}
		h.command("erase", host.Arguments{Whom: hex.EncodeToString(private.Public().(ed25519.PublicKey))})
		notice(t, last, wire.NoticeSessionExpired)
	})
}
