package journal

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"

	"wamble/internal/guard"
	"wamble/internal/store"
	"wamble/runner"
)

// run is one batch of the runner on its way to the store.
type run struct {
	b     *runner.Batched
	queue []Message
	place map[uint64]int // index in b.Deliveries, by number of the message
	// refused is the intents that the store will never take.
	refused map[Origin]bool
	dead    deadLetterBatch
}

// newRun cuts the messages of a batch into records. A message that is no frame of intents becomes a dead
// letter unchanged.
func newRun(b *runner.Batched) *run {
	r := &run{b: b, queue: make([]Message, 0, len(b.Deliveries)), place: make(map[uint64]int, len(b.Deliveries))}
	for i := range b.Deliveries {
		dl := &b.Deliveries[i]
		r.place[dl.Row.Seq] = i
		m, err := MakeMessage(dl.Row.Seq, dl.Payload)
		if err != nil {
			b.Fail(i, runner.Discard(err))
			r.dead.add(err)
		}
		// A bad message becomes an empty one in its place, so that the cursor passes it.
		r.queue = append(r.queue, m)
	}
	return r
}

// planned is a plan of the first messages of a queue; taken is 0 if there is no plan yet.
type planned struct {
	Plan
	taken int
}

// plan makes the next plan. A message with malformed fields becomes a dead letter unchanged.
func (r *run) plan(d *Drain, queue []Message, limits Limits) planned {
	for {
		plan, taken, err := d.planner.Make(queue, limits)
		var bad *Malformed
		if !errors.As(err, &bad) {
			return planned{plan, taken}
		}
		r.b.Fail(r.place[bad.Seq], runner.Discard(bad.Err))
		r.dead.add(bad.Err)
		at := slices.IndexFunc(queue, func(m Message) bool { return m.Seq == bad.Seq })
		queue[at] = Message{Seq: bad.Seq}
	}
}

// applyAhead applies a plan, and meanwhile makes the next one from the messages that follow, so that store
// and drain do not wait for each other. If there are none, or one is malformed, there is no next plan.
func (r *run) applyAhead(ctx context.Context, d *Drain, plan Plan, rest []Message, left int) (planned, error) {
	var next planned
	var ahead sync.WaitGroup
	defer ahead.Wait() // also after a panic of the store
	if len(rest) > 0 {
		front, limits := d.nextBatch(rest), d.limits.Load().Adapt(left)
		ahead.Go(func() {
			_ = guard.Call("the planner", func() error { // plan finds the error again
				p, taken, err := d.planner.Make(front, limits)
				if err == nil {
					next = planned{p, taken}
				}
				return err
			})
		})
	}
	err := r.applyPlan(ctx, d, plan)
	ahead.Wait()
	return next, err
}

// skip drops the messages that the store already has from the front of the queue. They come again if the
// process died, or the batch failed, between their transaction and the acknowledgement. The intents that
// the store refused then are not in the dead letters yet, so they are probed again.
func (r *run) skip(ctx context.Context, d *Drain, queue []Message) ([]Message, error) {
	n := 0
	for n < len(queue) && queue[n].Seq <= d.cursor {
		n++
	}
	for again := queue[:n]; len(again) > 0; {
		p := r.plan(d, d.nextBatch(again), d.limits.Load().Adapt(waiting(again)))
		tried := d.batch(p.Plan)
		tried.After = again[0].Seq - 1
		rejected, err := d.store.Probe(ctx, tried)
		if err != nil {
			return nil, err
		}
		if err := r.deadLetter(p.Plan, rejected, d.Worker()); err != nil {
			return nil, err
		}
		again = again[p.taken:]
	}
	return queue[n:], nil
}

// applyPlan applies a plan in one transaction. If the store refuses rows for good, it probes for the
// refused intents, applies the others, and moves the refused ones to the dead letters.
func (r *run) applyPlan(ctx context.Context, d *Drain, plan Plan) error {
	err := d.store.Apply(ctx, d.batch(plan))
	if err == nil || !permanent(ctx, err) {
		return err
	}
	mayCome := d.mayArriveLater(ctx) // before the store is probed
	rejected, probeErr := d.store.Probe(ctx, d.batch(plan))
	if probeErr != nil {
		return probeErr
	}
	if len(rejected) == 0 {
		return fmt.Errorf("the store refuses a batch, but none of its %d intents: %w", len(plan.Intents), err)
	}
	if mayCome {
		return fmt.Errorf("other profiles bring again what this database has lost: %w: %w", rejected[0].Err,
			store.ErrTransient)
	}
	rest := plan.without(rejected)
	if err := d.store.Apply(ctx, d.batch(rest)); err != nil {
		return err
	}
	return r.deadLetter(plan, rejected, d.Worker())
}

// permanent reports whether a retry cannot help.
func permanent(ctx context.Context, err error) bool {
	var moved *store.CursorMoved
	var owned *store.Owned
	return ctx.Err() == nil && !errors.Is(err, store.ErrTransient) && !errors.As(err, &moved) && !errors.As(err, &owned)
}

// deadLetter writes each rejected intent as a dead letter of its own. The rest of its message was applied.
func (r *run) deadLetter(plan Plan, rejected []store.Rejection, worker uint32) error {
	if r.refused == nil && len(rejected) > 0 {
		r.refused = map[Origin]bool{}
	}
	for _, x := range rejected {
		r.refused[plan.Origins[x.Index]] = true
		m := messageTo(worker, Append(Begin(nil), plan.Intents[x.Index]))
		frame, err := m.Append(nil)
		if err != nil {
			return err
		}
		reason := reasonOf(plan.Intents[x.Index].Kind(), x.Err)
		r.b.DeadLetter(r.place[plan.Origins[x.Index].Seq], frame, reason)
		r.dead.add(reason)
	}
	return nil
}

// without returns the plan less the rejected intents.
func (p Plan) without(rejected []store.Rejection) Plan {
	bad := make(map[int]bool, len(rejected))
	for _, x := range rejected {
		bad[x.Index] = true
	}
	rest := Plan{Through: p.Through}
	for i, in := range p.Intents {
		if !bad[i] {
			rest.Intents = append(rest.Intents, in)
			rest.Origins = append(rest.Origins, p.Origins[i])
		}
	}
	return rest
}

func (d *Drain) batch(p Plan) store.Batch {
	return store.Batch{
		Journal: store.JournalID(d.r.JournalID()), Profile: d.o.Profile,
		After: d.cursor, Through: p.Through, Intents: p.Intents,
	}
}
