//go:build proof

package postgres_test

import (
	"context"
	"testing"

	"wamble/internal/prooftest"
	"wamble/internal/store"
	"wamble/internal/store/postgres/pgtest"
	"wamble/internal/store/storetest"
)

// TestBrokenServer crashes a server of its own under a store repeatedly.
func TestBrokenServer(t *testing.T) {
	prooftest.Needs(t, "minutes")
	cluster := pgtest.Start(t, true)
	testRestart(t, cluster)
}

// testRestart crashes the server repeatedly while a worker applies batches, and finds every
// move exactly once.
func testRestart(t *testing.T, cluster *pgtest.Cluster) {
	s := open(t, cluster.Migrated(t))
	rng := prooftest.Random(t)
	tr, start := storetest.NewTraffic(50, 1)
	applied := []store.Batch{start}
	if _, err := storetest.Deliver(t.Context(), s, start); err != nil {
		t.Fatal(err)
	}
	failures := 0
	for range prooftest.Sized(1, 20, 100) {
		ctx, cancel := context.WithCancel(t.Context())
		crashed := make(chan struct{})
		go func() {
			defer close(crashed)
			cluster.Restart(t)
		}()
		// The worker goes on until some batches after the restart.
		for left := 1 + rng.IntN(8); left > 0; {
			b := tr.Batch(1 + rng.IntN(64))
			n, err := storetest.Deliver(ctx, s, b)
			if err != nil {
				t.Fatal(err)
			}
			applied, failures = append(applied, b), failures+n
			select {
			case <-crashed:
				left--
			default:
			}
		}
		cancel()
	}
	if failures == 0 {
		t.Error("no crash was noticed: the test shows nothing")
	}
	t.Logf("measured: %d batches, %d failed tries", len(applied), failures)
	storetest.Holds(t, s, applied)
}
