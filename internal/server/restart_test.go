package server

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"wamble"
	"wamble/client"
	"wamble/internal/store"
	"wamble/internal/store/postgres/pgtest"
)

// restartFiles returns the restart files of a data directory and when each was written.
func restartFiles(t testing.TB, dir string) map[string]time.Time {
	t.Helper()
	entries, err := os.ReadDir(filepath.Join(dir, "restart"))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		t.Fatal(err)
	}
	files := map[string]time.Time{}
	for _, e := range entries {
		if info, err := e.Info(); err == nil && filepath.Ext(e.Name()) == "" {
			files[e.Name()] = info.ModTime()
		}
	}
	return files
}

// awaitRestartFile waits until a restart file of each of so many profiles was begun and
// written after now.
func awaitRestartFile(t testing.TB, dir string, profiles int) {
	t.Helper()
	for range 2 { // the first may have been begun before
		began, seen := time.Now(), map[string]bool{}
		until(t, "memory is written", func() bool {
			for name, at := range restartFiles(t, dir) {
				seen[name] = seen[name] || at.After(began)
			}
			written := 0
			for _, yes := range seen {
				if yes {
					written++
				}
			}
			return written >= profiles
		})
	}
}

// says waits until the log contains text.
func (c *child) says(text string) {
	c.t.Helper()
	until(c.t, "the log says "+text, func() bool { return strings.Contains(c.log.String(), text) })
}

// TestRestartWhileAway: a server that is killed while its database is away plays on
// after the restart, before the database is back; then the database gets everything.
func TestRestartWhileAway(t *testing.T) {
	t.Parallel()
	t.Run("one loop", func(t *testing.T) { testRestartWhileAway(t, 1) })
	t.Run("two shards", func(t *testing.T) { testRestartWhileAway(t, 2) })
}

func testRestartWhileAway(t *testing.T, shards int) {
	t.Parallel()
	cluster := pgtest.Start(t, false)
	db := cluster.Migrated(t)
	dir, text := t.TempDir(), staying(t, conf(postgresConf(db)+fmt.Sprintf("(def shards %d)", shards)))
	s := spawn(t, dir, text)
	c := gather(t, s.address(), 8)
	tokens := map[*player]wamble.Token{}
	for _, p := range c.players {
		tokens[p] = p.c.Token()
	}
	c.play()
	c.more(t, 200)
	awaitRestartFile(t, dir, shards)
	cluster.Down(t)
	for range 2 {
		c.more(t, 300)
		s.kill()
		s = spawn(t, dir, text) // it waits until the server is ready
		c.more(t, 300)
	}
	newcomer := join(t, s.address(), wamble.Token{})
	if !newcomer.move(t.Context()) {
		t.Error("a new player cannot play")
	}
	cluster.Up(t)
	c.more(t, 300)
	c.finish()
	for _, p := range c.players {
		if p.c.Token() != tokens[p] {
			t.Error("a player has another token after a crash")
		}
	}
	c.players = append(c.players, newcomer)
	s.end()
	if left := restartFiles(t, dir); len(left) > 0 {
		t.Errorf("after an end in order the files %v are left", left)
	}
	c.verify(t, openPostgres(t, db))
}

// TestRestartNeighboursWhileAway: two profiles that share a database are killed while it is
// away. Players known to either play there again before the database is back, unless the
// other profile has changed them meanwhile: a player who has logged out stays logged out.
func TestRestartNeighboursWhileAway(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithTimeout(t.Context(), 3*patience)
	defer cancel()
	cluster := pgtest.Start(t, false)
	db := cluster.Migrated(t)
	dir := t.TempDir()
	text, at := twoPorts(t, postgresConf(db)+`(def log-level "info")`)
	s := spawn(t, dir, text)
	red, blue := gather(t, at["red"], 4), gather(t, at["blue"], 4)
	blue.players[0].login(ctx)
	leaver := join(t, at["red"], wamble.Token{})
	leaver.login(ctx)
	gone := leaver.c.Token()
	join(t, at["blue"], gone)
	all := &crowd{players: append(slices.Clone(red.players), blue.players...)}
	tokens := map[*player]wamble.Token{}
	for _, p := range all.players {
		tokens[p] = p.c.Token()
	}
	play := func() {
		red.play()
		blue.play()
		red.more(t, 50)
		blue.more(t, 50)
	}
	finish := func() {
		red.finish()
		blue.finish()
	}
	play()
	awaitRestartFile(t, dir, 2)
	finish()
	cluster.Down(t)
	if _, err := leaver.c.Logout(ctx); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		play()
		finish()
		s.kill()
		began := time.Now()
		s = spawn(t, dir, text)
		for i, p := range all.players {
			before := p.moves.Load()
			until(t, "a known player plays", func() bool { return p.move(ctx) && p.moves.Load() > before })
			if i == 0 || i == len(red.players) {
				t.Logf("measured: a move %v after the kill", time.Since(began).Round(time.Millisecond))
			}
		}
		if known, err := identified(ctx, at["blue"], gone); known {
			t.Error("who has logged out is logged in")
		} else if err != nil && err.Code != wamble.Internal {
			t.Errorf("who has logged out: got %v, want %d", err, wamble.Internal)
		}
	}
	cluster.Up(t)
	play()
	finish()
	for _, p := range all.players {
		if p.c.Token() != tokens[p] {
			t.Error("a player has another token after a crash")
		}
	}
	until(t, "blue answers to the token", func() bool {
		known, err := identified(ctx, at["blue"], gone)
		if known {
			t.Fatal("who has logged out is logged in")
		}
		return err == nil
	})
	s.end()
	all.verify(t, openPostgres(t, db))
}

