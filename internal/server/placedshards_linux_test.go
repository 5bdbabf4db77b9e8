package server

import (
	"context"
	"errors"
	"log/slog"
	"strings"
	"testing"

	"wamble"
	"wamble/internal/loop"
	"wamble/internal/store/postgres"
	"wamble/internal/store/postgres/pglog"
	"wamble/internal/store/postgres/pgtest"
	"wamble/internal/watchtest"
)

// TestPlacedOtherShards: a machine with another number of shards than the cluster is refused,
// with advice, before it claims a partition or is seen by the others, also one that would
// wait as a standby.
func TestPlacedOtherShards(t *testing.T) {
	t.Parallel()
	db := pgtest.Migrated(t)
	a := serve(t, Options{}, placedConf(db, "a")).ready()
	until(t, "a has all parts", func() bool { return len(held(t, a.dir)) == 4 })
	const epochs = `SELECT string_agg(shard || ' ' || epoch || ' ' || holder, ', ' ORDER BY shard) FROM shards`
	before := pgtest.Query[string](t, db, epochs)
	for _, n := range []string{"1", "2", "8"} {
		text := strings.Replace(placedConf(db, "b"), "(def shards 4)", "(def shards "+n+")", 1)
		s, err := Open(Options{Config: loadConf(t, text), Dir: t.TempDir(), Stop: t.Context()})
		if err == nil {
			s.Close()
		}
		if !errors.Is(err, loop.ErrShards) || !strings.Contains(err.Error(), "on all of them and run 'wamble shards "+n+" --profile default'") {
			t.Fatalf("with %s shards: got %v, want it to be refused with advice", n, err)
		}
	}
	if n := pgtest.Query[int](t, db, `SELECT count(*)::int FROM shard_nodes WHERE node LIKE 'b/%'`); n > 0 {
		t.Error("it has told the others that it is there")
	}
	if now := pgtest.Query[string](t, db, epochs); now != before {
		t.Errorf("the parts were\n%s\nand are\n%s", before, now)
	}
}

// TestPlacedShardsFoundLate: a machine that finds out only after claiming a partition that
// the cluster has another number of shards ends, and the partition returns to a serving
// machine.
func TestPlacedShardsFoundLate(t *testing.T) {
	t.Parallel()
	db := pgtest.Migrated(t)
	a := serve(t, Options{}, placedConf(db, "a")).ready()
	until(t, "a has all parts", func() bool { return len(held(t, a.dir)) == 4 })
	s, err := Open(Options{Config: loadConf(t, placedConf(db, "b")), Dir: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	pgtest.Execute(t, db, `UPDATE worlds SET shards = 8`)
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	if err := s.Run(ctx); !errors.Is(err, loop.ErrShards) {
		t.Fatalf("got %v, want it to end with %v", err, loop.ErrShards)
	}
	pgtest.Execute(t, db, `UPDATE worlds SET shards = 4`)
	until(t, "a serves all parts", func() bool { return len(held(t, a.dir)) == 4 && a.Status(t.Context()).Ready() })
}

// TestDeposedWords: a machine that has lost one partition of several does not report that it
// becomes a standby.
func TestDeposedWords(t *testing.T) {
	t.Parallel()
	db := postgres.Options{Host: "127.0.0.1", Port: 1, User: "wamble", Name: "wamble"}
	for text, want := range map[string]string{
		placedConf(db, "a"): "another machine has taken over a part of the world; this one goes on with the others",
		shared(db, "a"):     "another machine has taken over; this one becomes a standby",
	} {
		log := &watchtest.Log{}
		s := &Server{o: Options{Config: loadConf(t, text)}, log: slog.New(slog.NewTextHandler(log, nil))}
		p := &partition{s: s, name: "main", deposed: make(chan struct{})}
		if p.depose(&pglog.HeldError{Holder: "b"}); !strings.Contains(log.String(), want) {
			t.Errorf("got %s, want %q", log, want)
		}
	}
}

// unjoined is the configuration of a machine that others do not reach: one has all
// partitions.
func unjoined(db postgres.Options, node string) string { return shared(db, node) + "(def shards 2)\n" }

// TestPlacedWithoutPart: a machine without partitions reports that its profile is not served
// there.
func TestPlacedWithoutPart(t *testing.T) {
	t.Parallel()
	db := pgtest.Migrated(t)
	a := serve(t, Options{}, unjoined(db, "a")).ready()
	until(t, "a has all parts", func() bool { return len(held(t, a.dir)) == 2 })
	b := serve(t, Options{}, unjoined(db, "b")).ready()
	if !a.Profiles()[0].Local || b.Profiles()[0].Local {
		t.Errorf("the profile is on a: %v, on b: %v, want only a", a.Profiles()[0].Local, b.Profiles()[0].Local)
	}
}

// TestPlacedHandoffOfNone: a machine without partitions hands over, and gets all of them when
// the other one stops.
func TestPlacedHandoffOfNone(t *testing.T) {
	t.Parallel()
	db := pgtest.Migrated(t)
	a := serve(t, Options{}, unjoined(db, "a")).ready()
	until(t, "a has all parts", func() bool { return len(held(t, a.dir)) == 2 })
	b := spawnImage(t, staying(t, unjoined(db, "b")))
	r, err := b.handOff("")
	if err != nil {
		t.Fatalf("handoff: %v", err)
	}
	if r.Failure != "" || len(held(t, b.dir)) > 0 {
		t.Errorf("handoff: got %+v, and parts %v", r, held(t, b.dir))
	}
	a.end()
	until(t, "b has all parts", func() bool { return len(held(t, b.dir)) == 2 })
	if !join(t, b.address(), wamble.Token{}).move(t.Context()) {
		t.Error("nobody can move")
	}
	b.end()
}
