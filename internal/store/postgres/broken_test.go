package postgres_test

import (
	"errors"
	"testing"

	"wamble"
	"wamble/internal/store"
	"wamble/internal/store/postgres"
	"wamble/internal/store/postgres/pgtest"
	"wamble/internal/store/storetest"
)

func testAway(t *testing.T, cluster *pgtest.Cluster) {
	s := open(t, cluster.Migrated(t))
	tr, start := storetest.NewTraffic(4, 1)
	if err := s.Apply(t.Context(), start); err != nil {
		t.Fatal(err)
	}
	b := tr.Batch(8)
	cluster.Down(t)
	for range 3 {
		if err := s.Apply(t.Context(), b); !errors.Is(err, store.ErrTransient) {
			t.Errorf("apply while away: got %v, want a transient error", err)
		}
		if _, err := s.Probe(t.Context(), b); !errors.Is(err, store.ErrTransient) {
			t.Errorf("probe while away: got %v, want a transient error", err)
		}
		if _, err := s.SessionByID(t.Context(), 1); !errors.Is(err, store.ErrTransient) ||
			errors.Is(err, store.ErrNotFound) {
			t.Errorf("read while away: got %v, want a transient error", err)
		}
	}
	cluster.Up(t)
	if err := s.Apply(t.Context(), b); err != nil {
		t.Errorf("apply when it is back: %v", err)
	}
	storetest.Holds(t, s, []store.Batch{start, b})
}

// TestServerAway stops a server of its own under a store, and makes it refuse writes.
func TestServerAway(t *testing.T) {
	t.Parallel()
	cluster := pgtest.Start(t, false)
	t.Run("away and back", func(t *testing.T) { testAway(t, cluster) })
	t.Run("read-only after failover", func(t *testing.T) { testReadOnly(t, cluster) })
}

// TestFailover: the first write that a connection refuses because its server is no longer the
// primary ends all connections of the pool, so that the next call finds the new primary.
func TestFailover(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name  string
		write func(*postgres.Store, store.Batch) error
	}{
		{"apply", func(s *postgres.Store, b store.Batch) error { return s.Apply(t.Context(), b) }},
		{"probe", func(s *postgres.Store, b store.Batch) error { _, err := s.Probe(t.Context(), b); return err }},
		{"lease", func(s *postgres.Store, _ store.Batch) error {
			_, err := s.Lease(t.Context(), wamble.BoardIDs, 1)
			return err
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := open(t, pgtest.Migrated(t))
			tr, start := storetest.NewTraffic(4, 1)
			if err := s.Apply(t.Context(), start); err != nil {
				t.Fatal(err)
			}
			b := tr.Batch(8)
			if err := s.Demote(t.Context(), 3); err != nil {
				t.Fatal(err)
			}
			if err := c.write(s, b); !errors.Is(err, store.ErrTransient) {
				t.Errorf("on a connection that is read-only: got %v, want a transient error", err)
			}
			for range 3 {
				if got, err := s.Ask(t.Context(), "SHOW default_transaction_read_only"); err != nil || got != "off" {
					t.Errorf("a read after that: default_transaction_read_only is %s, %v, want off", got, err)
				}
			}
			if err := c.write(s, b); err != nil {
				t.Errorf("a write after that: %v", err)
			}
		})
	}
}

// testReadOnly makes the server refuse writes, as the old primary does after a
// failover: on connections that stand, and on new ones.
func testReadOnly(t *testing.T, cluster *pgtest.Cluster) {
	o := cluster.Migrated(t)
	s := open(t, o)
	tr, start := storetest.NewTraffic(4, 1)
	if err := s.Apply(t.Context(), start); err != nil {
		t.Fatal(err)
	}
	pgtest.Execute(t, o, "ALTER SYSTEM SET default_transaction_read_only = on")
	pgtest.Execute(t, o, "SELECT pg_reload_conf()")
	// A standing connection learns of it between two statements, at some time.
	applied := []store.Batch{start}
	b := tr.Batch(8)
	err := s.Apply(t.Context(), b)
	for ; err == nil; err = s.Apply(t.Context(), b) {
		applied = append(applied, b)
		b = tr.Batch(8)
	}
	if !errors.Is(err, store.ErrTransient) {
		t.Errorf("a standing connection: got %v, want a transient error", err)
	}
	if err := open(t, o).Apply(t.Context(), b); !errors.Is(err, store.ErrTransient) {
		t.Errorf("a new connection: got %v, want a transient error", err)
	}
	pgtest.Execute(t, o, "ALTER SYSTEM RESET default_transaction_read_only")
	pgtest.Execute(t, o, "SELECT pg_reload_conf()")
	if _, err := storetest.Deliver(t.Context(), s, b); err != nil {
		t.Errorf("when it takes writes again: %v", err)
	}
	storetest.Holds(t, s, append(applied, b))
}
