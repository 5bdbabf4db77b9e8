package runner

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"
)

// TestClaimPassesParkedRows: a claim that meets only rows that wait for a retry reads on: the
// messages after them do not wait until the worker looks again.
func TestClaimPassesParkedRows(t *testing.T) {
	r := openForTest(t)
	post := func(n int) {
		for i := range n {
			if _, err := r.Post(t.Context(), &Message{To: 7, ID: fmt.Append(nil, i)}); err != nil {
				t.Fatal(err)
			}
		}
	}
	post(100)
	failing, done := true, 0
	w, err := r.NewWorker(7, WorkerOptions{MaxBatch: 16, Handler: func(context.Context, *Tx, *Delivery) error {
		if failing {
			return Retry(errors.New("later"), time.Hour)
		}
		done++
		return nil
	}})
	if err != nil {
		t.Fatal(err)
	}
	for {
		if _, err := w.Tick(t.Context()); err != nil {
			t.Fatal(err)
		}
		if r.Stats().Inboxes[0].Parked == 100 {
			break
		}
	}
	failing = false
	post(10)
	if n, err := w.Tick(t.Context()); err != nil || n == 0 {
		t.Errorf("a tick with 10 new messages did %d, %v", n, err)
	}
}

// TestAgeUnderBusyLanes: with two lanes that always have something leased, OldestAge is the age
// of the oldest message, and Waiting what messages have waited.
func TestAgeUnderBusyLanes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r, err := Open(NewTestStorage(), Options{Create: true, MinFree: -1})
		if err != nil {
			t.Fatal(err)
		}
		turn := make(chan struct{})
		w, err := r.NewWorker(7, WorkerOptions{Concurrency: 2, MaxBatch: 1, Handler: func(context.Context, *Tx, *Delivery) error {
			<-turn // one handler ends while the other one runs
			return nil
		}})
		if err != nil {
			t.Fatal(err)
		}
		if err := w.Start(t.Context()); err != nil {
			t.Fatal(err)
		}
		for i := range 2000 {
			if _, err := r.Post(t.Context(), &Message{To: 7, ID: fmt.Append(nil, i)}); err != nil {
				t.Fatal(err)
			}
			synctest.Wait()
			time.Sleep(10 * time.Millisecond)
			if i > 0 {
				turn <- struct{}{}
				synctest.Wait()
			}
		}
		if age := r.Stats().Inboxes[0].OldestAge; age > time.Second {
			t.Errorf("the oldest message is %v old, want about 10ms", age)
		}
		if worst := w.Metrics().Waiting.Max; worst > time.Second {
			t.Errorf("a message has waited %v, want about 10ms", worst)
		}
		close(turn)
		if err := r.Close(); err != nil {
			t.Fatal(err)
		}
	})
}
