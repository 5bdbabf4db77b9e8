package pebblestore_test

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"

	"wamble/internal/prooftest"
	"wamble/runner"
	"wamble/runner/pebblestore"
)

const (
	stages = 4
	orders = 256
)

// TestPipeline sends orders through four workers, each of which counts what it saw in shared
// state and passes it on, with readers beside them. Every stage must count every order once.
// The original needs its database gate for this; here only the committer locks.
func TestPipeline(t *testing.T) {
	t.Parallel()
	var target atomic.Uint64
	target.Store(1 << 62)
	done := make(chan struct{}, 1)
	r, err := runner.Open(pebblestore.AtFS(vfs.NewMem(), "/pipeline",
		pebblestore.Options{Durability: pebblestore.Write}), runner.Options{
		Create: true, MinFree: -1,
		Policy: runner.Policy{RetryBudget: 50, RequeueAttempts: 50},
		Sinks: runner.Sinks{Metrics: func(worker uint64, m runner.Metrics) {
			if worker == stages-1 && m.Successes == target.Load() {
				done <- struct{}{}
			}
		}},
	})
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	rounds := prooftest.Sized(1, 1, 20)
	workers := startStages(t, r)
	stop := readers(t, r, 3)
	for round := range rounds {
		target.Store(uint64((round + 1) * orders))
		for o := range orders {
			m := runner.Message{To: 0, ID: fmt.Appendf(nil, "%d/%d", round, o)}
			if _, err := r.Post(context.Background(), &m); err != nil {
				t.Fatal(err)
			}
		}
		<-done
	}
	stop()
	for stage, w := range workers {
		if got, want := counted(t, r, stage), uint64(rounds*orders); got != want {
			t.Errorf("stage %d counted %d, want %d", stage, got, want)
		}
		w.Stop()
		if err := w.Join(); err != nil {
			t.Errorf("worker %d: %v", stage, err)
		}
		m := w.Metrics()
		if got, want := m.Successes, uint64(rounds*orders); got != want {
			t.Errorf("stage %d: %d successes, want %d", stage, got, want)
		}
		if m.Attempts != m.Successes+m.Retryable || m.NonRetryable+m.DeadLetters+m.LeasesLost+m.Duplicates != 0 ||
			w.Steps() != m.Successes {
			t.Errorf("stage %d: %+v", stage, m)
		}
	}
	rows, err := r.Outbox(0, 1_000_000)
	if err != nil || len(rows) != rounds*orders {
		t.Errorf("%d orders came out, %v, want %d", len(rows), err, rounds*orders)
	}
}

func startStages(t *testing.T, r *runner.Runner) (workers []*runner.Worker) {
	t.Helper()
	for stage := range stages {
		w, err := r.NewWorker(uint64(stage), runner.WorkerOptions{Handler: pipelineStage(stage)})
		if err != nil {
			t.Fatal(err)
		}
		if err := w.Start(context.Background()); err != nil {
			t.Fatal(err)
		}
		workers = append(workers, w)
	}
	return workers
}

func stageKey(stage int) []byte { return fmt.Appendf(nil, "stage/%d", stage) }

func pipelineStage(stage int) runner.Handler {
	return func(_ context.Context, tx *runner.Tx, d *runner.Delivery) error {
		old, err := tx.Get(stageKey(stage))
		if err != nil && !errors.Is(err, runner.ErrNotFound) {
			return err
		}
		var n uint64
		if len(old) == 8 {
			n = binary.LittleEndian.Uint64(old)
		}
		if err := tx.Put(stageKey(stage), binary.LittleEndian.AppendUint64(nil, n+1)); err != nil {
			return err
		}
		// All stages write one key, which causes conflicts.
		if n%64 == 0 {
			if _, err := tx.Get([]byte("shared")); err != nil && !errors.Is(err, runner.ErrNotFound) {
				return err
			}
			if err := tx.Put([]byte("shared"), d.ID); err != nil {
				return err
			}
		}
		if stage == stages-1 {
			return tx.Emit(d.ID)
		}
		next := runner.Message{To: uint64(stage + 1), ID: d.ID}
		return tx.Send(&next)
	}
}

func counted(t *testing.T, r *runner.Runner, stage int) (n uint64) {
	t.Helper()
	err := r.View(func(get func([]byte) ([]byte, error)) error {
		v, err := get(stageKey(stage))
		if err == nil {
			n = binary.LittleEndian.Uint64(v)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// readers read state and listings until the returned function is called. In every snapshot an
// order is counted by a stage only after the one before it.
func readers(t *testing.T, r *runner.Runner, n int) (stop func()) {
	quit := make(chan struct{})
	var wg sync.WaitGroup
	for range n {
		wg.Go(func() {
			for {
				select {
				case <-quit:
					return
				default:
				}
				err := r.View(func(get func([]byte) ([]byte, error)) error {
					before := uint64(1 << 62)
					for stage := range stages {
						v, err := get(stageKey(stage))
						if errors.Is(err, runner.ErrNotFound) {
							v = make([]byte, 8)
						} else if err != nil {
							return err
						}
						now := binary.LittleEndian.Uint64(v)
						if now > before {
							t.Errorf("stage %d has counted %d, the one before it %d", stage, now, before)
						}
						before = now
					}
					return nil
				})
				if err != nil {
					t.Error(err)
					return
				}
				if _, err := r.Inbox(1, 0, 10); err != nil {
					t.Error(err)
				}
				r.Stats()
			}
		})
	}
	return func() { close(quit); wg.Wait() }
}
