package pebblestore_test

import (
	"cmp"
	"context"
	"errors"
	"os"
	"strconv"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"wamble/runner"
	"wamble/runner/pebblestore"
)

// BenchmarkDueRetries: 64 lanes drain 100,000 messages that were never delivered, and as many
// retries that come due at the same time, while somebody posts to another queue. DUE sets another
// number. Run it with -benchtime=1x. Wanted: due/fresh ≥ 0.5, other-due/other-fresh ≥ 0.9.
func BenchmarkDueRetries(b *testing.B) {
	rows, err := strconv.Atoi(cmp.Or(os.Getenv("DUE"), "100000"))
	if err != nil {
		b.Fatal(err)
	}
	for range b.N {
		alone := postsBeside(b, rows, func(q *dueQueue) {
			close(q.begun)
			time.Sleep(2 * time.Second)
		})
		b.ReportMetric(alone, "other-alone/s")
		var fresh, due, freshCPU, dueCPU float64
		otherFresh := postsBeside(b, rows, func(q *dueQueue) { fresh, freshCPU = q.drain(false) })
		otherDue := postsBeside(b, rows, func(q *dueQueue) { due, dueCPU = q.drain(true) })
		b.ReportMetric(freshCPU, "fresh-cpu-µs")
		b.ReportMetric(dueCPU, "due-cpu-µs")
		b.ReportMetric(fresh, "fresh/s")
		b.ReportMetric(due, "due/s")
		b.ReportMetric(due/fresh, "due/fresh")
		b.ReportMetric(otherFresh, "other-fresh/s")
		b.ReportMetric(otherDue, "other-due/s")
		b.ReportMetric(otherDue/otherFresh, "other-due/other-fresh")
	}
}

// dueQueue is a queue with rows messages and 64 lanes.
type dueQueue struct {
	b     *testing.B
	r     *runner.Runner
	rows  int
	ahead atomic.Int64 // how far the wall clock is set forward
	fails atomic.Bool
	left  atomic.Int64
	done  chan struct{}
	begun chan struct{} // closed when the time to measure has come
	over  chan struct{}
}

// postsBeside runs f on a queue, and returns how many messages per second were posted to another
// one meanwhile.
func postsBeside(b *testing.B, rows int, f func(q *dueQueue)) float64 {
	q := &dueQueue{b: b, rows: rows, done: make(chan struct{}), begun: make(chan struct{}), over: make(chan struct{})}
	r, err := runner.Open(pebblestore.At(b.TempDir(), pebblestore.Options{}), runner.Options{
		Create: true, Wall: func() time.Time { return time.Now().Round(0).Add(time.Duration(q.ahead.Load())) },
	})
	if err != nil {
		b.Fatal(err)
	}
	q.r = r
	var producers sync.WaitGroup
	for p := range 64 {
		producers.Go(func() {
			for i := p; i < rows; i += 64 {
				m := benchMessage()
				if _, err := r.Post(b.Context(), &m); err != nil {
					b.Error(err)
					return
				}
			}
		})
	}
	producers.Wait()
	posted := make(chan float64)
	go func() {
		<-q.begun
		start, n := time.Now(), 0
		for {
			m := benchMessage()
			m.To = 8
			if _, err := r.Post(context.Background(), &m); err != nil {
				b.Error(err)
			}
			n++
			select {
			case <-q.over:
				posted <- float64(n) / time.Since(start).Seconds()
				return
			default:
			}
		}
	}()
	f(q)
	close(q.over)
	n := <-posted
	if err := r.Close(); err != nil {
		b.Fatal(err)
	}
	return n
}

// drain returns how many messages per second 64 lanes finish, and the processor time for each, with
// that for the other queue: due ones have failed before, and their delay ends for all at once.
func (q *dueQueue) drain(due bool) (rate, cpu float64) {
	q.left.Store(int64(q.rows))
	q.fails.Store(due)
	w, err := q.r.NewWorker(7, runner.WorkerOptions{Concurrency: 64, Handler: func(_ context.Context, _ *runner.Tx, d *runner.Delivery) error {
		if q.fails.Load() {
			return runner.Retry(errors.New("not yet"), time.Hour)
		}
		if q.left.Add(-1) == 0 {
			close(q.done)
		}
		return nil
	}})
	if err != nil {
		q.b.Fatal(err)
	}
	if due {
		q.start(w)
		for {
			s := q.r.Stats().Inboxes[0]
			if s.Parked == q.rows {
				break
			}
			time.Sleep(10 * time.Millisecond)
		}
		w.Stop()
		if err := w.Join(); err != nil {
			q.b.Fatal(err)
		}
		q.fails.Store(false)
		q.ahead.Store(int64(2 * time.Hour))
		time.Sleep(1100 * time.Millisecond) // the clock follows the wall clock within a second
	}
	close(q.begun)
	start, used := time.Now(), processorTime()
	q.start(w)
	<-q.done
	return float64(q.rows) / time.Since(start).Seconds(), float64((processorTime() - used).Microseconds()) / float64(q.rows)
}

// processorTime is what this process has used: other than a rate, it hardly depends on what else
// the machine does.
func processorTime() time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		return 0
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

func (q *dueQueue) start(w *runner.Worker) {
	if err := w.Start(context.Background()); err != nil {
		q.b.Fatal(err)
	}
}
