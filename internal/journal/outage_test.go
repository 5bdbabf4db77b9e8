package journal_test

import (
	"testing"

	"wamble/internal/prooftest"
	"wamble/internal/store/postgres/pgtest"
)

// TestOutages posts while the database server crashes, and while connections are cut before
// and after COMMIT, whose outcome is then unknown.
func TestOutages(t *testing.T) {
	cluster := pgtest.Start(t, true)
	proxy, o := pgtest.NewProxy(t, cluster.OverTCP(cluster.Migrated(t)))
	dir := t.TempDir()
	l, err := openLine(t.Context(), dir, openPostgres(t, o))
	if err != nil {
		t.Fatal(err)
	}
	rng := prooftest.Random(t)
	acked, k, restarts := map[int]bool{}, 0, 0
	for range prooftest.Part(100) {
		switch rng.IntN(6) {
		case 0:
			cluster.Restart(t)
			restarts++
		case 1:
			proxy.CutAll()
		case 2, 3:
			proxy.Cut(pgtest.AfterCommit)
		case 4, 5:
			proxy.Cut(pgtest.BeforeCommit)
		}
		// Play goes on during every outage.
		for range 10 {
			n := 1 + rng.IntN(100)
			if err := l.post(k, n); err != nil {
				t.Fatal(err)
			}
			for i := range n {
				acked[k+i] = true
			}
			k += n
		}
		l.wait(k)
	}
	if err := l.close(); err != nil {
		t.Fatal(err)
	}
	t.Logf("measured: %d restarts, %d connections cut at COMMIT", restarts, proxy.Cuts())
	proxy.Cut(pgtest.Never)
	finish(t, dir, openPostgres(t, o), acked, acked)
}

// TestReadOnly meets a server that became read-only, as after a failover: it is
// waited for, nothing is buried.
func TestReadOnly(t *testing.T) {
	cluster := pgtest.Start(t, false)
	o := cluster.Migrated(t)
	dir := t.TempDir()
	store := openPostgres(t, o)
	pgtest.Execute(t, cluster.Server(), "ALTER DATABASE "+o.Name+" SET default_transaction_read_only = on")
	l, err := openLine(t.Context(), dir, store)
	if err != nil {
		t.Fatal(err)
	}
	acked := map[int]bool{}
	for k := range 200 {
		if err := l.post(k, 1); err != nil {
			t.Fatal(err)
		}
		acked[k] = true
	}
	if n := l.r.Stats().Inboxes[0].Depth; n != 200 {
		t.Errorf("got %d that wait, want all 200", n)
	}
	if err := l.close(); err != nil {
		t.Fatal(err)
	}
	pgtest.Execute(t, cluster.Server(), "ALTER DATABASE "+o.Name+" RESET default_transaction_read_only")
	finish(t, dir, openPostgres(t, o), acked, acked)
}
