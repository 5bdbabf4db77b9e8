package runner_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"wamble/runner"
	"wamble/runner/internal/mailbox"
	"wamble/runner/memstore"
)

// recorded runs a handler in a runner of its own, which drive drives, and returns the
// recording.
func recorded(t *testing.T, h runner.Handler, o runner.WorkerOptions,
	drive func(r *runner.Runner, w *runner.Worker)) []byte {
	t.Helper()
	var rec bytes.Buffer
	recorder := runner.NewRecorder(&rec)
	r := open(t, runner.Options{Sinks: runner.Sinks{Replay: recorder.Event}, Policy: runner.Policy{RetryDelay: -1}})
	o.Handler = h
	w, err := r.NewWorker(7, o)
	if err != nil {
		t.Fatal(err)
	}
	drive(r, w)
	if _, err := recorder.Close(); err != nil {
		t.Fatal(err)
	}
	return rec.Bytes()
}

// replayed replays a recording into an empty runner. It returns the number of runs and the
// state under the key "n".
func replayed(t *testing.T, rec []byte, h runner.Handler) (int, string, error) {
	t.Helper()
	r := open(t, runner.Options{})
	n, err := runner.Replay(t.Context(), bytes.NewReader(rec), r, map[uint64]runner.Handler{7: h})
	state := ""
	bad := r.View(func(get func([]byte) ([]byte, error)) error {
		value, err := get([]byte("n"))
		state = string(value)
		if errors.Is(err, runner.ErrNotFound) {
			err = nil
		}
		return err
	})
	if bad != nil {
		t.Fatal(bad)
	}
	return n, state, err
}

// count adds a dot to the state under "n", and fails with the former state.
func count(tx *runner.Tx, fails bool) error {
	n := get(tx, "n")
	if fails {
		return fmt.Errorf("n is %q", n)
	}
	return tx.Put([]byte("n"), []byte(n+"."))
}

// TestReplayDelivery: a replayed handler sees the same delivery as when it was recorded.
func TestReplayDelivery(t *testing.T) {
	handler := func(ctx context.Context, _ *runner.Tx, d *runner.Delivery) error {
		if err := d.Renew(ctx); err != nil {
			return err
		}
		err := fmt.Errorf("row %d, attempt %d, timer %t %+v", d.Row.Seq, d.Attempts, d.FromTimer, d.Timer)
		if d.Attempts == 3 {
			return runner.Discard(err)
		}
		return err
	}
	rec := recorded(t, handler, runner.WorkerOptions{}, func(r *runner.Runner, w *runner.Worker) {
		postAll(t, r, 2, true)
		m := &runner.Message{To: 7, ID: []byte("timer"), Kind: runner.Timer}
		if _, err := r.Arm(t.Context(), time.Now().Add(-time.Minute), m); err != nil {
			t.Fatal(err)
		}
		for range 4 {
			tick(t, w)
		}
	})
	if n, _, err := replayed(t, rec, handler); n != 9 || err != nil {
		t.Errorf("got %d runs and %v, want 9 and no difference", n, err)
	}
}

// TestReplayConflict: of a message that ran again after a conflict only the committed run
// counts, and a failure beside it is not run before it.
func TestReplayConflict(t *testing.T) {
	for _, budget := range []int{1, 4} { // attempts at settling
		t.Run(fmt.Sprint(budget), func(t *testing.T) {
			var disturb func()
			handler := func(_ context.Context, tx *runner.Tx, d *runner.Delivery) error {
				get(tx, "other") // what disturb changes
				if disturb != nil {
					disturb()
				}
				return count(tx, string(d.ID) == "2" && d.Attempts == 1)
			}
			rec := recorded(t, handler,
				runner.WorkerOptions{Policy: &runner.Policy{RequeueAttempts: budget, RetryDelay: -1}},
				func(r *runner.Runner, w *runner.Worker) {
					postAll(t, r, 4, true)
					left := 2
					disturb = func() {
						if left--; left >= 0 {
							put(t, r, "other", fmt.Sprint(left))
						}
					}
					tick(t, w)
					tick(t, w)
					noneDead(t, r)
				})
			disturb = nil
			if _, state, err := replayed(t, rec, handler); state != "...." || err != nil {
				t.Errorf("got %q and %v, want four effects and no difference", state, err)
			}
		})
	}
}

