package runner_test

import (
	"context"
	"fmt"
	"sync/atomic"
	"testing"

	"wamble/runner"
)

// modes are the ways to be durable that the benchmarks compare.
var modes = []struct {
	name     string
	d        runner.Durability
	fsync    bool // of the yardstick
	serially bool
}{
	{"fsync-each", runner.Fsync, true, true},
	{"fsync-group", runner.Fsync, true, false},
	{"no-fsync", runner.Write, false, false},
}

// benchFrame is a message as a server posts them: 176 bytes.
func benchFrame(b *testing.B, to int64) []byte {
	m := runner.Message{Kind: runner.Command, Flags: runner.Durable, To: to, RouteWorker: to, ID: []byte("0123456789abcdef"), Payload: make([]byte, 100)}
	frame, err := m.Append(nil)
	if err != nil {
		b.Fatal(err)
	}
	return frame
}

func benchRunner(b *testing.B, d runner.Durability, s runner.Sinks) *runner.Runner {
	r, err := runner.Open(b.TempDir(), runner.Options{Create: true, Durability: d, Sinks: s})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() {
		if err := r.Close(); err != nil {
			b.Error(err)
		}
	})
	return r
}

// BenchmarkEnqueue: producers that wait for each message to be durable.
// Wanted: ratio ≥ 0.7.
func BenchmarkEnqueue(b *testing.B) { benchPosts(b, false) }

// BenchmarkSteady: the same with a worker beside them that handles every
// message and syncs its acknowledgements. The file is only appended to.
// Wanted: ratio ≥ 0.6.
func BenchmarkSteady(b *testing.B) { benchPosts(b, true) }

func benchPosts(b *testing.B, drained bool) {
	for _, producers := range []int{64, 256} {
		for _, m := range modes {
			b.Run(fmt.Sprintf("%s/producers=%d", m.name, producers), func(b *testing.B) {
				frame := benchFrame(b, 7)
				var d *drain
				var sinks runner.Sinks
				if drained {
					d = &drain{}
					sinks.Metrics = d.sink
				}
				r := benchRunner(b, m.d, sinks)
				if drained {
					d.start(b, r, false)
				}
				file := newLogFile(b, m.fsync)
				ours := func() error { _, err := r.PostFrame(context.Background(), frame); return err }
				theirs := func() error { return file.post(frame) }
				if m.serially {
					ours, theirs = serially(ours), serially(theirs)
				}
				compare(b, producers, theirs, ours, d)
				b.ReportMetric(float64(b.N)/float64(file.syncs.Load()), "file-group")
				b.ReportMetric(float64(b.N)/float64(r.Stats().Commits), "group")
			})
		}
	}
}

// drain is a worker with a handler that does nothing, and a way to wait until
// its acknowledgements are durable.
type drain struct {
	w      *runner.Worker
	target atomic.Uint64
	done   atomic.Pointer[chan struct{}]
}

// sink is told the counters after every tick, when its commit is durable.
func (d *drain) sink(_ uint32, m runner.Metrics) {
	if m.Successes >= d.target.Load() {
		if ch := d.done.Swap(nil); ch != nil {
			close(*ch)
		}
	}
}

// expect returns a channel that is closed when n more messages are done; for
// no drain, one that is closed.
func (d *drain) expect(n int) <-chan struct{} {
	ch := make(chan struct{})
	if d == nil {
		close(ch)
		return ch
	}
	d.target.Add(uint64(n))
	d.done.Store(&ch)
	return ch
}

func (d *drain) start(b *testing.B, r *runner.Runner, batched bool) {
	o := runner.WorkerOptions{Handler: func(context.Context, *runner.Tx, *runner.Delivery) error { return nil }}
	if batched {
		o = runner.WorkerOptions{Batch: func(context.Context, *runner.Batched) error { return nil }}
	}
	if d.w == nil {
		w, err := r.NewWorker(7, o)
		if err != nil {
			b.Fatal(err)
		}
		d.w = w
	}
	if err := d.w.Start(context.Background()); err != nil {
		b.Fatal(err)
	}
}

func (d *drain) stop(b *testing.B) {
	d.w.Stop()
	if err := d.w.Join(); err != nil {
		b.Fatal(err)
	}
}
