//go:build proof

package server

import (
	"math"
	"runtime/debug"
	runtimemetrics "runtime/metrics"
	"testing"
	"time"

	"wamble/internal/loader"
	"wamble/internal/prooftest"
	"wamble/internal/store/postgres/pgtest"
)

// TestLongOutage: the database is away for a minute under load. Play goes on, memory does not
// grow with the backlog, and then all of it is in the database.
func TestLongOutage(t *testing.T) {
	p := prooftest.Needs(t, "a machine for itself")
	away, least := 3*time.Second, uint64(5_000)
	if prooftest.Soaking() {
		away, least = time.Minute, 200_000
	}
	cluster := pgtest.Start(t, false)
	db := cluster.Migrated(t)
	s := serve(t, Options{}, conf(postgresConf(db))).ready()
	load := startLoad(t, loader.Options{Server: s.Addresses().UDP, Clients: 32})
	moves := func() uint64 { return s.Status(t.Context()).Profiles[0].Moves }
	until(t, "play begins", func() bool { return moves() > 1000 })
	cluster.Down(t)
	until(t, "the server notices", func() bool { return s.Status(t.Context()).Profiles[0].Away })

	began, from := time.Now(), moves()
	until(t, "play goes on", func() bool { return time.Since(began) >= away/6 && moves() > from+least/6 })
	before, at := heap(), moves()
	sleep(t.Context(), away-time.Since(began))
	until(t, "enough is played", func() bool { return moves() > from+least })
	after, depth := heap(), s.Status(t.Context()).Profiles[0].Depth
	t.Logf("measured: %d moves in %v without the database, %d messages wait; the heap went from %d to %d KiB over %d of them",
		moves()-from, time.Since(began).Round(time.Millisecond), depth, before>>10, after>>10, moves()-at)
	// The memory for the journal's current batch varies, Pebble's memtable grows to 64 MiB, and the
	// loader's list of accepted moves has 16 bytes for each; nothing else may grow with the moves.
	if after > before+(24+64)<<20+16*(moves()-at) {
		t.Errorf("the heap grew from %d to %d bytes", before, after)
	}
	if depth == 0 {
		t.Error("nothing waits for the database, though it is away")
	}

	cluster.Up(t)
	until(t, "the database is back", func() bool { return !s.Status(t.Context()).Profiles[0].Away })
	catchUp(t, p, s)
	r := load.end()
	drained(t, s)
	s.end()
	v, err := loader.Verify(t.Context(), r, openPostgres(t, db))
	if err != nil {
		t.Fatal(err)
	}
	if !v.Exact() || v.Kept != r.AcceptedCount() || len(r.Unresolved()) != 0 {
		t.Errorf("%+v, %d accepted, %d never answered", v, r.AcceptedCount(), len(r.Unresolved()))
	}
}

// mostLag bounds how far the database may be behind players who go on, and mostStill how long
// they may be kept from playing while it catches up.
const (
	mostLag   = time.Second
	mostStill = 2 * time.Second
)

// catchUp waits until the database is hardly behind. Meanwhile players play on.
func catchUp(t *testing.T, p *prooftest.Proof, s *here) {
	t.Helper()
	began, last, still := time.Now(), time.Now(), time.Duration(0)
	from := s.Status(t.Context()).Profiles[0]
	moves := from.Moves
	until(t, "the database catches up", func() bool {
		now, status := time.Now(), s.Status(t.Context()).Profiles[0]
		if status.Moves > moves {
			moves, last = status.Moves, now
		} else {
			still = max(still, now.Sub(last))
		}
		return status.Age.Duration() < mostLag
	})
	t.Logf("measured: %d messages, the oldest of %v, were caught up in %v; meanwhile %d moves, never nobody for more than %v",
		from.Depth, from.Age.Duration().Round(time.Millisecond), time.Since(began).Round(time.Millisecond),
		moves-from.Moves, still.Round(time.Millisecond))
	p.Bound("what nobody played while the database caught up", still, mostStill)
}

// drained waits until the database has everything, as long as it makes progress.
func drained(t *testing.T, s *here) {
	t.Helper()
	for left := uint64(math.MaxUint64); left > 0; {
		before := left
		until(t, "the journal drains", func() bool {
			left = s.Status(t.Context()).Profiles[0].Depth
			return left < before
		})
	}
}

// heap returns the heap in use after the last collection.
func heap() uint64 {
	debug.FreeOSMemory() // collects
	sample := []runtimemetrics.Sample{{Name: "/memory/classes/heap/objects:bytes"}}
	runtimemetrics.Read(sample)
	return sample[0].Value.Uint64()
}
