package runner_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"wamble/runner"
	"wamble/runner/internal/mailbox"
	"wamble/runner/memstore"
	"wamble/runner/runnertest"
)

// metered is a storage that counts the bytes that scans have returned.
type metered struct {
	runner.Storage
	read *int
}

func (m metered) Open(onFail func(error)) (runner.Backend, error) {
	b, err := m.Storage.Open(onFail)
	return meteredBackend{b, m.read}, err
}

type meteredBackend struct {
	runner.Backend
	read *int
}

func (m meteredBackend) Scan(lo, hi []byte, visit func(key, value []byte) bool) error {
	return m.Backend.Scan(lo, hi, func(key, value []byte) bool {
		*m.read += len(value)
		return visit(key, value)
	})
}

// TestOrderedReadsWhatItTakes: an ordered worker takes a backlog strictly in sequence,
// whatever its messages' priorities, and reads each about once, however long the backlog is.
func TestOrderedReadsWhatItTakes(t *testing.T) {
	const total, size, perClaim = 2000, 1000, 20
	read := 0
	storage, options := metered{memstore.New(), &read}, runner.Options{Create: true, MinFree: -1}
	r, err := runner.Open(storage, options)
	if err != nil {
		t.Fatal(err)
	}
	for i := range total {
		m := &runner.Message{Kind: runner.Command, To: 7, ID: fmt.Append(nil, i), Payload: make([]byte, size)}
		if i%7 == 0 {
			m.Flags = runner.HighPriority
		}
		if _, err := r.Post(t.Context(), m); err != nil {
			t.Fatal(err)
		}
	}
	if err := r.Close(); err != nil {
		t.Fatal(err)
	}
	// Another process: nothing is cached, everything is read.
	if r, err = runner.Open(storage, options); err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	last, most := uint64(0), 0
	w, err := r.NewWorker(7, runner.WorkerOptions{Ordered: true, MaxBatch: total, MaxBytes: perClaim * size,
		Batch: func(_ context.Context, b *runner.Batched) error {
			most = max(most, len(b.Deliveries))
			for _, d := range b.Deliveries {
				if d.Row.Seq != last+1 {
					t.Fatalf("message %d came after %d", d.Row.Seq, last)
				}
				last = d.Row.Seq
			}
			return nil
		}})
	if err != nil {
		t.Fatal(err)
	}
	read = 0
	for last < total {
		before := last
		if _, err := w.Tick(t.Context()); err != nil {
			t.Fatal(err)
		}
		if last == before {
			t.Fatalf("the worker stands still after message %d", last)
		}
	}
	if most > perClaim {
		t.Errorf("got batches of %d messages, want at most %d", most, perClaim)
	}
	// Each band is read up to the size of one batch, and some rows twice.
	if got, want := read, 4*total*size; got > want {
		t.Errorf("read %d bytes for %d bytes of messages, want at most %d", got, total*size, want)
	}
}

