package server

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"wamble/internal/backup"
	"wamble/internal/journal"
	"wamble/internal/store/postgres/pgtest"
	"wamble/runner"
	"wamble/runner/pebblestore"
)

// TestMoveStores: a world that players have made goes from SQLite to PostgreSQL and back. They go on with their
// tokens and boards, and every accepted move is there once. A server that runs, a move that was interrupted and
// a database that has games are told.
func TestMoveStores(t *testing.T) {
	t.Parallel()
	db, dir := pgtest.Empty(t), t.TempDir()
	lite, pg := conf(""), conf(postgresConf(db))
	quiet := func(backup.Progress) {}
	moveStores := func(ctx context.Context, from, to string, progress func(backup.Progress)) error {
		_, err := MoveStores(ctx, loadConf(t, from), loadConf(t, to), dir, progress)
		return err
	}
	says := func(what string, err error, want string) {
		t.Helper()
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Fatalf("%s: got %v, want %q", what, err, want)
		}
	}
	s := serve(t, Options{Dir: dir}, lite).ready()
	crowd := gather(t, s.address(), 4)
	crowd.play()
	crowd.more(t, 100)
	says("while a server runs", moveStores(t.Context(), lite, pg, quiet), "stop it first")
	crowd.finish()
	// goOn starts a server, to which all players come back.
	goOn := func(text string) {
		t.Helper()
		s = serve(t, Options{Dir: dir}, text).ready()
		for i, p := range crowd.players {
			next := join(t, s.address(), p.c.Token())
			if next.c.Token() != p.c.Token() || next.c.Board().ID != p.c.Board().ID {
				t.Errorf("player %d has board %d, want %d, and a new token: %t", i, next.c.Board().ID, p.c.Board().ID,
					next.c.Token() != p.c.Token())
			}
			p.c = next.c
		}
		crowd.play()
		crowd.more(t, 100)
		crowd.finish()
	}
	s.end()

	ctx, interrupt := context.WithCancel(t.Context())
	defer interrupt()
	if err := moveStores(ctx, lite, pg, func(p backup.Progress) {
		if p.What == "sessions" {
			interrupt()
		}
	}); !errors.Is(err, context.Canceled) {
		t.Fatalf("an interrupted move: got %v", err)
	}
	half, err := Open(Options{Dir: dir, Config: loadConf(t, pg)})
	if err == nil {
		err = half.Run(t.Context())
	}
	says("a start with half of the world", err, "Give 'wamble move-store' again")
	if err := moveStores(t.Context(), lite, pg, quiet); err != nil {
		t.Fatal(err)
	}
	goOn(pg)
	s.end()
	crowd.verify(t, openPostgres(t, db))

	says("back over the old file", moveStores(t.Context(), pg, lite, quiet), "as they were at another time")
	old, err := filepath.Glob(filepath.Join(dir, "games.db*"))
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range old {
		if err := os.Remove(file); err != nil {
			t.Fatal(err)
		}
	}
	if err := moveStores(t.Context(), pg, lite, quiet); err != nil {
		t.Fatal(err)
	}
	goOn(lite)
	s.end()
	crowd.verify(t, openSQLite(t, dir))
	says("nothing to move", moveStores(t.Context(), lite, lite, quiet), "nothing to move")
}

// TestMoveStoresUndrained: while the journal has messages that the old database lacks, nothing is moved.
func TestMoveStoresUndrained(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	s := serve(t, Options{Dir: dir}, conf("")).ready()
	gather(t, s.address(), 1)
	s.end()
	r, err := runner.Open(pebblestore.At(JournalDir(dir), pebblestore.Options{}), runner.Options{Schema: JournalSchema})
	if err != nil {
		t.Fatal(err)
	}
	number, _ := journal.NumberOf(r, "default")
	if _, err := r.Post(t.Context(), &runner.Message{To: uint64(number), Payload: []byte("a move")}); err != nil {
		t.Fatal(err)
	}
	if err := r.Close(); err != nil {
		t.Fatal(err)
	}
	_, err = MoveStores(t.Context(), loadConf(t, conf("")), loadConf(t, conf(postgresConf(pgtest.Empty(t)))), dir,
		func(backup.Progress) {})
	if err == nil || !strings.Contains(err.Error(), "1 messages of default that the database lacks") {
		t.Errorf("got %v", err)
	}
}
