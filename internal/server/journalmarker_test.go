package server

import (
	"context"
	"testing"

	"wamble/internal/store/postgres/pglog"
	"wamble/runner"
	"wamble/runner/memstore"
)

// TestMarkerEmptied: a stop marks the journal in PostgreSQL as empty only if no message is
// left in it and this machine has every partition, and a start removes that mark.
func TestMarkerEmptied(t *testing.T) {
	t.Parallel()
	log := pglog.Open(pglog.Options{})
	log.Close() // no database is asked
	r, err := runner.Open(memstore.New(), runner.Options{Create: true, MinFree: -1})
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	queue, err := runner.Handle(r, "default", func(context.Context, *runner.Job[string]) error { return nil },
		runner.WorkerOptions{})
	if err != nil {
		t.Fatal(err)
	}
	const text = `(def journal "postgres") (def db-name "x")`
	s := &Server{dir: t.TempDir(), o: Options{Config: loadConf(t, text)},
		sharedJournal: sharedJournal{log: log, name: "main"}}
	s.rebalancer.partitions = []*partition{{s: s, runner: r}}
	is := func(when string, want bool) {
		t.Helper()
		if s.emptied() {
			s.writeEmptiedMarker()
		}
		m, err := readMarker(s.dir)
		if err != nil || m.emptied != want || m.location != sharedJournalLocation(s.o.Config) ||
			m.id != r.JournalID().String() {
			t.Errorf("%s: got %+v, %v, want emptied: %v", when, m, err, want)
		}
	}
	begin := func() {
		t.Helper()
		if err := s.rebalancer.partitions[0].writeMarker(r); err != nil {
			t.Fatal(err)
		}
	}
	begin()
	if _, err := queue.Post(t.Context(), "a move"); err != nil {
		t.Fatal(err)
	}
	is("with a message", false)
	if _, err := queue.Worker().Tick(t.Context()); err != nil {
		t.Fatal(err)
	}
	is("without", true)
	begin()
	if m, err := readMarker(s.dir); err != nil || m.emptied {
		t.Errorf("after a start: got %+v, %v, want that it is not emptied", m, err)
	}
	s.o.Config = loadConf(t, text+"(def shards 2)")
	s.rebalancer.partitions = append(s.rebalancer.partitions, nil)
	begin()
	is("without a part", false)
}
