package runner

import (
	"context"
	"fmt"
	"math/rand/v2"
	"testing"
)

// TestOrderedBacklog: a worker in order that has a long backlog of large rows
// reads no more of it than it takes, and still goes by number, whatever the
// priorities and the sizes.
func TestOrderedBacklog(t *testing.T) {
	const messages, most, maxBytes = 3000, 4 << 10, 32 << 10
	r := openRecent(t)
	rng := rand.New(rand.NewPCG(1, 2))
	for n := 0; n < messages; {
		err := r.engine().do(t.Context(), func(c *commit) error {
			for range min(messages-n, 1+rng.IntN(100)) {
				k, flags := bandNormal, Flags(0)
				if rng.IntN(3) == 0 {
					k, flags = bandHigh, HighPriority
				}
				size := rng.IntN(100)
				if rng.IntN(2) == 0 {
					size = rng.IntN(most)
				}
				c.post(7, k, recentFrame(t, fmt.Sprint(n), flags, size))
				n++
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	got := 0
	w, err := r.NewWorker(7, WorkerOptions{Ordered: true, MaxBatch: messages, MaxBytes: maxBytes, Batch: func(_ context.Context, b *Batched) error {
		size := 0
		for i := range b.Deliveries {
			if id := string(b.Deliveries[i].ID); id != fmt.Sprint(got) {
				t.Errorf("got message %s, want %d", id, got)
			}
			got++
			size += len(b.Deliveries[i].Frame)
		}
		if size > maxBytes+most+1<<10 {
			t.Errorf("a batch of %d bytes", size)
		}
		return nil
	}})
	if err != nil {
		t.Fatal(err)
	}
	for got < messages && !t.Failed() {
		if n, err := w.Tick(t.Context()); err != nil || n == 0 {
			t.Fatalf("after %d messages: took %d, %v", got, n, err)
		}
	}
	// Of two bands twice the bytes and a bundle, in memory that grows by doubling.
	const bound = 2 * 2 * (2*maxBytes + maxBundleBytes + most)
	if used := max(cap(w.cur.arena), cap(w.nxt.arena)); used > bound {
		t.Errorf("a claim of %d bytes needed %d, want at most %d", maxBytes, used, bound)
	}
}