// TestOrderedStopsAtAConflict: no message of an ordered inbox settles before an earlier one
// has, whatever its outcome is when it runs again, and no settled message runs again.
func TestOrderedStopsAtAConflict(t *testing.T) {
	hard := errors.New("hard")
	for _, x := range []struct {
		name  string
		again error // of message 2, when it runs after its conflict
		left  string
		ran   string
	}{
		{"it succeeds", nil, "", "1 2 3 4 2 3 4"},
		{"it asks for a retry", runner.Retry(hard, time.Minute), "2 3 4", "1 2 3 4 2 2 3 4"},
		{"it fails", hard, "2 3 4", "1 2 3 4 2 2 3 4"},
		{"it meets conflicts for good", runner.ErrConflict, "2 3 4", "1 2 3 4 2 2 3 4"},
		{"it is discarded", runner.Discard(hard), "", "1 2 3 4 2 3 4"},
		{"somebody takes it", runner.ErrLeaseLost, "2 3 4", "1 2 3 4 2 2 3 4"},
	} {
		for _, way := range []string{"together", "apart", "slow"} {
			t.Run(x.name+"/"+way, func(t *testing.T) {
				clock := runnertest.NewClock(100)
				r := open(t, runner.Options{Now: clock.Now, Sleep: clock.Sleep,
					Policy: runner.Policy{RetryDelay: time.Minute}})
				postAll(t, r, 4, way == "together")
				var ran []string
				runs := 0 // of message 2
				w, err := r.NewWorker(7, runner.WorkerOptions{Ordered: true,
					Handler: func(ctx context.Context, tx *runner.Tx, d *runner.Delivery) error {
						ran = append(ran, fmt.Sprint(d.Row.Seq))
						if way == "slow" {
							clock.Advance(10 * time.Millisecond) // each is settled by itself
						}
						if d.Row.Seq == 2 {
							if runs++; runs == 2 && errors.Is(x.again, runner.ErrLeaseLost) {
								clock.Advance(2 * time.Second)
								if err := mailbox.Claim(t.Context(), r, 7, d.Row.Seq, time.UnixMilli(30_000)); err != nil {
									t.Error(err)
								}
							} else if runs == 2 && x.again != nil {
								return x.again
							}
							if _, err := tx.Get([]byte("k")); err != nil && !errors.Is(err, runner.ErrNotFound) {
								return err
							}
							if runs == 1 {
								if _, err := r.Update(ctx, runner.AttemptPolicy{},
									func(tx *runner.Tx) error {
										return tx.Put([]byte("k"),
											[]byte("theirs"))
									}); err != nil {
									t.Error(err)
								}
							}
						}
						return tx.Emit(fmt.Append(nil, d.Row.Seq))
					}})
				if err != nil {
					t.Fatal(err)
				}
				tick := func() {
					t.Helper()
					if _, err := w.Tick(t.Context()); err != nil {
						t.Fatal(err)
					}
				}
				tick()
				rows, err := r.Inbox(7, 0, 10)
				if err != nil {
					t.Fatal(err)
				}
				var left []string
				for _, row := range rows {
					left = append(left, fmt.Sprint(row.Seq))
				}
				if got := strings.Join(left, " "); got != x.left {
					t.Errorf("rows %q are left, want %q", got, x.left)
				}
				clock.Advance(2 * time.Minute)
				tick()
				tick()
				want := x.ran
				if way == "slow" {
					want = strings.Replace(want, "3 4 ", "", 1)
				}
				if got := strings.Join(ran, " "); got != want {
					t.Errorf("ran %s, want %s", got, want)
				}
				out, err := r.Outbox(0, 10)
				if err != nil {
					t.Fatal(err)
				}
				var effects []string
				for _, row := range out {
					effects = append(effects, string(row.Message))
				}
				want = "1 2 3 4"
				if x.name == "it is discarded" {
					want = "1 3 4"
				}
				if got := strings.Join(effects, " "); got != want {
					t.Errorf("effects in the order %s, want %s", got, want)
				}
				if s := r.Stats(); s.Inboxes[0].Depth != 0 {
					t.Errorf("%d messages are left at the end", s.Inboxes[0].Depth)
				}
			})
		}
	}
}

// TestOrderedLosesOneBeforeAFailure: an ordered worker that has lost a message and failed at
// the next one releases the rest, and goes on when the first is free.
func TestOrderedLosesOneBeforeAFailure(t *testing.T) {
	clock := runnertest.NewClock(100)
	r := open(t, runner.Options{Now: clock.Now, Sleep: clock.Sleep, Policy: runner.Policy{RetryDelay: -1}})
	postAll(t, r, 3, true)
	failed := false
	w, err := r.NewWorker(7, runner.WorkerOptions{Ordered: true,
		Handler: func(_ context.Context, tx *runner.Tx, d *runner.Delivery) error {
			if d.Row.Seq == 2 && !failed {
				failed = true
				clock.Advance(2 * time.Second)
				if err := mailbox.Claim(t.Context(), r, 7, 1, time.UnixMilli(5000)); err != nil {
					t.Error(err)
				}
				return errors.New("hard")
			}
			return tx.Emit(fmt.Append(nil, d.Row.Seq))
		}})
	if err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if n, err := w.Tick(t.Context()); n != 0 || err != nil {
			t.Errorf("completed %d, %v, while another has the first message", n, err)
		}
	}
	clock.Set(5001)
	if n, err := w.Tick(t.Context()); n != 3 || err != nil {
		t.Errorf("completed %d, %v, want all", n, err)
	}
	out, err := r.Outbox(0, 10)
	if err != nil {
		t.Fatal(err)
	}
	for i, row := range out {
		if string(row.Message) != fmt.Sprint(i+1) {
			t.Errorf("effect %d is that of message %s", i+1, row.Message)
		}
	}
}
