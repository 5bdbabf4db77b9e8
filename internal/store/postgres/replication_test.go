package postgres_test

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"

	"wamble/internal/store"
	"wamble/internal/store/postgres/pgtest"
	"wamble/internal/store/storetest"
)

// TestCommitWithoutStandby: a server whose synchronous standby is away answers COMMIT with a
// warning when its wait is cancelled. A transaction that is then on one machine only does not
// count as applied, nor does the cursor before a standby has it.
func TestCommitWithoutStandby(t *testing.T) {
	t.Parallel()
	cluster := pgtest.Start(t, false)
	o := cluster.Migrated(t)
	s := open(t, o)
	tr, start := storetest.NewTraffic(20, 1)
	applied := []store.Batch{start}
	if err := s.Apply(t.Context(), start); err != nil {
		t.Fatal(err)
	}
	pgtest.Execute(t, o, `ALTER SYSTEM SET synchronous_standby_names = 'missing'`)
	pgtest.Execute(t, o, `SELECT pg_reload_conf()`)
	b := tr.Batch(10)
	var err error
	cancelWaits(t, o.Name, cluster, func(ctx context.Context, cancelled *atomic.Bool) {
		for err = s.Apply(ctx, b); err == nil && !cancelled.Load(); err = s.Apply(ctx, b) { // the server has not read it yet
			applied = append(applied, b)
			b = tr.Batch(10)
		}
	})
	if !errors.Is(err, store.ErrTransient) {
		t.Fatalf("a commit that no standby has: got %v, want a transient error", err)
	}
	cancelWaits(t, o.Name, cluster,
		func(ctx context.Context, _ *atomic.Bool) { _, err = s.Cursor(ctx, b.Journal, b.Profile) })
	if !errors.Is(err, store.ErrTransient) {
		t.Errorf("the cursor of a commit that no standby has: got %v, want a transient error", err)
	}
	pgtest.Execute(t, o, `ALTER SYSTEM RESET synchronous_standby_names`)
	pgtest.Execute(t, o, `SELECT pg_reload_conf()`)
	if at, err := s.Cursor(t.Context(), b.Journal, b.Profile); err != nil || at != b.Through {
		t.Errorf("the cursor when no standby is wanted: got %d, %v, want %d", at, err, b.Through)
	}
	storetest.Holds(t, s, append(applied, b))
}

// cancelWaits cancels the backends that wait for a standby, until work is done.
func cancelWaits(t *testing.T, database string, cluster *pgtest.Cluster,
	work func(_ context.Context, cancelled *atomic.Bool)) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var cancelled atomic.Bool
	done := make(chan struct{})
	go func() {
		defer close(done)
		work(ctx, &cancelled)
	}()
	for {
		select {
		case <-done:
			return
		default:
			n := pgtest.Query[int](t, cluster.Server(),
				`SELECT count(pg_cancel_backend(pid)) FROM pg_stat_activity WHERE datname = $1 AND wait_event = 'SyncRep'`, database)
			if n > 0 {
				cancelled.Store(true)
			}
		}
	}
}
