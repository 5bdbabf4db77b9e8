//go:build proof

package server

import (
	"testing"

	"wamble"
	"wamble/internal/prooftest"
	"wamble/internal/store/postgres"
	"wamble/internal/store/postgres/pgtest"
)

// TestKill kills a server under load, repeatedly. Every accepted move is in the store once,
// and all players go on where they were: a move whose answer was lost is answered after the
// restart.
func TestKill(t *testing.T) {
	prooftest.Needs(t, "minutes")
	for _, tc := range []struct {
		name, durability string
		postgres         bool
	}{
		{"SQLite fsync", "fsync", false},
		{"SQLite write", "write", false},
		{"PostgreSQL fsync", "fsync", true},
		{"PostgreSQL write", "write", true},
	} {
		t.Run(tc.name, func(t *testing.T) {
			dir := t.TempDir()
			text := `(def durability "` + tc.durability + `")` + "\n"
			var db postgres.Options
			if tc.postgres {
				db = pgtest.Empty(t)
				text += postgresConf(db)
			}
			c := killAndCheck(t, dir, conf(text))
			if !tc.postgres {
				verifySQLite(t, dir, c)
				return
			}
			c.verify(t, openPostgres(t, db))
		})
	}
}

func killAndCheck(t *testing.T, dir, text string) *crowd {
	text = staying(t, text)
	s := spawn(t, dir, text)
	c := gather(t, s.address(), 12)
	c.think = 0
	tokens := map[*player]wamble.Token{}
	for _, p := range c.players {
		tokens[p] = p.c.Token()
	}
	c.play()
	for range kills() {
		c.more(t, 300) // the load is in full swing
		s.kill()
		s = spawn(t, dir, text)
	}
	c.more(t, 300)
	c.finish()
	s.kill()
	s = spawn(t, dir, text)
	for _, p := range c.players {
		if p.c.Token() != tokens[p] {
			t.Error("a player has another token after a crash")
		}
		again := join(t, s.address(), tokens[p])
		if got, want := again.c.Board().ID, p.c.Board().ID; again.c.Token() != tokens[p] || got != want {
			t.Errorf("a player came back to board %d, want %d", got, want)
		}
	}
	s.end()
	return c
}