// TestReplayInterrupted: a run whose context ended, or whose row was lost, is not replayed:
// its outcome does not depend on the message alone.
func TestReplayInterrupted(t *testing.T) {
	stop := func() {}
	handler := func(ctx context.Context, tx *runner.Tx, _ *runner.Delivery) error {
		if stop(); ctx.Err() != nil {
			return ctx.Err()
		}
		return count(tx, false)
	}
	rec := recorded(t, handler, runner.WorkerOptions{}, func(r *runner.Runner, w *runner.Worker) {
		postAll(t, r, 1, false)
		ctx, cancel := context.WithCancel(t.Context())
		stop = cancel
		if _, err := w.Tick(ctx); err != nil {
			t.Fatal(err)
		}
		stop = func() {}
		tick(t, w)
	})
	if n, state, err := replayed(t, rec, handler); n != 1 || state != "." || err != nil {
		t.Errorf("got %d runs, %q and %v, want the one that was committed", n, state, err)
	}
}

// TestReplayCrash: a message that is buried because processes crashed while it ran has no
// run, and is not replayed.
func TestReplayCrash(t *testing.T) {
	var rec bytes.Buffer
	recorder := runner.NewRecorder(&rec)
	storage := memstore.New()
	never := func(context.Context, *runner.Tx, *runner.Delivery) error { t.Error("it ran"); return nil }
	for range 2 {
		r, err := runner.Open(storage,
			runner.Options{Create: true, MinFree: -1, Sinks: runner.Sinks{Replay: recorder.Event},
				Policy: runner.Policy{RetryBudget: 1}})
		if err != nil {
			t.Fatal(err)
		}
		if r.Stats().Epoch == 1 {
			postAll(t, r, 1, false)
			if err := mailbox.Claim(t.Context(), r, 7, 1, time.Now().Add(time.Hour)); err != nil {
				t.Fatal(err)
			}
		} else {
			w, err := r.NewWorker(7, runner.WorkerOptions{Handler: never})
			if err != nil {
				t.Fatal(err)
			}
			tick(t, w)
			if n := r.Stats().DeadLetters; n != 1 {
				t.Fatalf("%d dead letters", n)
			}
		}
		if err := r.Close(); err != nil {
			t.Fatal(err)
		}
	}
	if n, _, err := replayed(t, rec.Bytes(), never); n != 0 || err != nil {
		t.Errorf("got %d runs and %v, want none", n, err)
	}
}

// TestRecordingOfAnyWorker: a recording names every worker, and one of version 1, whose
// workers have 32 bits, is read as before.
func TestRecordingOfAnyWorker(t *testing.T) {
	var rec bytes.Buffer
	recorder := runner.NewRecorder(&rec)
	want := runner.ReplayEvent{Kind: runner.TimerResult, Worker: 1<<40 + 7, Seq: 3, Err: errors.New("why"),
		Frame: []byte("frame"),
		Row:   runner.Row{Worker: 1<<40 + 7, Seq: 4}, Attempts: 2, FromTimer: true}
	recorder.Event(want)
	old := "RREC\x01\x03\x03" + // kind, flags
		"\x07\x00\x00\x00" + "\x03\x00\x00\x00\x00\x00\x00\x00" + "\x04\x00\x00\x00\x00\x00\x00\x00" + // worker, seq, row
		strings.Repeat("\x00", 16) + "\x02\x00\x00\x00" + "\x03\x00" + "\x05\x00\x00\x00" + "why" + "frame"
	for _, x := range []struct {
		name, bytes string
		worker      uint64
	}{{"version 2", rec.String(), 1<<40 + 7}, {"version 1", old, 7}} {
		want.Worker, want.Row.Worker = x.worker, x.worker
		n := 0
		err := runner.ReadRecording(strings.NewReader(x.bytes), 100, func(got runner.ReplayEvent) error {
			n++
			if fmt.Sprintf("%+v", got) != fmt.Sprintf("%+v", want) {
				t.Errorf("%s: got %+v, want %+v", x.name, got, want)
			}
			return nil
		})
		if n != 1 || err != nil {
			t.Errorf("%s: %d events, %v", x.name, n, err)
		}
	}
}
