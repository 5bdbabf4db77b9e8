package runnertest

import (
	"bytes"
	"fmt"

	"wamble/runner"
)

// eventLog records log and replay events in their order.
type eventLog struct{ lines []string }

func (l *eventLog) sinks() runner.Sinks {
	return runner.Sinks{
		Log: func(e runner.LogEvent) {
			l.lines = append(l.lines, fmt.Sprintf("log %d seq %d detail %d: %v", e.Kind, e.Seq, e.Detail, e.Err))
		},
		Replay: func(e runner.ReplayEvent) {
			l.lines = append(l.lines, fmt.Sprintf("replay %d seq %d: %v", e.Kind, e.Seq, e.Err))
		},
	}
}

var eventCases = []test{
	{name: "a failure, then success", unstarted: true, run: func(v *env) {
		var l eventLog
		v.opts.Sinks = l.sinks()
		sunk := 0
		v.opts.Sinks.Metrics = func(worker uint64, m runner.Metrics) { sunk++ }
		v.start()
		v.insert(7, 10, "a")
		fail := true
		w := v.worker(7, runner.WorkerOptions{MaxBatch: 1}, func(*runner.Delivery) error {
			if fail {
				return errBusy
			}
			return nil
		})
		equal(v, "metrics sink at the start", sunk, 1)
		v.tick(w, 0)
		same(v, "events", l.lines, []string{
			"replay 0 seq 10: <nil>", "replay 1 seq 10: busy", "log 0 seq 10 detail 0: busy",
			"replay 4 seq 10: busy", "log 2 seq 10 detail 1: busy"})
		l.lines, fail = nil, false
		v.tick(w, 1)
		same(v, "events", l.lines,
			[]string{"replay 0 seq 11: <nil>", "replay 1 seq 11: <nil>", "replay 6 seq 11: <nil>"})
		equal(v, "metrics sink", sunk, 3)
		v.tick(w, 0)
		equal(v, "metrics sink after an idle tick", sunk, 3)
	}},
	{name: "the budget is spent", unstarted: true, run: func(v *env) {
		var l eventLog
		v.opts.Sinks = l.sinks()
		v.start()
		v.post(7, "a")
		w := v.worker(7, runner.WorkerOptions{Policy: &runner.Policy{RetryBudget: 1}},
			func(*runner.Delivery) error { return errBusy })
		v.tick(w, 0)
		same(v, "events", l.lines, []string{
			"replay 0 seq 1: <nil>", "replay 1 seq 1: busy", "log 0 seq 1 detail 0: busy",
			"replay 5 seq 1: busy", "log 3 seq 1 detail 1: busy"})
	}},
	{name: "a malformed row", unstarted: true, run: func(v *env) {
		var l eventLog
		v.opts.Sinks = l.sinks()
		v.start()
		v.ok(v.store(7, 1, []byte("junk")))
		w := v.worker(7, runner.WorkerOptions{}, func(*runner.Delivery) error { return nil })
		v.tick(w, 0)
		why := "4 bytes are less than a header: frame is cut off"
		same(v, "events", l.lines, []string{
			"replay 0 seq 1: <nil>", "replay 1 seq 1: " + why, "log 1 seq 1 detail 0: " + why,
			"replay 5 seq 1: " + why, "log 3 seq 1 detail 0: " + why})
	}},
	{name: "a hard failure that stops the worker", unstarted: true, run: func(v *env) {
		var l eventLog
		v.opts.Sinks = l.sinks()
		v.opts.Sinks.Replay = nil
		v.start()
		v.insert(7, 10, "a")
		w := v.worker(7, runner.WorkerOptions{Policy: &runner.Policy{StopOnError: true}},
			func(*runner.Delivery) error { return errHard })
		_, err := w.Tick(v.ctx)
		v.is(err, errHard)
		same(v, "events", l.lines, []string{
			"log 1 seq 10 detail 0: hard", "log 2 seq 10 detail 1: hard", "log 4 seq 0 detail 0: hard"})
	}},
	{name: "a timer's events carry the timer's number", unstarted: true, run: func(v *env) {
		var l eventLog
		v.opts.Sinks = l.sinks()
		v.plant(raw{4, rowKey(50, 41), frame(7, "t")})
		v.start()
		v.post(7, "other")
		w := v.worker(7, runner.WorkerOptions{}, func(d *runner.Delivery) error { return nil })
		v.tick(w, 2)
		same(v, "events", l.lines, []string{
			"replay 2 seq 41: <nil>", "replay 3 seq 41: <nil>", "replay 0 seq 1: <nil>", "replay 1 seq 1: <nil>",
			"replay 6 seq 41: <nil>", "replay 6 seq 1: <nil>"})
	}},
	{name: "a frame kept beyond the call is poisoned", unstarted: true, run: func(v *env) {
		var kept, copied []byte
		v.opts.Sinks.Replay = func(e runner.ReplayEvent) {
			if e.Kind == runner.InboxAttempt {
				kept, copied = e.Frame, bytes.Clone(e.Frame)
			}
		}
		v.start()
		v.post(7, "a")
		w := v.worker(7, runner.WorkerOptions{}, func(d *runner.Delivery) error {
			equal(v, "the handler's frame is whole", string(d.ID), "a")
			return nil
		})
		v.tick(w, 1)
		equal(v, "copy", bytes.Equal(copied, frame(7, "a")), true)
		equal(v, "kept", bytes.Count(kept, []byte{0xDB}), len(kept))
	}},
	{name: "metrics: snapshot, invariants, reset", unstarted: true, run: func(v *env) {
		last := runner.Metrics{}
		v.opts.Sinks.Metrics = func(_ uint64, m runner.Metrics) { last = m }
		v.start()
		v.number(7, 40)
		i := 0
		w := v.worker(7, runner.WorkerOptions{MaxBatch: 1000}, func(*runner.Delivery) error {
			v.clock.Advance(ms(3))
			i++
			switch i % 4 {
			case 0:
				return errBusy
			case 1:
				return runner.ErrConflict
			}
			return nil
		})
		_, err := w.Tick(v.ctx)
		v.ok(err)
		m := w.Metrics()
		sum := uint64(0)
		for _, n := range m.Latency.Buckets {
			sum += n
		}
		equal(v, "latency samples", sum, m.Attempts)
		equal(v, "total", m.Latency.Total, ms(3*int64(m.Attempts)))
		equal(v, "max", m.Latency.Max, ms(3))
		equal(v, "retryable", m.Conflicts+m.Busy, m.Retryable)
		equal(v, "disposed", m.Requeues+m.DeadLetters, m.Retryable)
		equal(v, "attempts", m.Successes+m.Retryable, m.Attempts)
		equal(v, "sink has the same", last, m)
		equal(v, "steps", w.Steps(), m.Successes)
	}},
	{name: "latency by the injected clock", run: func(v *env) {
		v.arm(90, "t")
		w := v.worker(7, runner.WorkerOptions{}, func(*runner.Delivery) error { v.clock.Advance(ms(1234)); return nil })
		v.tick(w, 1)
		equal(v, "total", w.Metrics().Latency.Total, ms(1234))
	}},
	{name: "a clock that goes back counts as no time", run: func(v *env) {
		v.post(7, "t")
		w := v.worker(7, runner.WorkerOptions{}, func(*runner.Delivery) error { v.clock.Advance(-ms(50)); return nil })
		v.tick(w, 1)
		equal(v, "total", w.Metrics().Latency.Total, 0)
	}},
	{name: "depth and age", run: func(v *env) {
		v.post(7, "a")
		v.clock.Set(600)
		v.post(7, "b")
		in := v.r.Stats().Inboxes[0]
		equal(v, "depth", in.Depth, 2)
		equal(v, "age", in.OldestAge, ms(500))
		w := v.worker(7, runner.WorkerOptions{MaxBatch: 1}, func(*runner.Delivery) error { return nil })
		v.tick(w, 1)
		v.clock.Set(700)
		in = v.r.Stats().Inboxes[0]
		equal(v, "depth", in.Depth, 1)
		equal(v, "age", in.OldestAge, ms(100))
		v.arm(650, "late")
		equal(v, "timer lag", v.r.Stats().TimerLag, ms(50))
		equal(v, "lag of an empty outbox", v.r.Stats().OutboxLag, 0)
		v.emit("first")
		v.clock.Set(900)
		v.emit("second")
		equal(v, "outbox lag", v.r.Stats().OutboxLag, ms(200))
		_, err := v.r.DrainOutbox(v.ctx, 1, func(runner.OutboxRow) error { return nil })
		v.ok(err)
		v.clock.Set(1000)
		equal(v, "outbox lag of the second", v.r.Stats().OutboxLag, ms(100))
	}},
	{name: "policy defaults", unstarted: true, run: func(v *env) {
		v.start()
		v.post(7, "a")
		w := v.worker(7, runner.WorkerOptions{Policy: &runner.Policy{RetryBudget: -1, LeaseTTL: -5}},
			func(*runner.Delivery) error { return errBusy })
		v.tick(w, 0)
		equal(v, "attempts by the default", w.Metrics().Attempts, 4)
	}},
}
