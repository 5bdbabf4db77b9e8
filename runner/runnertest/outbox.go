package runnertest

import (
	"context"
	"encoding/json"
	"fmt"
	"math"

	"wamble/runner"
)

func (v *env) update(f func(tx *runner.Tx) error) {
	v.Helper()
	_, err := v.r.Update(v.ctx, runner.AttemptPolicy{}, f)
	v.ok(err)
}

func (v *env) emit(messages ...string) {
	v.Helper()
	v.update(func(tx *runner.Tx) error {
		for _, m := range messages {
			if err := tx.Emit([]byte(m)); err != nil {
				return err
			}
		}
		return nil
	})
}

func (v *env) outbox() []string {
	v.Helper()
	rows, err := v.r.Outbox(0, 100)
	v.ok(err)
	var out []string
	for _, r := range rows {
		out = append(out, string(r.Message))
	}
	return out
}

var outboxCases = []test{
	{name: "append and drain in order", run: func(v *env) {
		v.emit("a", "bb")
		var got []string
		take := func(r runner.OutboxRow) error { got = append(got, string(r.Message)); return nil }
		n, err := v.r.DrainOutbox(v.ctx, 8, take)
		v.ok(err)
		equal(v, "drained", n, 2)
		same(v, "messages", got, []string{"a", "bb"})
		same(v, "left", v.outbox(), nil)
		n, err = v.r.DrainOutbox(v.ctx, 8, take)
		v.ok(err)
		equal(v, "drained", n, 0)
	}},
	{name: "drain 1 of two, drain 0", run: func(v *env) {
		v.emit("a", "b")
		n, err := v.r.DrainOutbox(v.ctx, 1, func(runner.OutboxRow) error { return nil })
		v.ok(err)
		equal(v, "drained", n, 1)
		n, err = v.r.DrainOutbox(v.ctx, 0, func(runner.OutboxRow) error { return nil })
		v.ok(err)
		equal(v, "drained", n, 0)
		same(v, "left", v.outbox(), []string{"b"})
	}},
	{name: "an error keeps the row, the count is told", run: func(v *env) {
		v.emit("a", "b", "c")
		n, err := v.r.DrainOutbox(v.ctx, 8, func(r runner.OutboxRow) error {
			if string(r.Message) == "b" {
				return errHard
			}
			return nil
		})
		v.is(err, errHard)
		equal(v, "drained", n, 1)
		same(v, "left", v.outbox(), []string{"b", "c"})
	}},
	{name: "numbers go on after a restart", run: func(v *env) {
		v.emit("a")
		_, err := v.r.DrainOutbox(v.ctx, 8, func(runner.OutboxRow) error { return nil })
		v.ok(err)
		v.emit("b")
		v.restart()
		v.emit("c")
		rows, err := v.r.Outbox(0, 10)
		v.ok(err)
		equal(v, "rows", len(rows), 2)
		same(v, "numbers", []uint64{rows[0].Seq, rows[1].Seq}, []uint64{2, 3})
		equal(v, "count", v.r.Stats().Outbox, 2)
	}},
	{name: "empty and too large", unstarted: true, run: func(v *env) {
		v.opts.MaxFrame = 100
		v.start()
		v.update(func(tx *runner.Tx) error {
			v.is(tx.Emit(nil), runner.ErrInvalid)
			v.is(tx.Emit(make([]byte, 101)), runner.ErrTooLarge)
			return nil
		})
	}},
}

