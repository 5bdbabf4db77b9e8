package runner

import (
	"context"
	"testing"
	"time"
)

// TestShareOfLanes: lanes divide what takes long, and leave together what does not, so that its
// bundles are not taken apart.
func TestShareOfLanes(t *testing.T) {
	r := openForTest(t)
	w, err := r.NewWorker(7, WorkerOptions{Concurrency: 16, Handler: func(context.Context, *Tx, *Delivery) error { return nil }})
	if err != nil {
		t.Fatal(err)
	}
	for _, lane := range append(w.lanes, w) {
		lane.activate(1)
		defer lane.activate(-1)
	}
	for _, c := range []struct {
		name    string
		pace    time.Duration
		waiting uint64
		want    int
	}{
		{"little work", 10 * time.Microsecond, 16, 100},
		{"many short messages", 10 * time.Microsecond, 3200, 200},
		{"long messages", 10 * time.Millisecond, 16, 1},
		{"many long messages", 10 * time.Millisecond, 3200, 10},
		{"very long messages", time.Second, 3200, 1},
	} {
		w.pace, w.paced = c.pace, true
		if got := w.share(&inbox{workers: append(w.lanes, w), inboxState: inboxState{count: c.waiting}}, 0, 256); got != c.want {
			t.Errorf("%s: a lane takes up to %d, want %d", c.name, got, c.want)
		}
	}
}
