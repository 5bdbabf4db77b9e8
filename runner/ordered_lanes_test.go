package runner_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"wamble/internal/prooftest"
	"wamble/runner"
	"wamble/runner/internal/mailbox"
)

// TestOrderedSideBySide: handlers of an ordered worker run concurrently, the last one ends
// first, and their effects are committed in order.
func TestOrderedSideBySide(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := open(t, runner.Options{})
		const n, lanes = 12, 4
		var mu sync.Mutex
		running, most := 0, 0
		w, err := r.NewWorker(7, runner.WorkerOptions{Ordered: true, Concurrency: lanes,
			Handler: func(_ context.Context, tx *runner.Tx, d *runner.Delivery) error {
				mu.Lock()
				running++
				most = max(most, running)
				mu.Unlock()
				time.Sleep(time.Duration(lanes-(d.Row.Seq-1)%lanes) * time.Second)
				mu.Lock()
				running--
				mu.Unlock()
				return tx.Emit(fmt.Append(nil, d.Row.Seq))
			}})
		if err != nil {
			t.Fatal(err)
		}
		postAll(t, r, n, true)
		begin := time.Now()
		if err := w.Start(t.Context()); err != nil {
			t.Fatal(err)
		}
		for w.Steps() < n {
			time.Sleep(100 * time.Millisecond)
		}
		// One after the other they would take 30 seconds.
		if took := time.Since(begin); most != lanes || took > 12*time.Second {
			t.Errorf("%d ran at once, in %v, want %d", most, took, lanes)
		}
		if got, want := emitted(t, r), "1 2 3 4 5 6 7 8 9 10 11 12"; got != want {
			t.Errorf("committed in the order %s, want %s", got, want)
		}
		if err := w.Remove(); err != nil {
			t.Error(err)
		}
	})
}

// emitted returns the outbox in one line.
func emitted(t *testing.T, r *runner.Runner) string {
	t.Helper()
	rows, err := r.Outbox(0, 1000)
	if err != nil {
		t.Fatal(err)
	}
	var all []string
	for _, row := range rows {
		all = append(all, string(row.Message))
	}
	return strings.Join(all, " ")
}

// TestOrderedLanesAtRandom: handlers that run concurrently have the outcome of running them
// one after the other. They read and write the same state, fail in every way, and are
// interrupted; other requests change what they read, take the first row away, and reopen the
// runner.
func TestOrderedLanesAtRandom(t *testing.T) {
	seed := prooftest.Seed(t)
	for round := range prooftest.Sized(uint64(25), uint64(200), 20_000) {
		synctest.Test(t, func(t *testing.T) { orderedLanes(t, seed+round) })
		if t.Failed() {
			t.Fatalf("round %d: repeat with WAMBLE_SEED=%d", round, seed+round)
		}
	}
}

func orderedLanes(t *testing.T, seed uint64) {
	const n = 40
	var mu sync.Mutex
	rng := rand.New(rand.NewPCG(seed, 3))
	roll := func(n int) int {
		mu.Lock()
		defer mu.Unlock()
		return rng.IntN(n)
	}
	r := open(t, runner.Options{Policy: runner.Policy{RetryBudget: 1000, RetryDelay: 3 * time.Millisecond,
		LeaseTTL: time.Second}})
	handler := func(ctx context.Context, tx *runner.Tx, d *runner.Delivery) error {
		// State that is never read cannot be in conflict: some read nothing.
		reads := string(d.ID)[0]%3 > 0
		var log []byte
		if reads {
			var err error
			if log, err = tx.Get([]byte("log")); err != nil && !errors.Is(err, runner.ErrNotFound) {
				return err
			}
		}
		select {
		case <-time.After(time.Duration(roll(4)) * 4 * time.Millisecond):
		case <-ctx.Done():
			return ctx.Err()
		}
		switch roll(24) {
		case 0:
			return errors.New("hard")
		case 1:
			return runner.Retry(errors.New("soft"), time.Millisecond)
		case 2:
			panic("ouch")
		case 3:
			return runner.ErrConflict
		}
		if d.Row.Seq%13 == 0 {
			return runner.Discard(errors.New("never"))
		}
		if reads {
			if err := tx.Put([]byte("log"), fmt.Appendf(log, "%d ", d.Row.Seq)); err != nil {
				return err
			}
		}
		return tx.Emit(fmt.Append(nil, d.Row.Seq))
	}
	w, err := r.NewWorker(7, runner.WorkerOptions{Ordered: true, Concurrency: 1 + roll(6), MaxBatch: 1 + roll(12),
		Handler: handler})
	if err != nil {
		t.Fatal(err)
	}
	start := func() {
		if err := w.Start(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	start()
	var ids []string // by the number of the message
	for i := range n {
		m := &runner.Message{To: 7, ID: fmt.Appendf(nil, "%c%d", 'a'+i%7, i)}
		switch roll(8) {
		case 0:
			m.Flags = runner.HighPriority
		case 1, 2:
			m.Flags = runner.Dedupe
			if at := slices.IndexFunc(ids, func(id string) bool { return id[0] == 'x' }); at >= 0 {
				m.ID = []byte(ids[at])
			} else {
				m.ID[0] = 'x'
			}
		}
		if _, err := r.Post(t.Context(), m); err != nil {
			t.Fatal(err)
		}
		ids = append(ids, string(m.ID))
		if roll(3) == 0 {
			time.Sleep(time.Duration(roll(10)) * time.Millisecond)
		}
		switch roll(20) {
		case 0:
			w.Stop()
			if err := w.Join(); err != nil {
				t.Error(err)
			}
			start()
		case 1:
			if err := r.Reopen(); err != nil {
				t.Fatal(err)
			}
		case 2:
			rows, err := r.Inbox(7, 0, 1)
			if err == nil && len(rows) == 1 {
				err = mailbox.Claim(t.Context(), r, 7, rows[0].Seq,
					time.Now().Add(time.Duration(roll(30))*time.Millisecond))
			}
			if err != nil && !errors.Is(err, runner.ErrNotFound) && !errors.Is(err, runner.ErrLeased) {
				t.Error(err)
			}
		}
	}
	for r.Stats().Inboxes[0].Depth > 0 {
		time.Sleep(10 * time.Millisecond)
	}
	if err := w.Remove(); err != nil {
		t.Error(err)
	}
	var want, logged []string
	once := false
	for i, id := range ids {
		if (i+1)%13 == 0 || id[0] == 'x' && once {
			continue
		}
		once = once || id[0] == 'x'
		want = append(want, fmt.Sprint(i+1))
		if id[0]%3 > 0 {
			logged = append(logged, fmt.Sprint(i+1))
		}
	}
	if got := emitted(t, r); got != strings.Join(want, " ") {
		t.Errorf("committed %s, want %s", got, strings.Join(want, " "))
	}
	err = r.View(func(get func([]byte) ([]byte, error)) error {
		log, err := get([]byte("log"))
		if got := strings.TrimSpace(string(log)); got != strings.Join(logged, " ") {
			t.Errorf("the log is %s, want %s", got, strings.Join(logged, " "))
		}
		return err
	})
	if err != nil {
		t.Error(err)
	}
}
