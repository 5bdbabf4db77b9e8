package server

import (
	"context"
	"crypto/ed25519"
	"encoding/hex"
	"errors"
	"strings"
	"testing"
	"time"

	"wamble"
	"wamble/internal/admin"
)

// TestHandoffKeepsCommands: the host's announcements, bans and merges hold in the next process,
// though the store may not have them yet.
func TestHandoffKeepsCommands(t *testing.T) {
	t.Parallel()
	i := spawnImage(t, conf(""))
	ctx, cancel := context.WithTimeout(t.Context(), 3*patience)
	defer cancel()
	command := func(name string, a admin.Arguments) error {
		return admin.Ask(ctx, i.dir, name, a, &struct{}{})
	}
	phone, desk := join(t, i.address(), wamble.Token{}), join(t, i.address(), wamble.Token{})
	private := phone.login(ctx)
	desk.login(ctx)
	if !phone.move(ctx) || !desk.move(ctx) {
		t.Fatal("nobody could move")
	}
	until(t, "the store has the games", func() bool { return phone.stats(ctx).Games == 1 && desk.stats(ctx).Games == 1 })
	from, into := phone.stats(ctx), desk.stats(ctx)
	if err := command("announce",
		admin.Arguments{Text: "we move", Until: time.Now().Add(time.Hour), Countdown: true}); err != nil {
		t.Fatal(err)
	}
	stays := phone.told(ctx, "who is here").Stays
	if err := command("merge", admin.Arguments{Whom: from.Handle, Into: into.Handle}); err != nil {
		t.Fatal(err)
	}
	rude := join(t, i.address(), wamble.Token{})
	if err := command("ban", admin.Arguments{Whom: rude.c.Token().String(), Text: "rude"}); err != nil {
		t.Fatal(err)
	}
	if _, err := i.handOff(""); err != nil {
		t.Fatal(err)
	}
	var denied *wamble.Denied
	if _, err := rude.c.Hello(ctx); !errors.As(err, &denied) || !strings.Contains(denied.Reason, "rude") {
		t.Errorf("who is banned gets %v", err)
	}
	newcomer := join(t, i.address(), wamble.Token{})
	if got := newcomer.told(ctx, "a newcomer"); got.Text != "we move" || got.Stays.ID != stays.ID ||
		!got.Stays.Countdown {
		t.Errorf("a newcomer is told %+v, %+v", got, got.Stays)
	}
	newcomer.loginAs(ctx, private)
	for what, p := range map[string]*player{"who played goes on as the other one": phone,
		"the other key is theirs": newcomer} {
		until(t, what, func() bool {
			got := p.stats(ctx)
			return got.Handle == into.Handle && got.Games == from.Games+into.Games
		})
	}
	if err := command("merge", admin.Arguments{Whom: hex.EncodeToString(private.Public().(ed25519.PublicKey)),
		Into: into.Handle}); err == nil {
		t.Error("they were merged twice")
	}
	if err := command("announce", admin.Arguments{Clear: true}); err != nil {
		t.Fatal(err)
	}
	if got := phone.told(ctx, "withdrawn").Stays; got.For != 0 || got.ID != stays.ID {
		t.Errorf("withdrawn: %+v", got)
	}
	i.end()
}
