package pebblestore_test

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"wamble/runner"
	"wamble/runner/pebblestore"
)

type benchJob struct {
	To, Subject string
}

var aJob = benchJob{"ada@example.org", "Your invoice of November is attached to this mail. Thank you."}

// BenchmarkTyped compares a named queue, whose messages have a history, with a numbered inbox:
// lanes that drain JOBS messages (default 20,000), and lanes that keep up with 16 producers. Run it
// with -benchtime=1x. Wanted: typed-16/numbered-16 ≥ 0.6 while producers post, typed-100/typed-16
// ≥ 0.9 of both.
func BenchmarkTyped(b *testing.B) {
	jobs, err := strconv.Atoi(cmp.Or(os.Getenv("JOBS"), "20000"))
	if err != nil {
		b.Fatal(err)
	}
	for _, c := range []struct {
		name  string
		typed bool
		lanes int
	}{{"numbered-16", false, 16}, {"typed-16", true, 16}, {"typed-100", true, 100}} {
		b.Run(c.name, func(b *testing.B) {
			for b.Loop() {
				for _, steady := range []bool{true, false} {
					if only := os.Getenv("ONLY"); only != "" && !strings.Contains(only, map[bool]string{true: "steady", false: "drain"}[steady]) {
						continue
					}
					t := newTyped(b, c.typed, c.lanes)
					rate, cpu := t.run(jobs, steady)
					name := map[bool]string{true: "steady", false: "drain"}[steady]
					b.ReportMetric(rate, name+"/s")
					b.ReportMetric(cpu, name+"-cpu-µs")
				}
			}
		})
	}
}

// typed is a queue with lanes, and a way to post to it.
type typed struct {
	b     *testing.B
	r     *runner.Runner
	post  func() error
	start func()
	left  atomic.Int64
	done  chan struct{}
}

func newTyped(b *testing.B, named bool, lanes int) *typed {
	r, err := runner.Open(pebblestore.At(b.TempDir(), pebblestore.Options{}), runner.Options{Create: true})
	if err != nil {
		b.Fatal(err)
	}
	t := &typed{b: b, r: r, done: make(chan struct{})}
	ended := func() error {
		if t.left.Add(-1) == 0 {
			close(t.done)
		}
		return nil
	}
	var w *runner.Worker
	if named {
		q, err := runner.Handle(r, "mails", func(context.Context, *runner.Job[benchJob]) error { return ended() },
			runner.WorkerOptions{Concurrency: lanes})
		if err != nil {
			b.Fatal(err)
		}
		w = q.Worker()
		t.post = func() error { _, err := q.Post(context.Background(), aJob); return err }
	} else {
		w, err = r.NewWorker(7, runner.WorkerOptions{Concurrency: lanes,
			Handler: func(_ context.Context, _ *runner.Tx, d *runner.Delivery) error {
				var job benchJob
				if err := runner.JSON.Decode(d.Payload, &job); err != nil {
					return err
				}
				return ended()
			}})
		if err != nil {
			b.Fatal(err)
		}
		t.post = func() error {
			text, err := runner.JSON.Encode(aJob)
			if err != nil {
				return err
			}
			_, err = r.Post(context.Background(), &runner.Message{To: 7, Payload: text})
			return err
		}
	}
	t.start = func() {
		if err := w.Start(context.Background()); err != nil {
			b.Fatal(err)
		}
	}
	return t
}

// run posts n jobs with 16 producers, or 256 before the lanes start, and returns how many per
// second were done, and the processor time for each.
func (t *typed) run(n int, steady bool) (rate, cpu float64) {
	t.left.Store(int64(n))
	producers := 16
	if steady {
		t.start()
	} else {
		producers = 256
	}
	var all sync.WaitGroup
	begin, used := time.Now(), processorTime()
	for p := range producers {
		all.Go(func() {
			for i := p; i < n; i += producers {
				if err := t.post(); err != nil {
					t.b.Error(fmt.Errorf("post: %w", err))
					return
				}
			}
		})
	}
	all.Wait()
	if !steady {
		begin, used = time.Now(), processorTime()
		t.start()
	}
	<-t.done
	rate = float64(n) / time.Since(begin).Seconds()
	cpu = float64((processorTime() - used).Microseconds()) / float64(n)
	if err := t.r.Close(); err != nil {
		t.b.Fatal(err)
	}
	return rate, cpu
}
