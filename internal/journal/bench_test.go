package journal_test

import (
	"context"
	"fmt"
	"path/filepath"
	"testing"
	"time"

	"wamble/internal/journal"
	"wamble/internal/store"
	"wamble/internal/store/postgres"
	"wamble/internal/store/postgres/pgtest"
	"wamble/internal/store/sqlite"
	"wamble/internal/store/storetest"
	"wamble/runner"
	"wamble/runner/pebblestore"
)

// BenchmarkDrain measures moves per second from the inbox to the committed row,
// with fsync in the journal and in the store, and beside it the same plans
// applied to a twin of the store without any journal.
func BenchmarkDrain(b *testing.B) {
	for _, store := range []struct {
		name string
		open func(b *testing.B) store.Store
	}{{"sqlite", benchSQLite}, {"postgres", benchPostgres}} {
		for _, boards := range []int{256, 10_000} {
			b.Run(fmt.Sprintf("%s/%d", store.name, boards), func(b *testing.B) {
				benchDrain(b, store.open(b), store.open(b), boards)
			})
		}
	}
}

const (
	movesPerTurn    = 5000
	movesPerMessage = 20 // as a busy loop makes them
)

func benchDrain(b *testing.B, db, twin store.Store, boards int) {
	limits := journal.Limits{Intents: 512, Bytes: 64 << 10} // the default
	tr, start := storetest.NewTraffic(boards, 1)
	start.Profile = profile
	r, err := runner.Open(pebblestore.At(filepath.Join(b.TempDir(), "journal"), pebblestore.Options{}),
		runner.Options{Schema: journal.Schema, Create: true, MinFree: -1})
	if err != nil {
		b.Fatal(err)
	}
	defer r.Close()
	d, err := journal.NewDrain(b.Context(), r, db, journal.DrainOptions{Profile: profile, Limits: limits})
	if err != nil {
		b.Fatal(err)
	}
	// Both begin with players and boards, which are no messages.
	for _, s := range []store.Store{db, twin} {
		begin := start
		begin.Profile = "before"
		if err := s.Apply(b.Context(), begin); err != nil {
			b.Fatal(err)
		}
	}
	var planner journal.Planner
	var ours, theirs, cpu time.Duration
	through := uint64(0)
	for b.Loop() {
		queue := fill(b, r, d, tr)
		t0, used := time.Now(), cpuTime()
		if err := d.DrainAll(context.Background(), nil); err != nil {
			b.Fatal(err)
		}
		t1 := time.Now()
		cpu += cpuTime() - used
		for len(queue) > 0 {
			p, n, err := planner.Make(queue, limits.Adapt(6*movesPerMessage*len(queue)))
			if err != nil {
				b.Fatal(err)
			}
			if err := twin.Apply(b.Context(),
				store.Batch{Profile: profile, After: through, Through: p.Through, Intents: p.Intents}); err != nil {
				b.Fatal(err)
			}
			through, queue = p.Through, queue[n:]
		}
		ours, theirs = ours+t1.Sub(t0), theirs+time.Since(t1)
	}
	moves := float64(b.N) * movesPerTurn
	b.ReportMetric(moves/ours.Seconds(), "moves/s")
	b.ReportMetric(float64(cpu.Nanoseconds())/moves, "cpu-ns/move")
	b.ReportMetric(moves/theirs.Seconds(), "apply-moves/s")
	b.ReportMetric(theirs.Seconds()/ours.Seconds(), "of-apply")
	b.ReportMetric(0, "ns/op")
}

// fill puts the messages of one turn into the journal and returns them.
func fill(b *testing.B, r *runner.Runner, d *journal.Drain, tr *storetest.Traffic) []journal.Message {
	durable := make(chan error, 1)
	g := r.NewGroup(func(_ *runner.Group, err error) { durable <- err })
	var frames [][]byte
	for range movesPerTurn / movesPerMessage {
		frame := journal.Begin(nil)
		for _, in := range tr.Batch(movesPerMessage).Intents {
			frame = journal.Append(frame, in)
		}
		if err := journal.Add(g, d.Worker(), frame); err != nil {
			b.Fatal(err)
		}
		frames = append(frames, frame)
	}
	if err := r.Submit(g); err != nil {
		b.Fatal(err)
	}
	if err := <-durable; err != nil {
		b.Fatal(err)
	}
	var queue []journal.Message
	for i, frame := range frames {
		m, err := journal.MakeMessage(g.Row(i).Seq, frame)
		if err != nil {
			b.Fatal(err)
		}
		queue = append(queue, m)
	}
	return queue
}

func benchSQLite(b *testing.B) store.Store {
	s, err := sqlite.Open(sqlite.Options{Path: filepath.Join(b.TempDir(), "games.db")})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { s.Close() })
	if err := s.Migrate(b.Context(), nil); err != nil {
		b.Fatal(err)
	}
	return s
}

func benchPostgres(b *testing.B) store.Store {
	s, err := postgres.Open(pgtest.Start(b, true).Migrated(b))
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { s.Close() })
	return s
}