// identified reports whether a token belongs to a player with an identity, or returns the
// refusal.
func identified(ctx context.Context, address string, token wamble.Token) (known bool, denied *wamble.Denied) {
	c, err := dial(ctx, address, token)
	if errors.As(err, &denied) || err != nil {
		return false, denied
	}
	defer c.Close()
	stats, err := c.Stats(ctx, client.StatsOf{})
	errors.As(err, &denied)
	return err == nil && stats.HasIdentity, denied
}

// TestRestartOtherwise: whatever is wrong with the restart file, and whatever changed in the
// configuration, nothing that was accepted is lost or stored twice.
func TestRestartOtherwise(t *testing.T) {
	change := func(do func(b []byte) []byte) func(t *testing.T, file string) {
		return func(t *testing.T, file string) {
			b, err := os.ReadFile(file)
			if err == nil {
				err = os.WriteFile(file, do(b), 0o600)
			}
			if err != nil {
				t.Fatal(err)
			}
		}
	}
	for _, tc := range []struct {
		name, says, more string
		do               func(t *testing.T, file string)
	}{
		{name: "as it was", says: "restored from the restart file"},
		{name: "a damaged file", says: "cannot be used", do: change(func(b []byte) []byte { b[len(b)/2] ^= 1; return b })},
		{name: "a file that is cut off", says: "cannot be used", do: change(func(b []byte) []byte { return b[:len(b)-9] })},
		{name: "a file of another journal", says: "cannot be used", do: change(func(b []byte) []byte { b[20] ^= 1; return b })},
		{name: "messages that are not kept", do: func(t *testing.T, file string) {
			if err := os.RemoveAll(filepath.Join(filepath.Dir(filepath.Dir(file)), "kept")); err != nil {
				t.Fatal(err)
			}
		}},
		{name: "fewer boards and players", says: "restored from the restart file", more: "(def min-boards 2) (def max-boards 9) (def max-players 4)"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			dir, text := t.TempDir(), staying(t, conf(`(def log-level "info")`))
			s := spawn(t, dir, text)
			c := gather(t, s.address(), 4)
			c.play()
			c.more(t, 100)
			awaitRestartFile(t, dir, 1)
			c.more(t, 300)
			until(t, "the store has some of it", func() bool { return kept(dir) > 0 })
			s.kill()
			for name := range restartFiles(t, dir) {
				if tc.do != nil {
					tc.do(t, filepath.Join(dir, "restart", name))
				}
			}
			s = spawn(t, dir, text+tc.more)
			s.says(tc.says)
			c.more(t, 300)
			c.finish()
			s.end()
			if strings.Contains(s.log.String(), "is away") {
				t.Errorf("the log says that the database is away:\n%s", s.log)
			}
			verifySQLite(t, dir, c)
		})
	}
}

// TestRestartNeighbours: two profiles that share a store of each kind are killed. Both
// come back from their restart files, everybody goes on, a token that was made in one
// is good in the other, and the store gets every move once.
func TestRestartNeighbours(t *testing.T) {
	for kind, db := range map[string]func(t *testing.T) (string, func() store.Queries){
		"sqlite": func(*testing.T) (string, func() store.Queries) { return "", nil },
		"postgres": func(t *testing.T) (string, func() store.Queries) {
			o := pgtest.Migrated(t)
			return postgresConf(o), func() store.Queries { return openPostgres(t, o) }
		},
	} {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			more, open := db(t)
			text, at := twoPorts(t, more+`(def log-level "info")`)
			s := spawn(t, dir, text)
			red, blue := gather(t, at["red"], 4), gather(t, at["blue"], 4)
			tokens := map[*player]wamble.Token{}
			all := &crowd{players: append(slices.Clone(red.players), blue.players...)}
			for _, p := range all.players {
				tokens[p] = p.c.Token()
			}
			red.play()
			blue.play()
			red.more(t, 50)
			blue.more(t, 50)
			awaitRestartFile(t, dir, 2)
			red.more(t, 50)
			blue.more(t, 50)
			fresh := join(t, at["red"], wamble.Token{}).c.Token() // only the journal may have it yet
			s.kill()
			s = spawn(t, dir, text)
			for _, name := range []string{"red", "blue"} {
				s.says("restored from the restart file and the journal\" profile=" + name)
			}
			if join(t, at["blue"], fresh).c.Token() != fresh {
				t.Error("who has just come to red is somebody new in blue")
			}
			red.more(t, 50)
			blue.more(t, 50)
			red.finish()
			blue.finish()
			for i, p := range all.players {
				if p.c.Token() != tokens[p] {
					t.Error("a player has another token after a crash")
				}
				other := at["blue"]
				if i >= len(red.players) {
					other = at["red"]
				}
				if join(t, other, tokens[p]).c.Token() != tokens[p] {
					t.Error("a player of one profile is somebody new in the other")
				}
			}
			s.end()
			if strings.Contains(s.log.String(), "is away") {
				t.Errorf("the log says that the database is away:\n%s", s.log)
			}
			if open == nil {
				verifySQLite(t, dir, all)
				return
			}
			all.verify(t, open())
		})
	}
}

// kept returns how many bytes of messages are kept.
func kept(dir string) (size int64) {
	filepath.WalkDir(filepath.Join(dir, "kept"), func(_ string, e fs.DirEntry, err error) error {
		if err == nil && e.Type().IsRegular() {
			if info, err := e.Info(); err == nil {
				size += info.Size()
			}
		}
		return nil
	})
	return size
}
