package postgres_test

import (
	"errors"
	"strings"
	"testing"

	"wamble/internal/prooftest"
	"wamble/internal/store"
	"wamble/internal/store/postgres/pgtest"
	"wamble/internal/store/storetest"
)

// TestCutAtCommit cuts the connection around COMMIT. Either way the store returns that the
// outcome is unknown; the cursor shows it.
func TestCutAtCommit(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name    string
		moment  pgtest.Moment
		written bool
	}{{"after it was done", pgtest.AfterCommit, true}, {"before it was seen", pgtest.BeforeCommit, false}} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			proxy, o := pgtest.NewProxy(t, pgtest.Migrated(t))
			s := open(t, o)
			tr, start := storetest.NewTraffic(20, 1)
			applied := []store.Batch{start}
			if err := s.Apply(t.Context(), start); err != nil {
				t.Fatal(err)
			}
			for i := range prooftest.Part(100) {
				b := tr.Batch(10)
				proxy.Cut(c.moment)
				if err := s.Apply(t.Context(), b); !errors.Is(err, store.ErrTransient) {
					t.Fatalf("cut commit: got %v, want a transient error", err)
				}
				if got, want := proxy.Cuts(), i+1; got != want {
					t.Fatalf("cuts: got %d, want %d", got, want)
				}
				at, err := s.Cursor(t.Context(), b.Journal, b.Profile)
				if err != nil {
					t.Fatal(err)
				}
				want := b.After
				if c.written {
					want = b.Through
				}
				if at != want {
					t.Fatalf("cursor: got %d, want %d", at, want)
				}
				failures, err := storetest.Deliver(t.Context(), s, b)
				if err != nil || failures != 0 {
					t.Fatalf("the batch again: %d failures, error %v", failures, err)
				}
				applied = append(applied, b)
			}
			storetest.Holds(t, s, applied)
		})
	}
}

// TestCommitAnsweredWithRollback: a server takes COMMIT of a failed transaction
// as ROLLBACK, and calls that a success. The store must not.
func TestCommitAnsweredWithRollback(t *testing.T) {
	t.Parallel()
	proxy, o := pgtest.NewProxy(t, pgtest.Migrated(t))
	s := open(t, o)
	tr, start := storetest.NewTraffic(20, 1)
	if err := s.Apply(t.Context(), start); err != nil {
		t.Fatal(err)
	}
	b := tr.Batch(10)
	proxy.Cut(pgtest.InsteadCommit)
	err := s.Apply(t.Context(), b)
	if !errors.Is(err, store.ErrTransient) || !strings.Contains(err.Error(), "answered COMMIT with ROLLBACK") {
		t.Fatalf("got %v, want a transient error that says so", err)
	}
	if at, err := s.Cursor(t.Context(), b.Journal, b.Profile); err != nil || at != b.After {
		t.Fatalf("cursor: got %d, %v, want %d", at, err, b.After)
	}
	if failures, err := storetest.Deliver(t.Context(), s, b); err != nil || failures != 0 {
		t.Fatalf("the batch again: %d failures, error %v", failures, err)
	}
	storetest.Holds(t, s, []store.Batch{start, b})
}

// TestCutConnections cuts every connection between two calls: the next call
// fails at most with a transient error, and the one after it succeeds.
func TestCutConnections(t *testing.T) {
	t.Parallel()
	proxy, o := pgtest.NewProxy(t, pgtest.Migrated(t))
	s := open(t, o)
	tr, start := storetest.NewTraffic(20, 1)
	applied := []store.Batch{start}
	if err := s.Apply(t.Context(), start); err != nil {
		t.Fatal(err)
	}
	for range 5 {
		proxy.CutAll()
		b := tr.Batch(10)
		if _, err := storetest.Deliver(t.Context(), s, b); err != nil {
			t.Fatal(err)
		}
		applied = append(applied, b)
	}
	storetest.Holds(t, s, applied)
}
