package pglog_test

import (
	"context"
	"testing"
	"time"

	"wamble/internal/store/postgres"
	"wamble/internal/store/postgres/pgtest"
	"wamble/internal/watchtest"
)

// clocked is a database whose clock can be set: a table has the offset.
func clocked(t *testing.T) postgres.Options {
	t.Helper()
	db := pgtest.Empty(t)
	pgtest.Execute(t, db, `CREATE TABLE clock (shift interval); INSERT INTO clock VALUES ('0');
		CREATE FUNCTION public.clock_timestamp() RETURNS timestamptz LANGUAGE sql VOLATILE
			RETURN pg_catalog.clock_timestamp() + (SELECT shift FROM public.clock);
		ALTER DATABASE `+db.Name+` SET search_path = public, pg_catalog`)
	return db
}

// TestDatabaseClockSet sets the database's clock forward or back repeatedly: another node
// that claims then is refused as long as the holder counts on its lease.
func TestDatabaseClockSet(t *testing.T) {
	t.Parallel()
	for _, step := range []string{"1 minute", "-1 minute"} {
		t.Run(step, func(t *testing.T) {
			t.Parallel()
			db := clocked(t)
			a, b := mortal(t, db, "a"), mortal(t, db, "b")
			claim(t, a)
			watchtest.Until(t, "b sees who holds the log", func() bool { return b.PartitionView("main").Holder == "a" })
			for end := time.Now().Add(2 * lease); time.Now().Before(end); {
				pgtest.Execute(t, db, `UPDATE clock SET shift = shift + interval '`+step+`'`)
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
		})
	}
}

// TestDatabaseClockSetBack: the database's clock is set back when the holder has crashed, so
// that its last heartbeat is in the future. Another node does not wait for that.
func TestDatabaseClockSetBack(t *testing.T) {
	t.Parallel()
	db := clocked(t)
	a, b := mortal(t, db, "a"), mortal(t, db, "b")
	claim(t, a)
	watchtest.Until(t, "b sees who holds the log", func() bool { return b.PartitionView("main").Holder == "a" })
	a.Close() // it beats no more
	pgtest.Execute(t, db, `UPDATE clock SET shift = interval '-1 hour'`)
	ctx, cancel := context.WithTimeout(t.Context(), watchtest.Patience)
	defer cancel()
	if err := b.Await(ctx, "main", nil); err != nil {
		t.Fatalf("b waits: %v", err)
	}
	take(t, b)
}

// TestDatabaseClockSetBackWorld is TestDatabaseClockSetBack for the cluster's view: a crashed
// node does not count as running until the clock has caught up, nor instead of another
// process of its name.
func TestDatabaseClockSetBackWorld(t *testing.T) {
	t.Parallel()
	db := clocked(t)
	a, _ := peer(t, db, "a")
	b, _ := peer(t, db, "b")
	a.ClusterView("main", 3)
	watchtest.Until(t, "both are seen", func() bool { return seen(b) == "a at a, key of a, I am a; b at b, key of b, I am b: ,," })
	a.Close() // it beats no more
	pgtest.Execute(t, db, `UPDATE clock SET shift = interval '-1 hour'`)
	watchtest.Until(t, "only b is seen", func() bool { return seen(b) == "b at b, key of b, I am b: ,," })
	again, _ := peer(t, db, "a")
	again.ClusterView("main", 3)
	watchtest.Until(t, "a is seen again, alone of its name", func() bool {
		w, _ := b.ClusterView("main", 3)
		return len(w.Nodes) == 2 && w.Nodes[0].Name == "a" && w.Nodes[0].Twins == 0
	})
}

// TestDatabaseClockSetBackHeir: the clock is set back when a log was released for a node that
// does not come. Another one does not wait until the clock has caught up.
func TestDatabaseClockSetBackHeir(t *testing.T) {
	t.Parallel()
	db := clocked(t)
	a, b := mortal(t, db, "a"), mortal(t, db, "b")
	h := claim(t, a)
	ok(t, h.Release(t.Context(), "c"))
	pgtest.Execute(t, db, `UPDATE clock SET shift = interval '-1 hour'`)
	ctx, cancel := context.WithTimeout(t.Context(), watchtest.Patience)
	defer cancel()
	if err := b.Await(ctx, "main", nil); err != nil {
		t.Fatalf("b waits: %v", err)
	}
	take(t, b)
}
