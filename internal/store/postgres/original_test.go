package postgres_test

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"wamble/internal/store"
	"wamble/internal/store/postgres"
	"wamble/internal/store/postgres/pgtest"
	"wamble/internal/store/schema"
)

// TestOriginalIsToldBefore: a database of the original that is not adopted is refused before anything is
// written, with the way out, and is not waited for. So is one that an earlier wamble left half adopted.
func TestOriginalIsToldBefore(t *testing.T) {
	t.Parallel()
	all := "DROP TABLE predictions, payouts; ALTER TABLE boards DROP COLUMN last_assignment_time"
	for _, c := range []struct{ name, change, why string }{
		{"older than 001", all, "before its migration 001"},
		{"002", "ALTER TABLE reservations ADD COLUMN started_at TIMESTAMPTZ", "with its migrations 002;"},
		{"008", "ALTER TABLE sessions DROP COLUMN trust_level, ADD COLUMN global_identity_id BIGINT, ADD COLUMN total_score DECIMAL(10,4)",
			"with its migrations 004, 008, without sessions.trust_level"},
		{"left at schema 2 by an earlier wamble", `ALTER TABLE game_results ADD COLUMN move_count INTEGER; ALTER TABLE reservations ADD COLUMN started_at TIMESTAMPTZ;
			CREATE TABLE schema_migrations (version INTEGER PRIMARY KEY, name TEXT, adopted BOOLEAN, additive BOOLEAN, applied_at TIMESTAMPTZ DEFAULT NOW());
			INSERT INTO schema_migrations VALUES (1, '001', true, true), (2, '002', false, true)`, "with its migrations 002;"},
	} {
		o := originalDatabase(t)
		o.Profile = "classic"
		pgtest.Execute(t, o, c.change)
		before := pgtest.Query[[]string](t, o, postgres.SelectColumns)
		s := open(t, o)
		st, err := s.Status(t.Context())
		if err != nil || st.Adopt || st.Refused() == nil {
			t.Errorf("%s: status is %+v, %v", c.name, st, err)
		}
		err = s.Migrate(t.Context(), nil)
		var refused *schema.Original
		if !errors.As(err, &refused) || errors.Is(err, store.ErrTransient) || !strings.Contains(err.Error(), c.why) ||
			!strings.Contains(err.Error(), "'wamble import'") {
			t.Errorf("%s: got %v, want %q and 'wamble import'", c.name, err, c.why)
		}
		if !slices.Equal(before, pgtest.Query[[]string](t, o, postgres.SelectColumns)) {
			t.Errorf("%s: a refusal has changed the database", c.name)
		}
	}
}

// TestAdoptAtOnce: an adoption that fails leaves the database as it was, and is an error that is not retried.
func TestAdoptAtOnce(t *testing.T) {
	t.Parallel()
	o := originalDatabase(t)
	o.Profile = "classic"
	pgtest.Execute(t, o, "ALTER TABLE predictions ADD COLUMN resolved_at TIMESTAMPTZ") // a host's own
	s := open(t, o)
	err := s.Migrate(t.Context(), nil)
	var wrong *store.Unusable
	if !errors.As(err, &wrong) || !strings.Contains(wrong.Advice, "wamble import") {
		t.Errorf("got %v, want an error with advice", err)
	}
	if pgtest.Query[bool](t, o, `SELECT to_regclass('schema_migrations') IS NOT NULL`) {
		t.Error("the database is half adopted")
	}
}
