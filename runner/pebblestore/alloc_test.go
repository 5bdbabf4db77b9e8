package pebblestore_test

import (
	"context"
	"testing"

	"wamble/runner"
	"wamble/runner/pebblestore"
)

// TestAllocsDrain: the allocations of a message beyond its storage do not grow with the
// batch.
func TestAllocsDrain(t *testing.T) {
	const batch = 500
	r, err := runner.Open(pebblestore.At(t.TempDir(), pebblestore.Options{Durability: pebblestore.Write}),
		runner.Options{Create: true})
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	answer := make(chan error, 1)
	g := r.NewGroup(func(_ *runner.Group, err error) { answer <- err })
	ran := 0
	w, err := r.NewWorker(7, runner.WorkerOptions{MaxBatch: batch,
		Handler: func(context.Context, *runner.Tx, *runner.Delivery) error { ran++; return nil }})
	if err != nil {
		t.Fatal(err)
	}
	m := runner.Message{To: 7, ID: []byte("id"), Payload: make([]byte, 64)}
	round := func() {
		g.Reset()
		for range batch {
			if err := g.Add(&m); err != nil {
				t.Fatal(err)
			}
		}
		if err := r.Submit(g); err != nil {
			t.Fatal(err)
		}
		if err := <-answer; err != nil {
			t.Fatal(err)
		}
		if n, err := w.Tick(context.Background()); n != batch || err != nil {
			t.Fatalf("got %d, %v, want %d", n, err, batch)
		}
	}
	round()
	// Background work of the storage allocates too, so the bound is loose;
	// one allocation per message would be 500.
	if n := testing.AllocsPerRun(10, round); n > batch/2 {
		t.Errorf("%d messages posted and drained with %v allocations", batch, n)
	}
	if want := 12 * batch; ran != want {
		t.Errorf("ran %d, want %d", ran, want)
	}
}

// TestAllocsPost: a single post allocates for its group what a group of many does, and
// nothing for its message.
func TestAllocsPost(t *testing.T) {
	r, err := runner.Open(pebblestore.At(t.TempDir(), pebblestore.Options{Durability: pebblestore.Write}),
		runner.Options{Create: true, MinFree: -1})
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	id, payload := []byte("id"), make([]byte, 100)
	if n := testing.AllocsPerRun(200, func() {
		m := runner.Message{To: 7, ID: id, Payload: payload}
		if _, err := r.Post(context.Background(), &m); err != nil {
			t.Fatal(err)
		}
	}); n > 4 {
		t.Errorf("a post costs %v allocations, want at most %d", n, 4)
	}
}
