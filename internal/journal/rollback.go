package journal

import (
	"context"

	"wamble/internal/store"
	"wamble/runner"
)

// Rollback is a store that has less of the journal than it had, because a standby that was behind or a
// backup has replaced it.
type Rollback struct {
	From, To uint64 // the last message that it had, and that it has now
	// Lost is how many messages between them are not kept any more. Brought says that the others were
	// applied again, except Refused intents that the store had taken before.
	Lost    uint64
	Refused int
	Brought bool
}

// drained returns the last message that has left the journal for the store.
func (d *Drain) drained() uint64 { return drainedOf(d.r, d.worker.ID()) }

func drainedOf(r *runner.Runner, worker uint64) uint64 {
	for _, in := range r.Stats().Inboxes {
		if in.Worker == worker && in.NextSeq > 0 {
			return in.NextSeq - 1 - in.Depth
		}
	}
	return 0
}

// SetBase says that the store never had the messages up to a number, because they went to another one.
func (d *Drain) SetBase(seq uint64) { d.base.Store(seq) }

// Recheck makes the drain read the store's cursor before its next batch, as after an outage. It does not
// block.
func (d *Drain) Recheck() {
	d.recheck.Store(true)
	select {
	case d.wake <- struct{}{}:
	default:
	}
}

// syncCursor reads the store's cursor. If the store lacks messages before next, which have left the journal, it
// gets them again from the kept ones.
func (d *Drain) syncCursor(ctx context.Context, next uint64) error {
	at, err := d.store.Cursor(ctx, store.JournalID(d.r.JournalID()), d.o.Profile)
	if err != nil {
		return err
	}
	d.setCursor(at)
	if had := next - 1; max(at, d.base.Load()) < had {
		err = d.replayAfterRollback(ctx, at, had)
	}
	d.known = err == nil
	return err
}

// replayAfterRollback applies the kept messages between what the store has and what it had.
func (d *Drain) replayAfterRollback(ctx context.Context, at, had uint64) error {
	s := Rollback{From: had, To: at}
	d.reportRollback(s)
	last := max(at, d.base.Load())
	s.Lost = had - last
	again := rollbackReplay{d: d, factor: backlogFactor}
	var queue []Message
	bytes := 0
	flush := func() error {
		for len(queue) > 0 {
			taken, err := again.apply(ctx, queue)
			if err != nil {
				return err
			}
			queue = queue[taken:]
		}
		queue, bytes = queue[:0], 0
		return nil
	}
	if d.retained != nil {
		for seq, frame := range d.retained.after(last) {
			if seq > had {
				break
			}
			m, _ := MakeMessage(seq, frame) // a bad message becomes an empty one; it was a dead letter
			queue = append(queue, m)
			s.Lost--
			if bytes += len(frame); len(queue) == maxBatch || bytes >= maxBytes {
				if err := flush(); err != nil {
					return err
				}
			}
		}
	}
	if err := flush(); err != nil {
		return err
	}
	s.Brought, s.Refused = true, again.refused
	d.reportRollback(s)
	return nil
}

func (d *Drain) reportRollback(s Rollback) {
	if d.o.OnRollback != nil {
		d.o.OnRollback(s)
	}
}

// Base returns the number of the last SetBase.
func (d *Drain) Base() uint64 { return d.base.Load() }
