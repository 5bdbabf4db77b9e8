package pebblestore_test

import (
	"fmt"
	"testing"
	"time"

	"wamble/runner"
)

// fill posts n messages in groups and returns when they are durable.
func fill(b *testing.B, r *runner.Runner, n int) {
	b.Helper()
	m := benchMessage()
	durable := make(chan error, 1)
	g := r.NewGroup(func(_ *runner.Group, err error) { durable <- err })
	for n > 0 {
		g.Reset()
		for ; g.Len() < 1000 && n > 0; n-- {
			if err := g.Add(&m); err != nil {
				b.Fatal(err)
			}
		}
		if err := r.Submit(g); err != nil {
			b.Fatal(err)
		}
		if err := <-durable; err != nil {
			b.Fatal(err)
		}
	}
}

// drained fills the inbox with n messages while the worker is idle, and adds to l how long
// the worker then takes until all are acknowledged durably.
func drained(b *testing.B, r *runner.Runner, d *drain, n int, batched bool, l *load) {
	b.Helper()
	fill(b, r, n)
	done := d.expect(n)
	start, cpu := time.Now(), cpuTime(b)
	d.start(b, r, batched)
	<-done
	l.took += time.Since(start)
	l.cpu += cpuTime(b) - cpu
	d.stop(b)
}

// BenchmarkDrain: one worker with an empty handler drains a queue of 100,000.
// Wanted without fsync: ≥ 200,000 msg/s. With it, the file takes as many
// acknowledgements of 17 bytes, synced in groups of 256.
func BenchmarkDrain(b *testing.B) {
	const queued = 100_000
	for _, mode := range modes[1:] {
		for _, handler := range []string{"handler", "batch"} {
			b.Run(mode.name+"/"+handler, func(b *testing.B) {
				var d drain
				r := benchRunner(b, mode.d, runner.Sinks{Metrics: d.sink})
				file := newLogFile(b, mode.fsync, false)
				var ours load
				var theirs time.Duration
				for b.Loop() {
					drained(b, r, &d, queued, handler == "batch", &ours)
					if mode.fsync {
						theirs += ackFile(b, file, queued)
					}
				}
				n := float64(b.N) * queued
				b.ReportMetric(n/ours.took.Seconds(), "msg/s")
				b.ReportMetric(float64(ours.cpu)/n, "cpu-ns/msg")
				if mode.fsync {
					b.ReportMetric(n/theirs.Seconds(), "file-msg/s")
					b.ReportMetric(theirs.Seconds()/ours.took.Seconds(), "ratio")
				}
			})
		}
	}
}

// ackFile appends n acknowledgements, 256 at a time.
func ackFile(b *testing.B, file *logFile, n int) time.Duration {
	b.Helper()
	group := make([]byte, 256*ackLen)
	start := time.Now()
	for ; n > 0; n -= 256 {
		if err := file.ack(group); err != nil {
			b.Fatal(err)
		}
	}
	return time.Since(start)
}

// BenchmarkDrainGrowth: the cost of a message in a queue of 100,000, relative to queues of
// 1,000. Wanted: growth ≤ 1.3.
func BenchmarkDrainGrowth(b *testing.B) {
	const long, short = 100_000, 1_000
	for _, mode := range modes[1:] {
		b.Run(mode.name, func(b *testing.B) {
			var d drain
			r := benchRunner(b, mode.d, runner.Sinks{Metrics: d.sink})
			var inLong, inShort load
			for b.Loop() {
				drained(b, r, &d, long, false, &inLong)
				for range long / short {
					drained(b, r, &d, short, false, &inShort)
				}
			}
			n := float64(b.N) * long
			b.ReportMetric(float64(inLong.took)/n, fmt.Sprintf("ns/msg-of-%d", long))
			b.ReportMetric(float64(inShort.took)/n, fmt.Sprintf("ns/msg-of-%d", short))
			b.ReportMetric(float64(inLong.took)/float64(inShort.took), "growth")
			b.ReportMetric(float64(inLong.cpu)/float64(inShort.cpu), "cpu-growth")
		})
	}
}
