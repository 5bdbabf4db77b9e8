package server

import (
	"context"
	"crypto/ed25519"
	"sync"
	"testing"

	"wamble"
	"wamble/internal/store/postgres/pgtest"
)

// TestPlacedOneKey: two first logins of a key at once on two machines make one player in the
// database, whom both sessions are.
func TestPlacedOneKey(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithTimeout(t.Context(), 3*patience)
	defer cancel()
	db := pgtest.Empty(t)
	a := serve(t, Options{}, placedConf(db, "a"))
	b := serve(t, Options{}, placedConf(db, "b"))
	until(t, "both have two parts", func() bool { return len(held(t, a.dir)) == 2 && len(held(t, b.dir)) == 2 })
	until(t, "both serve", func() bool { return a.Status(ctx).Ready() && b.Status(ctx).Ready() })
	players := []*player{join(t, a.address(), wamble.Token{}), join(t, b.address(), wamble.Token{})}
	_, private, err := ed25519.GenerateKey(nil)
	if err != nil {
		t.Fatal(err)
	}
	var all sync.WaitGroup
	for _, p := range players {
		all.Go(func() { p.loginAs(ctx, private) })
	}
	all.Wait()
	until(t, "both sessions are the player's", func() bool {
		return pgtest.Query[int](t, db, `SELECT count(*) FROM sessions s JOIN players p ON p.id = s.player_id`) == 2
	})
	if n := pgtest.Query[int](t, db, `SELECT count(*) FROM players`); n != 1 {
		t.Errorf("one key is %d players", n)
	}
}
