package loop

import (
	"testing"
	"time"
)

// TestTracer: one step in so many moves is traced through all its moments, in whatever order
// the last of them come; without a collector nothing is traced, and nothing is allocated.
func TestTracer(t *testing.T) {
	var got []Trace
	o := &Tracing{Done: func(tr Trace) { got = append(got, tr) }}
	tr := &tracer{o: o}
	now := time.Unix(1_800_000_000, 0)
	if tr.step("red", now, 0, 1, 5) != nil {
		t.Error("a step is followed that nobody wants")
	}
	o.Every.Store(10)
	told := tr.step("red", now, 5*time.Microsecond, 2, 2)
	if told == nil {
		t.Fatal("the first step is not followed")
	}
	if tr.step("red", now, 0, 3, 23) != nil {
		t.Error("two steps are followed at once")
	}
	tr.durable(now.Add(1*time.Millisecond), 1) // of an earlier one
	tr.applied(99)                             // before its number is known
	told(100)
	tr.durable(now.Add(2*time.Millisecond), 3)
	tr.applied(99)
	tr.sent(3, now.Add(3*time.Millisecond)) // of another one
	tr.sent(2, now.Add(4*time.Millisecond))
	if len(got) != 0 {
		t.Fatalf("told before the store has it: %+v", got)
	}
	tr.applied(100)
	if len(got) != 1 {
		t.Fatalf("got %d traces", len(got))
	}
	if g := got[0]; g.Profile != "red" || g.Moves != 2 || g.Linked != 5*time.Microsecond ||
		g.Durable != now.Add(2*time.Millisecond) || g.Sent != now.Add(4*time.Millisecond) || g.Stored.IsZero() {
		t.Errorf("got %+v", g)
	}
	if tr.step("red", now, 0, 4, 1) == nil {
		t.Error("no step is followed after that")
	}
	if tr.step("red", now.Add(traceTimeout), 0, 5, 19) == nil {
		t.Error("a step that was lost keeps others from being followed")
	}
}

// TestAllocsTracer: a tracer that is off costs no allocation.
func TestAllocsTracer(t *testing.T) {
	now, quiet := time.Now(), []*tracer{{}, {o: &Tracing{}}}
	for _, tr := range quiet {
		if n := testing.AllocsPerRun(100, func() {
			tr.step("red", now, 0, 2, 2)
			tr.durable(now, 2)
			tr.sent(2, now)
			tr.applied(5)
		}); n != 0 {
			t.Errorf("a tracer that is off allocates %v times a step", n)
		}
	}
}
