package runner_test

import (
	"context"
	"errors"
	"testing"

	"wamble/runner"
	"wamble/runner/memstore"
	"wamble/runner/runnertest"
)

// TestLoopErrorsAreTold: a started worker of a runner that has failed reports that once,
// counts each occurrence, and goes on when the runner is reopened.
func TestLoopErrorsAreTold(t *testing.T) {
	storage := runnertest.NewFaulty(memstore.New())
	told := make(chan runner.LogEvent, 100)
	rounds := make(chan struct{}, 1000)
	done := make(chan struct{})
	o := runner.Options{Create: true, MinFree: -1, Sinks: runner.Sinks{Log: func(ev runner.LogEvent) { told <- ev }}}
	r, err := runner.Open(storage, o)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	own := &runner.Sinks{Log: func(ev runner.LogEvent) { told <- ev }, Metrics: func(_ uint64, m runner.Metrics) {
		if m.LoopErrors > 0 {
			select {
			case rounds <- struct{}{}:
			default:
			}
		}
	}}
	w, err := r.NewWorker(7, runner.WorkerOptions{MaxIdle: 1, Sinks: own,
		Handler: func(context.Context, *runner.Tx, *runner.Delivery) error {
			close(done)
			return nil
		}})
	if err != nil {
		t.Fatal(err)
	}
	boom := errors.New("boom")
	storage.FailAfter(0, boom)
	if _, err := r.Post(t.Context(), &runner.Message{To: 7, ID: []byte("lost")}); !errors.Is(err, boom) {
		t.Fatalf("posted: %v", err)
	}
	if err := w.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	for range 3 {
		<-rounds
	}
	ev := <-told
	if ev.Kind != runner.LogWorkerError || ev.Worker != 7 || !errors.Is(ev.Err, boom) {
		t.Errorf("told %v of worker %d: %v", ev.Kind, ev.Worker, ev.Err)
	}
	if len(told) > 0 {
		t.Errorf("it is told again: %v", (<-told).Err)
	}
	if n := w.Metrics().LoopErrors; n < 3 {
		t.Errorf("%d errors are counted after three rounds", n)
	}
	if err := r.Reopen(); err != nil {
		t.Fatal(err)
	}
	if _, err := r.Post(t.Context(), &runner.Message{To: 7, ID: []byte("a")}); err != nil {
		t.Fatal(err)
	}
	<-done
}

// TestSinksOfAWorker: a worker has the sinks of its runner, unless it has its own.
func TestSinksOfAWorker(t *testing.T) {
	var got []string
	sinks := func(name string) runner.Sinks {
		return runner.Sinks{
			Log:     func(runner.LogEvent) { got = append(got, name+" log") },
			Replay:  func(ev runner.ReplayEvent) { got = append(got, name+" replay") },
			Metrics: func(uint64, runner.Metrics) { got = append(got, name+" metrics") },
		}
	}
	r := open(t, runner.Options{Sinks: sinks("runner")})
	own := sinks("own")
	for name, set := range map[string]*runner.Sinks{"runner": nil, "own": &own} {
		w, err := r.NewWorker(7, runner.WorkerOptions{Sinks: set, Handler: func(context.Context, *runner.Tx,
			*runner.Delivery) error {
			return runner.Discard(errors.New("no"))
		}})
		if err != nil {
			t.Fatal(err)
		}
		got = nil
		postAll(t, r, 1, false)
		if _, err := w.Tick(t.Context()); err != nil {
			t.Fatal(err)
		}
		kinds := map[string]bool{}
		for _, s := range got {
			kinds[s] = true
		}
		if len(kinds) != 3 || !kinds[name+" log"] || !kinds[name+" replay"] || !kinds[name+" metrics"] {
			t.Errorf("with the sinks of %s: %v", name, got)
		}
	}
}

// TestNewWorkerTellsUnlocked: a sink that is called for a new worker may call the runner.
func TestNewWorkerTellsUnlocked(t *testing.T) {
	r := open(t, runner.Options{})
	seen := make(chan map[uint64]runner.Metrics, 1)
	sinks := &runner.Sinks{Metrics: func(uint64, runner.Metrics) { seen <- r.Metrics() }}
	var err error
	within(t, "NewWorker", func() {
		_, err = r.NewWorker(7, runner.WorkerOptions{Sinks: sinks,
			Handler: func(context.Context, *runner.Tx, *runner.Delivery) error { return nil }})
	})
	if err != nil {
		t.Fatal(err)
	}
	if all := <-seen; len(all) != 1 {
		t.Errorf("the sink saw %v", all)
	}
}
