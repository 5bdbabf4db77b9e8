package server

import (
	"context"
	"crypto/ed25519"
	"encoding/hex"
	"fmt"
	"strings"
	"sync"
	"testing"

	"wamble"
	"wamble/client"
	"wamble/internal/host"
	"wamble/internal/store/postgres/pgtest"
	"wamble/wire"
)

// TestPlacedOneKey: two first logins of a key at once on two machines make one player in the
// database, to whom both sessions belong, with one name on both machines.
func TestPlacedOneKey(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithTimeout(t.Context(), 3*patience)
	defer cancel()
	db := pgtest.Migrated(t)
	a, b := placedPair(t, db, "")
	const keys = 4
	var all sync.WaitGroup
	var pairs [keys][2]*player
	for i := range pairs {
		_, private, err := ed25519.GenerateKey(nil)
		if err != nil {
			t.Fatal(err)
		}
		pairs[i] = [2]*player{join(t, a.address(), wamble.Token{}), join(t, b.address(), wamble.Token{})}
		for _, p := range pairs[i] {
			all.Go(func() { p.loginAs(ctx, private) })
		}
	}
	all.Wait()
	for _, pair := range pairs {
		if one, other := pair[0].stats(ctx).Handle, pair[1].stats(ctx).Handle; one != other || one == "" {
			t.Errorf("one machine calls the player %q, the other one %q", one, other)
		}
	}
	until(t, "all sessions are the players'", func() bool {
		return pgtest.Query[int](t, db, `SELECT count(*) FROM sessions s JOIN players p ON p.id = s.player_id`) == 2*keys
	})
	if n := pgtest.Query[int](t, db, `SELECT count(*) FROM players`); n != keys {
		t.Errorf("%d keys are %d players", keys, n)
	}
}

// TestPlacedOneName: of two players who choose one name at once on two machines one has it,
// and the other is told that it is taken. A player's former name is free as soon as they have
// another one.
func TestPlacedOneName(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithTimeout(t.Context(), 3*patience)
	defer cancel()
	db := pgtest.Migrated(t)
	a, b := placedPair(t, db, "")
	const names = 4
	var pairs [names][2]*player
	var errs [names][2]error
	var all sync.WaitGroup
	for i := range pairs {
		pairs[i] = [2]*player{join(t, a.address(), wamble.Token{}), join(t, b.address(), wamble.Token{})}
		for j, p := range pairs[i] {
			p.login(ctx)
			all.Go(func() { _, errs[i][j] = p.c.SetName(ctx, []string{"Ann", "aNN"}[j]+fmt.Sprint(i)) })
		}
	}
	all.Wait()
	for i, pair := range pairs {
		winner := 0
		if errs[i][0] != nil {
			winner = 1
		}
		if errs[i][winner] != nil || client.DeniedCode(errs[i][1-winner]) != wamble.AccessDenied || !strings.Contains(errs[i][1-winner].Error(), "taken") {
			t.Fatalf("name %d: one was told %v, the other one %v", i, errs[i][0], errs[i][1])
		}
		if got := pair[winner].stats(ctx).Handle; !strings.EqualFold(got, fmt.Sprint("ann", i)) {
			t.Errorf("who got the name is called %q", got)
		}
		if got := pair[1-winner].stats(ctx).Handle; !strings.HasPrefix(got, "h_") {
			t.Errorf("who did not get the name is called %q", got)
		}
		if i > 0 {
			continue
		}
		// The host takes the name from the winner on one machine, before the other one was
		// told.
		a.command("rename", host.Arguments{Whom: pair[winner].stats(ctx).Handle, Name: "Carl"})
		if _, err := pair[1-winner].c.SetName(ctx, "ANN0"); err != nil {
			t.Errorf("the name is free, but: %v", err)
		}
	}
	until(t, "the journals are in the database", func() bool {
		return pgtest.Query[int](t, db, `SELECT count(*) FROM sessions s JOIN players p ON p.id = s.player_id`) == 2*names
	})
	if n := pgtest.Query[int](t, db, `SELECT count(*) FROM players WHERE lower(handle) LIKE 'ann%'`); n != names {
		t.Errorf("%d players have one of %d names", n, names)
	}
}

// TestPlacedEraseThenLogin: a player erased on one machine who logs in again there at once,
// before the other one has received the erasure, is a new player and stays one.
func TestPlacedEraseThenLogin(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithTimeout(t.Context(), 3*patience)
	defer cancel()
	db := pgtest.Migrated(t)
	a, b := placedPair(t, db, "")
	_, private, err := ed25519.GenerateKey(nil)
	if err != nil {
		t.Fatal(err)
	}
	key := private.Public().(ed25519.PublicKey)
	here, there := join(t, a.address(), wamble.Token{}), join(t, b.address(), wamble.Token{})
	here.loginAs(ctx, private)
	there.loginAs(ctx, private)
	until(t, "both sessions are the player's", func() bool {
		return pgtest.Query[int](t, db, `SELECT count(*) FROM sessions s JOIN players p ON p.id = s.player_id`) == 2
	})
	old := pgtest.Query[int](t, db, `SELECT max(id) FROM players`)

	a.command("erase", host.Arguments{Whom: hex.EncodeToString(key)})
	again := join(t, a.address(), wamble.Token{})
	again.loginAs(ctx, private)
	if got := notice(t, there, wire.NoticeSessionExpired); !strings.Contains(got, "deleted") {
		t.Errorf("on the other machine the player was told %q", got)
	}
	// The other machine's note of the erasure has arrived when this announcement has.
	b.command("announce", host.Arguments{Text: "the end"})
	notice(t, again, wire.NoticeAnnouncement)
	if got := again.stats(ctx).Handle; got == "" {
		t.Error("who is new has no name")
	}
	a.end()
	b.end()
	if got := pgtest.Query[int](t, db, `SELECT coalesce(max(id), 0) FROM players p WHERE EXISTS (SELECT FROM sessions s WHERE s.player_id = p.id)`); got <= 0 || got == old {
		t.Errorf("the database has player %d, want one that is not %d", got, old)
	}
}
