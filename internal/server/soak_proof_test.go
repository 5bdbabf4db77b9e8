//go:build proof

package server

import (
	"fmt"
	"math/rand/v2"
	"net/netip"
	"testing"
	"time"

	"wamble/internal/admin"
	"wamble/internal/loader"
	"wamble/internal/prooftest"
	"wamble/internal/store/postgres/pgtest"
)

// TestSoak: a server suffers kills, handoffs, reloads and restarts of its database, in any
// order, under load. In the end the database has every accepted move once, and nothing else.
// With WAMBLE_SOAK it takes 20 minutes; otherwise each fault comes once.
func TestSoak(t *testing.T) {
	prooftest.Needs(t, "minutes")
	cluster := pgtest.Start(t, true)
	db := cluster.Migrated(t)
	text := staying(t, conf(postgresConf(db)+"(def min-boards 300)"))
	i := spawnImage(t, text)
	troubles := []struct {
		name string
		do   func()
	}{
		{"handoff", func() {
			if _, err := i.handOff(""); err != nil {
				t.Errorf("handoff: %v", err)
			}
		}},
		{"reload", func() {
			i.write("test.conf", text+fmt.Sprintf("(def max-boards %d)", 1000+rand.IntN(1000)))
			var done admin.Reloaded
			if err := admin.Ask(t.Context(), i.dir, "reload", nil, &done); err != nil {
				t.Errorf("reload: %v", err)
			}
		}},
		{"restart of the database", func() { cluster.Restart(t) }},
		{"kill", func() {
			i.kill()
			i.launch()
		}},
	}
	load := startLoad(t, loader.Options{
		Server: netip.MustParseAddrPort("127.0.0.1:" + i.port), Clients: prooftest.Sized(16, 16, 200),
	})
	counts := soak(t, len(troubles), func(n int) { troubles[n].do() }, func() { i.played() })
	report := load.end()
	i.end()
	for n, trouble := range troubles {
		t.Logf("%s: %d times", trouble.name, counts[n])
	}
	if report.Counts.Forgotten > 0 {
		t.Errorf("%d sessions were forgotten", report.Counts.Forgotten)
	}
	v, err := loader.Verify(t.Context(), report, openPostgres(t, db))
	if err != nil || !v.Exact() {
		t.Errorf("got %+v, %v", v, err)
	}
	t.Logf("%d moves accepted, longest gap %v, %+v", report.AcceptedCount(), report.LongestGap, report.Counts)
}

// soak injects faults: each once, and with WAMBLE_SOAK at random for 20 minutes. Between them
// it waits for play.
func soak(t *testing.T, kinds int, do func(n int), between func()) []int {
	t.Helper()
	rng := prooftest.Random(t)
	counts := make([]int, kinds)
	trouble := func(n int) {
		counts[n]++
		do(n)
		between()
	}
	for n := range kinds {
		trouble(n)
	}
	if !prooftest.Soaking() {
		return counts
	}
	for end := time.Now().Add(20 * time.Minute); time.Now().Before(end); {
		sleep(t.Context(), time.Duration(rng.Int64N(int64(4*time.Second))))
		trouble(rng.IntN(kinds))
	}
	return counts
}

// played waits until moves are accepted again.
func (i *image) played() {
	i.t.Helper()
	from := i.status().Profiles[0].Moves
	until(i.t, "play goes on", func() bool {
		now := i.status().Profiles[0].Moves
		return now > from+100 || now < from
	})
}