// pageOfTimers tests that the pages of timers are complete, and that timers survive JSON.
func pageOfTimers(v *env) {
	v.start()
	dues := []int64{-7, -5, -5, 0, 500, 500, 900}
	for i, due := range dues {
		v.arm(due, fmt.Sprint(i))
	}
	for size := 1; size <= len(dues)+1; size++ {
		var got []string
		var after runner.TimerID
		for {
			page, err := v.r.Timers(after, size)
			v.ok(err)
			if len(page) == 0 {
				break
			}
			text, err := json.Marshal(page)
			v.ok(err)
			page = nil
			v.ok(json.Unmarshal(text, &page))
			for _, t := range page {
				m, err := runner.DecodeMessage(t.Frame)
				v.ok(err)
				got = append(got, string(m.ID))
			}
			after = page[len(page)-1].ID
		}
		same(v, fmt.Sprintf("in pages of %d", size), got, []string{"0", "1", "2", "3", "4", "5", "6"})
	}
}

func (v *env) arm(due int64, id string) runner.TimerID {
	v.Helper()
	t, err := v.r.Arm(v.ctx, when(due), msg(7, id))
	v.ok(err)
	return t
}

func (v *env) dues() []int64 {
	v.Helper()
	list, err := v.r.Timers(runner.TimerID{}, 100)
	v.ok(err)
	var out []int64
	for _, t := range list {
		out = append(out, t.ID.Due().UnixMilli())
	}
	return out
}

// collector adds worker 7, which records the ids it gets.
func (v *env) collector(o runner.WorkerOptions) (*runner.Worker, *[]string) {
	got := new([]string)
	return v.worker(7, o, func(d *runner.Delivery) error {
		*got = append(*got, string(d.ID))
		return nil
	}), got
}

