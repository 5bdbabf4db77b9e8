package pebblestore_test

import (
	"context"
	"fmt"
	"sync/atomic"
	"testing"

	"wamble/runner"
	"wamble/runner/pebblestore"
)

// mode is a durability mode that the benchmarks compare.
type mode struct {
	name     string
	d        pebblestore.Durability
	fsync    bool // of the yardstick
	serially bool
}

var modes = []mode{
	{"fsync-each", pebblestore.Fsync, true, true},
	{"fsync-group", pebblestore.Fsync, true, false},
	{"no-fsync", pebblestore.Write, false, false},
}

func benchRunner(b *testing.B, d pebblestore.Durability, s runner.Sinks) *runner.Runner {
	r, err := runner.Open(pebblestore.At(b.TempDir(), pebblestore.Options{Durability: d}),
		runner.Options{Create: true, Sinks: s})
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
// Wanted: with fsync-group and 256 producers a ratio ≥ 1.
func BenchmarkEnqueue(b *testing.B) {
	eachMode(b, func(b *testing.B, m mode, producers int) {
		r, file := benchRunner(b, m.d, runner.Sinks{}), newLogFile(b, m.fsync, false)
		compare(b, producers, [3]contender{m.runner(r), m.file(file), m.plainFile(b)})
		reportGroups(b, r, file)
	})
}

// BenchmarkSteady: BenchmarkEnqueue with a worker beside the producers that decodes and
// handles every message and syncs its acknowledgements. So does the consumer of the file, but
// the plain one is only appended to. Wanted: a ratio ≥ 0.85.
func BenchmarkSteady(b *testing.B) {
	eachMode(b, func(b *testing.B, m mode, producers int) {
		var d drain
		r, a := benchRunner(b, m.d, runner.Sinks{Metrics: d.sink}), newAcker(b, m.fsync)
		d.start(b, r, false)
		ours, theirs := m.runner(r), m.file(a.l)
		ours.expect, theirs.expect = d.expect, a.expect
		compare(b, producers, [3]contender{ours, theirs, m.plainFile(b)})
		reportGroups(b, r, a.l)
	})
}

func eachMode(b *testing.B, f func(b *testing.B, m mode, producers int)) {
	for _, producers := range []int{64, 256} {
		for _, m := range modes {
			b.Run(fmt.Sprintf("%s/producers=%d", m.name, producers), func(b *testing.B) { f(b, m, producers) })
		}
	}
}

// benchMessage is a message as a server posts them: its frame has 176 bytes.
func benchMessage() runner.Message {
	return runner.Message{Kind: runner.Command, Flags: runner.Durable, To: 7, RouteWorker: 7,
		ID: []byte("0123456789abcdef"), Payload: make([]byte, 100)}
}

// runner posts to r. No post can be cancelled, as none to the file can.
func (m mode) runner(r *runner.Runner) contender {
	msg := benchMessage()
	return m.contender(func() error {
		own := msg // Post may change it, and producers share this one
		_, err := r.Post(context.Background(), &own)
		return err
	})
}

func (m mode) file(l *logFile) contender {
	msg := benchMessage()
	return m.contender(func() error {
		own := msg
		_, err := l.post(&own)
		return err
	})
}

// plainFile is the file in its simplest form: it is only appended to, and messages that wait
// when a group is written are in the next one.
func (m mode) plainFile(b *testing.B) contender { return m.file(newLogFile(b, m.fsync, true)) }

func (m mode) contender(post func() error) contender {
	if m.serially {
		post = serially(post)
	}
	return contender{post: post}
}

// reportGroups reports how many messages each commit held.
func reportGroups(b *testing.B, r *runner.Runner, l *logFile) {
	b.ReportMetric(float64(b.N)/float64(r.Stats().Commits), "group")
	b.ReportMetric(float64(b.N)/float64(l.syncs.Load()), "file-group")
}

// drain is a worker with a handler that does nothing, and a way to wait until
// its acknowledgements are durable.
type drain struct {
	w      *runner.Worker
	target atomic.Uint64
	done   atomic.Pointer[chan struct{}]
}

// sink gets the counters after every tick, when its commit is durable.
func (d *drain) sink(_ uint64, m runner.Metrics) {
	if m.Successes >= d.target.Load() {
		if ch := d.done.Swap(nil); ch != nil {
			close(*ch)
		}
	}
}

// expect returns a channel that is closed when n more messages are done.
func (d *drain) expect(n int) <-chan struct{} {
	ch := make(chan struct{})
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
