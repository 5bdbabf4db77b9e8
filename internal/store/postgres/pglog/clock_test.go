package pglog_test

import (
	"testing"
	"time"

	"wamble/internal/store/postgres/pgtest"
	"wamble/internal/watchtest"
)

// TestDatabaseClockSet sets the database's clock forward again and again: another node
// that claims then is refused as long as the holder believes that it may speak.
func TestDatabaseClockSet(t *testing.T) {
	t.Parallel()
	db := pgtest.Empty(t)
	pgtest.Execute(t, db, `CREATE TABLE clock (shift interval); INSERT INTO clock VALUES ('0');
		CREATE FUNCTION public.clock_timestamp() RETURNS timestamptz LANGUAGE sql VOLATILE
			RETURN pg_catalog.clock_timestamp() + (SELECT shift FROM public.clock);
		ALTER DATABASE `+db.Name+` SET search_path = public, pg_catalog`)
	a, b := node(t, db, "a"), node(t, db, "b")
	claim(t, a)
	watchtest.Until(t, "b sees who holds the log", func() bool { return b.Sight("main").Holder == "a" })
	for end := time.Now().Add(2 * lease); time.Now().Before(end); {
		pgtest.Execute(t, db, `UPDATE clock SET shift = shift + interval '1 minute'`)
		_, err := b.Claim(t.Context(), "main", holder(t))
		if err == nil {
			if a.Holds("main") {
				t.Fatal("two nodes hold the log")
			}
			return // a was too slow
		}
		if !held(err, "a") {
			t.Fatal(err)
		}
	}
}
