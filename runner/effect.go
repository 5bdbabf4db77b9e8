package runner

import (
	"bytes"
	"context"
	"fmt"
	"time"
)

// Send posts m when the transaction commits. An ID is made for a message without
// one. A Unique one is left out if one with its ID waits or runs by then.
func (t *Tx) Send(m *Message) error {
	if err := t.usable(); err != nil {
		return err
	}
	frame, err := t.src.e.encode(context.Background(), m)
	if err != nil {
		return err
	}
	if m.Unique && !t.src.e.tracks(m.To) {
		return errUnnamed
	}
	x := effect{kind: effectSend, frame: frame, to: m.To, band: m.Flags.band(), unique: m.Unique}
	if !m.At.IsZero() {
		x.kind, x.timer = effectArm, TimerID{due: m.At.UnixMilli()}
	}
	t.effects = append(t.effects, x)
	return nil
}

// Arm is Send with another time: m is delivered at due.
func (t *Tx) Arm(due time.Time, m *Message) error {
	timed := *m
	timed.At = due
	err := t.Send(&timed)
	m.ID = timed.ID
	return err
}

// Cancel disarms a timer when the transaction commits. A timer that has fired by
// then is delivered.
func (t *Tx) Cancel(id TimerID) error {
	if err := t.usable(); err != nil {
		return err
	}
	t.effects = append(t.effects, effect{kind: effectCancel, timer: id})
	return nil
}

// Emit appends bytes to the outbox when the transaction commits.
func (t *Tx) Emit(message []byte) error {
	if err := t.usable(); err != nil {
		return err
	}
	switch {
	case len(message) == 0:
		return fmt.Errorf("empty outbox message: %w", ErrInvalid)
	case len(message) > t.src.e.o.MaxFrame:
		return fmt.Errorf("outbox message of %d bytes: %w", len(message), ErrTooLarge)
	}
	t.effects = append(t.effects, effect{kind: effectEmit, frame: bytes.Clone(message)})
	return nil
}

// Begin opens a nested transaction. Until it is ended t cannot be used.
func (t *Tx) Begin() (*Tx, error) {
	if err := t.usable(); err != nil {
		return nil, err
	}
	t.child = &Tx{src: t.src, parent: t}
	return t.child, nil
}

// Commit ends a nested transaction and hands what it did to its parent. The
// outermost transaction is committed by the runner, and answers ErrNesting.
func (t *Tx) Commit() error {
	if err := t.usable(); err != nil {
		return err
	}
	if t.parent == nil {
		return ErrNesting
	}
	t.mergeReads()
	p := t.parent
	for _, w := range t.writes {
		p.stage(w.key, w.value)
	}
	p.effects = append(p.effects, t.effects...)
	t.end()
	return nil
}

// Abort ends a transaction and drops its writes and effects. What a nested one
// read is still validated, because its end may have depended on it. After the
// outermost one was aborted its commit answers ErrNesting.
func (t *Tx) Abort() error {
	if err := t.usable(); err != nil {
		return err
	}
	if t.parent != nil {
		t.mergeReads()
	}
	t.end()
	return nil
}

func (t *Tx) mergeReads() {
	for k, r := range t.reads {
		t.parent.record(k, r)
	}
	t.parent.ranges = append(t.parent.ranges, t.ranges...)
}

func (t *Tx) end() {
	t.ended = true
	if t.parent != nil {
		t.parent.child = nil
	}
}

// validate checks that everything t read is still so.
func (c *commit) validate(t *Tx) error {
	for k, r := range t.reads {
		now, ok, err := c.get([]byte(k))
		if err != nil {
			return err
		}
		if ok != r.ok || !bytes.Equal(now, r.value) {
			return fmt.Errorf("key %q: %w", k[1:], ErrConflict)
		}
	}
	for _, r := range t.ranges {
		rows, err := stateRows(c.e.back, c.staged, r.lo, r.hi, MaxRange+1)
		if err != nil {
			return err
		}
		if sumRows(rows) != r.sum {
			return fmt.Errorf("range from %q: %w", r.lo[1:], ErrConflict)
		}
	}
	return nil
}

// validateOpen is validate for a transaction that failed, with those that it left
// open inside.
func (c *commit) validateOpen(t *Tx) error {
	for ; t != nil; t = t.child {
		if err := c.validate(t); err != nil {
			return err
		}
	}
	return nil
}

// applyTx writes what t did. It must have been validated in this group.
func (c *commit) applyTx(t *Tx) {
	for _, w := range t.writes {
		c.stage(w.key, w.value)
	}
	for _, x := range t.effects {
		if x.unique {
			if there, err := c.queued(x.to, frameID(x.frame)); there || err != nil {
				continue
			}
		}
		switch x.kind {
		case effectSend:
			c.post(x.to, x.band, x.frame)
		case effectEmit:
			c.emit(x.frame)
		case effectArm:
			c.arm(x.timer.due, x.frame)
		case effectCancel:
			if frame, err := c.timerFrame(x.timer); err == nil {
				c.cancel(x.timer, frame)
			}
		}
	}
}

// commitTx is validate and applyTx for a transaction of its own.
func (c *commit) commitTx(t *Tx) error {
	if err := t.usable(); err != nil {
		return err
	}
	if err := c.validate(t); err != nil {
		return err
	}
	c.applyTx(t)
	return nil
}
