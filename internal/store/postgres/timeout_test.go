package postgres_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgconn"

	"wamble"
	"wamble/internal/store"
	"wamble/internal/store/postgres/pgtest"
	"wamble/internal/store/storetest"
)

// TestTimeouts lets another transaction lock what the store needs.
func TestTimeouts(t *testing.T) {
	t.Parallel()
	o := pgtest.Migrated(t)
	tr, start := storetest.NewTraffic(4, 1)
	patient := open(t, o)
	if err := patient.Apply(t.Context(), start); err != nil {
		t.Fatal(err)
	}
	hurried := o
	o.StatementTimeout, hurried.StatementTimeout = 8*time.Second, 200*time.Millisecond
	hasty, known := open(t, hurried), open(t, o)
	first, b := tr.Batch(8), tr.Batch(8)
	if err := known.Apply(t.Context(), first); err != nil { // from here on its connection has the prepared statements
		t.Fatal(err)
	}
	release := pgtest.Lock(t, o, "BEGIN; LOCK TABLE boards IN ACCESS EXCLUSIVE MODE")
	if err := hasty.Apply(t.Context(), b); !errors.Is(err, store.ErrTransient) ||
		errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("a write past its statement timeout: got %v, want a transient error", err)
	}
	err := known.Apply(t.Context(), b)
	var refused *pgconn.PgError
	if !errors.Is(err, store.ErrTransient) || !errors.As(err, &refused) || refused.Code != "57014" {
		t.Errorf("a write past the server's statement timeout: got %v, want a transient error with 57014", err)
	}
	if _, err := hasty.Board(t.Context(), 1); !errors.Is(err, store.ErrTransient) {
		t.Errorf("a read past its statement timeout: got %v, want a transient error", err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if err := patient.Apply(ctx, b); !errors.Is(err, store.ErrTransient) || !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("a write past the caller's deadline: got %v, want a transient error that is context.DeadlineExceeded",
			err)
	}
	release()
	if _, err := storetest.Deliver(t.Context(), patient, b); err != nil {
		t.Error(err)
	}
	storetest.Holds(t, patient, []store.Batch{start, first, b})
}

// Applied transactions are durable, whatever the database's default is.
func TestSynchronousCommit(t *testing.T) {
	t.Parallel()
	o := pgtest.Migrated(t)
	pgtest.Execute(t, o, `ALTER DATABASE "`+o.Name+`" SET synchronous_commit = off`)
	pgtest.Execute(t, o, `CREATE TABLE seen (v text);
		CREATE FUNCTION note() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
			INSERT INTO seen VALUES (current_setting('synchronous_commit')); RETURN NULL; END $$;
		CREATE TRIGGER note AFTER INSERT ON move_runs FOR EACH STATEMENT EXECUTE FUNCTION note()`)
	s := open(t, o)
	storetest.Populate(t, s)
	got, err := s.Ask(t.Context(), `SELECT string_agg(DISTINCT v, ' ') FROM seen`)
	if err != nil || got != "on" {
		t.Errorf("moves were written with synchronous_commit %s, %v, want on", got, err)
	}
}

// TestNothingStays checks what a pooler between transactions needs: after any call the server
// side of the connection is as it was.
func TestNothingStays(t *testing.T) {
	t.Parallel()
	o := pgtest.Migrated(t)
	o.MaxConns = 1
	s := open(t, o)
	storetest.Populate(t, s)
	storetest.Reads(t, s)
	if _, err := s.Lease(t.Context(), wamble.BoardIDs, 10); err != nil {
		t.Fatal(err)
	}
	for what, query := range map[string]string{
		"named statements": `SELECT count(*)::text FROM pg_prepared_statements`,
		"session locks":    `SELECT count(*)::text FROM pg_locks WHERE locktype = 'advisory' AND pid = pg_backend_pid()`,
		"settings":         `SELECT count(*)::text FROM pg_settings WHERE source = 'session' AND name IN ('statement_timeout', 'synchronous_commit', 'lock_timeout')`,
	} {
		got, err := s.Ask(t.Context(), query)
		if err != nil || got != "0" {
			t.Errorf("%s: got %s, %v, want 0", what, got, err)
		}
	}
}
