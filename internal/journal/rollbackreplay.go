package journal

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"wamble/internal/store"
	"wamble/runner"
)

// rollbackReplay applies kept messages to a store that had them before it went back. What it refused then is in the
// dead letters, and is refused again. It can also refuse intents that need rows which another profile or
// shard has not brought there again: a board that has moved, a session of another profile. Then
// messages are applied one by one and wait for the other profiles, which never wait for a later message of
// this one.
type rollbackReplay struct {
	d       *Drain
	factor  int             // how much larger than usual the next plan is
	dead    map[uint64]bool // messages that have dead letters; nil: not read yet
	refused int             // intents that the store had taken and refuses now
}

// othersPause is the pause between two checks of the other profiles, othersTime how long a drain waits for
// others that make no progress.
const (
	othersPause = 20 * time.Millisecond
	othersTime  = 10 * time.Second
)

// apply applies the next plan of messages, and returns how many messages it has taken.
func (r *rollbackReplay) apply(ctx context.Context, queue []Message) (int, error) {
	for {
		plan, taken, err := r.plan(queue)
		if err != nil {
			return 0, err
		}
		err = r.d.store.Apply(ctx, r.d.batch(plan))
		if err == nil || !permanent(ctx, err) {
			return r.endBatch(plan, taken, err)
		}
		if r.factor > 1 {
			r.factor = max(1, r.factor/smaller)
			continue
		}
		if err := r.readDead(); err != nil {
			return 0, err
		}
		mayCome := r.d.mayArriveLater(ctx) // before the store is probed
		rejected, err := r.d.store.Probe(ctx, r.d.batch(plan))
		if err != nil {
			return 0, err
		}
		first, unknown := r.unknown(plan, rejected)
		switch {
		case unknown > 0 && taken > 1:
			// Take the messages before the first of them, or only that one.
			queue = queue[:max(1, slices.IndexFunc(queue, func(m Message) bool { return m.Seq >= first }))]
			continue
		case unknown > 0 && mayCome:
			sleep(ctx, othersPause)
			continue
		}
		r.refused += unknown
		return r.endBatch(plan, taken, r.d.store.Apply(ctx, r.d.batch(plan.without(rejected))))
	}
}

func (r *rollbackReplay) endBatch(plan Plan, taken int, err error) (int, error) {
	if err == nil {
		r.d.setCursor(plan.Through)
		r.factor = min(2*r.factor, backlogFactor)
	}
	return taken, err
}

// smaller divides the factor of the plans after a refusal, down to the usual size. Probing a large plan
// takes long, and delays the profiles that must bring what it needs.
const smaller = 8

// plan makes the next plan.
func (r *rollbackReplay) plan(queue []Message) (Plan, int, error) {
	limits := *r.d.limits.Load()
	limits.Intents, limits.Bytes = r.factor*limits.Intents, r.factor*limits.Bytes
	for {
		plan, taken, err := r.d.planner.Make(queue, limits)
		var bad *Malformed
		if !errors.As(err, &bad) {
			return plan, taken, err
		}
		queue[slices.IndexFunc(queue, func(m Message) bool { return m.Seq == bad.Seq })] = Message{Seq: bad.Seq}
	}
}

// readDead reads, once, which messages have dead letters.
func (r *rollbackReplay) readDead() error {
	if r.dead != nil {
		return nil
	}
	r.dead = map[uint64]bool{}
	mine := runner.DeadFilter{Worker: uint64(r.d.Worker()), HasWorker: true}
	err := r.d.r.EachDeadLetter(mine, runner.Row{}, func(l runner.DeadLetter) bool {
		r.dead[l.Source.Seq] = true
		return true
	})
	if err != nil {
		return fmt.Errorf("read the dead letters: %w", err)
	}
	return nil
}

// unknown returns how many of the rejected intents have no dead letter, and the first message with such an
// intent.
func (r *rollbackReplay) unknown(plan Plan, rejected []store.Rejection) (first uint64, n int) {
	for _, x := range rejected {
		seq := plan.Origins[x.Index].Seq
		if r.dead[seq] {
			continue
		}
		if n++; n == 1 || seq < first {
			first = seq
		}
	}
	return first, n
}

// others is the progress of the other profiles of the store.
type others struct {
	at    uint64    // sum of their cursors
	moved time.Time // when at has last changed
}

// mayArriveLater reports whether an intent that the store refuses may need rows that other profiles are bringing
// again: one of them is behind, and they make progress.
func (d *Drain) mayArriveLater(ctx context.Context) bool {
	if d.o.Others == nil || ctx.Err() != nil {
		return false
	}
	behind, at := d.o.Others(ctx)
	if !behind {
		d.others = others{}
		return false
	}
	if now := time.Now(); at != d.others.at || d.others.moved.IsZero() {
		d.others = others{at, now}
	}
	return time.Since(d.others.moved) < othersTime
}

// IsBehind reports whether a store lacks messages of a profile that have left the journal, and the profile's
// cursor.
func IsBehind(ctx context.Context, r *runner.Runner, db store.Store,
	profile string) (behind bool, at uint64, err error) {
	workers, err := Workers(ctx, r)
	if err != nil {
		return false, 0, err
	}
	database, _, err := DatabaseOf(ctx, r, profile)
	if err != nil {
		return false, 0, err
	}
	had := drainedOf(r, uint64(workers[profile])) // before the cursor is read, which may advance
	at, err = db.Cursor(ctx, store.JournalID(r.JournalID()), profile)
	return err == nil && max(at, database.Base) < had, at, err
}

func sleep(ctx context.Context, d time.Duration) {
	select {
	case <-ctx.Done():
	case <-time.After(d):
	}
}
