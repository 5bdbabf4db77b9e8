package runner_test

import (
	"context"
	"fmt"
	"testing"

	"wamble/runner"
	"wamble/runner/runnertest"
)

// metered is a storage that counts the bytes that scans have shown.
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

// TestOrderedReadsWhatItTakes: an ordered worker takes a backlog strictly in
// sequence, whatever its messages' priorities, and reads each about once, however
// much lies behind it.
func TestOrderedReadsWhatItTakes(t *testing.T) {
	const total, size, perClaim = 2000, 1000, 20
	read := 0
	storage, options := metered{runnertest.NewMemory(), &read}, runner.Options{Create: true, MinFree: -1}
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
	// Another process: nothing is remembered, everything is read.
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
	// Of each band as much is read as one batch may hold, and some rows twice.
	if got, want := read, 4*total*size; got > want {
		t.Errorf("read %d bytes for %d bytes of messages, want at most %d", got, total*size, want)
	}
}
