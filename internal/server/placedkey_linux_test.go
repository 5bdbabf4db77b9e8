package server

import (
	"context"
	"crypto/ed25519"
	"sync"
	"testing"

	"wamble"
	"wamble/internal/store/postgres/pgtest"
)

// TestPlacedOneKey: two first logins of a key at once on two machines make one player in
// the database, whom both sessions are, and whose name both machines know.
func TestPlacedOneKey(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithTimeout(t.Context(), 3*patience)
	defer cancel()
	db := pgtest.Empty(t)
	a := serve(t, Options{}, placedConf(db, "a"))
	b := serve(t, Options{}, placedConf(db, "b"))
	until(t, "both have two parts", func() bool { return len(held(t, a.dir)) == 2 && len(held(t, b.dir)) == 2 })
	until(t, "both serve", func() bool { return a.Status(ctx).Ready() && b.Status(ctx).Ready() })
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
			t.Errorf("one machine calls him %q, the other one %q", one, other)
		}
	}
	until(t, "all sessions are the players'", func() bool {
		return pgtest.Query[int](t, db, `SELECT count(*) FROM sessions s JOIN players p ON p.id = s.player_id`) == 2*keys
	})
	if n := pgtest.Query[int](t, db, `SELECT count(*) FROM players`); n != keys {
		t.Errorf("%d keys are %d players", keys, n)
	}
}