var timerCases = []test{
	{name: "page by page", unstarted: true, run: pageOfTimers},
	{name: "due ones in order, others stay", run: func(v *env) {
		v.arm(100, "b")
		v.arm(90, "a")
		v.arm(110, "c")
		w, got := v.collector(runner.WorkerOptions{})
		v.tick(w, 2)
		same(v, "fired", *got, []string{"a", "b"})
		same(v, "left", v.dues(), []int64{110})
		v.clock.Set(110)
		v.tick(w, 1)
		equal(v, "fired by timers", w.Metrics().TimersFired, 3)
	}},
	{name: "equal due times by number, one ms early is early", run: func(v *env) {
		v.arm(110, "a")
		v.arm(110, "b")
		w, got := v.collector(runner.WorkerOptions{})
		v.clock.Set(109)
		v.tick(w, 0)
		v.clock.Set(110)
		v.tick(w, 2)
		same(v, "fired", *got, []string{"a", "b"})
	}},
	{name: "mixed signs in true order", unstarted: true, run: func(v *env) {
		v.clock.Set(0)
		v.start()
		all := []int64{0, 90, 100, -1, -5, math.MinInt64, math.MaxInt64, 1_700_000_000_000, 1}
		for _, due := range all {
			v.arm(due, "x")
		}
		same(v, "order", v.dues(), []int64{math.MinInt64, -5, -1, 0, 1, 90, 100, 1_700_000_000_000, math.MaxInt64})
		w, got := v.collector(runner.WorkerOptions{})
		v.tick(w, 4)
		equal(v, "fired at 0", len(*got), 4)
		same(v, "left", v.dues(), []int64{1, 90, 100, 1_700_000_000_000, math.MaxInt64})
		v.restart()
		same(v, "left after restart", v.dues(), []int64{1, 90, 100, 1_700_000_000_000, math.MaxInt64})
	}},
	{name: "negative before positive", unstarted: true, run: func(v *env) {
		v.clock.Set(200)
		v.start()
		v.arm(100, "late")
		v.arm(-5, "early")
		w, got := v.collector(runner.WorkerOptions{})
		v.tick(w, 2)
		same(v, "fired", *got, []string{"early", "late"})
	}},
	{name: "a timer for another worker blocks nobody", run: func(v *env) {
		_, err := v.r.Arm(v.ctx, when(50), msg(8, "other"))
		v.ok(err)
		v.arm(60, "own")
		w, got := v.collector(runner.WorkerOptions{})
		v.tick(w, 1)
		same(v, "fired", *got, []string{"own"})
		same(v, "waiting for 8", v.rows(8), []uint64{1})
	}},
	{name: "a poison timer goes to the dead letters", unstarted: true, run: func(v *env) {
		v.plant(raw{4, rowKey(5, 1), []byte("junk")}, raw{4, rowKey(6, 2), frame(1<<63, "nobody")},
			raw{4, rowKey(7, 3), frame(7, "good")})
		v.start()
		w, got := v.collector(runner.WorkerOptions{})
		v.tick(w, 1)
		same(v, "fired", *got, []string{"good"})
		dead := v.dead()
		equal(v, "dead letters", len(dead), 2)
		equal(v, "timer", dead[0].Timer.Due(), when(5))
		equal(v, "its number", dead[0].Timer.Seq, 1)
		equal(v, "from a timer", dead[0].FromTimer, true)
		same(v, "left", v.dues(), nil)
	}},
	{name: "a timer has a budget, and its dead letter names it", run: func(v *env) {
		id := v.arm(90, "bad")
		w := v.worker(7, runner.WorkerOptions{}, func(d *runner.Delivery) error {
			equal(v, "timer", d.Timer, id)
			return errHard
		})
		v.tick(w, 0)
		equal(v, "attempts", w.Metrics().Attempts, 4)
		equal(v, "timer", v.dead()[0].Timer, id)
	}},
	{name: "cancel", run: func(v *env) {
		id := v.arm(90, "a")
		v.arm(95, "b")
		v.ok(v.r.Cancel(v.ctx, id))
		v.is(v.r.Cancel(v.ctx, id), runner.ErrNotFound)
		w, got := v.collector(runner.WorkerOptions{})
		v.tick(w, 1)
		same(v, "fired", *got, []string{"b"})
		equal(v, "count", v.r.Stats().Timers, 0)
	}},
	{name: "a handler arms and cancels in its commit", run: func(v *env) {
		victim := v.arm(500, "victim")
		v.post(7, "go")
		w, err := v.r.NewWorker(7,
			runner.WorkerOptions{Handler: func(_ context.Context, tx *runner.Tx, d *runner.Delivery) error {
				if string(d.ID) == "go" {
					v.ok(tx.Arm(when(300), msg(7, "next")))
					return tx.Cancel(victim)
				}
				return nil
			}})
		v.ok(err)
		v.tick(w, 1)
		same(v, "armed", v.dues(), []int64{300})
	}},
	{name: "timers and rows share a batch, neither starves", run: func(v *env) {
		for range 8 {
			v.post(7, "row")
			v.arm(90, "timer")
		}
		w, got := v.collector(runner.WorkerOptions{MaxBatch: 4})
		v.tick(w, 4)
		timers := 0
		for _, id := range *got {
			if id == "timer" {
				timers++
			}
		}
		equal(v, "timers in the first batch", timers, 1)
		for range 3 {
			v.tick(w, 4)
		}
		equal(v, "all", len(*got), 16)
	}},
	{name: "a batch of one takes turns", run: func(v *env) {
		for range 8 {
			v.post(7, "row")
			v.arm(90, "timer")
		}
		w, got := v.collector(runner.WorkerOptions{MaxBatch: 1})
		for range 4 {
			v.tick(w, 1)
		}
		seen := map[string]int{}
		for _, id := range *got {
			seen[id]++
		}
		equal(v, "both were served", seen["row"] > 0 && seen["timer"] > 0, true)
	}},
	{name: "idle sleep", run: func(v *env) {
		w, _ := v.collector(runner.WorkerOptions{MaxIdle: ms(25)})
		equal(v, "no timers", w.IdleSleep(), ms(25))
		v.arm(150, "x")
		equal(v, "timer at 150", w.IdleSleep(), ms(25))
		v.arm(105, "x")
		equal(v, "timer at 105", w.IdleSleep(), ms(5))
		v.arm(-7, "x")
		equal(v, "timer at -7", w.IdleSleep(), 0)
	}},
}
