package runner

import (
	"bytes"
	"fmt"
	"time"
)

// Send posts m when the transaction commits. A message without an ID gets one. A Unique message
// is dropped if another one with its ID waits or runs then.
func (t *Tx) Send(m *Message) error {
	if err := t.usable(); err != nil {
		return err
	}
	frame, err := t.src.e.encode(m)
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

// Arm sends m like Send, for delivery at due.
func (t *Tx) Arm(due time.Time, m *Message) error {
	timed := *m
	timed.At = due
	err := t.Send(&timed)
	m.ID = timed.ID
	return err
}

// Cancel disarms a timer when the transaction commits. A timer that has fired before is
// delivered.
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

// Begin opens a nested transaction. t cannot be used until that ends.
func (t *Tx) Begin() (*Tx, error) {
	if err := t.usable(); err != nil {
		return nil, err
	}
	t.child = &Tx{src: t.src, parent: t}
	return t.child, nil
}

// Commit ends a nested transaction and passes its reads, writes and effects to its parent. The
// runner commits the outermost transaction; its Commit returns ErrNesting.
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

// Abort ends a transaction and drops its writes and effects. The reads of a nested one are
// still validated, because the outcome may depend on them. After Abort of the outermost one its
// commit returns ErrNesting.
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

// validate checks that everything t has read is unchanged.
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
		rows, err := stateRows(c.e.back, c.staged, r.lo, r.hi, r.rows+1)
		if err != nil {
			return err
		}
		if sumRows(rows) != r.sum {
			return fmt.Errorf("range from %q: %w", r.lo[1:], ErrConflict)
		}
	}
	return nil
}

// validateOpen validates a failed transaction and the nested ones that it left open.
func (c *commit) validateOpen(t *Tx) error {
	for ; t != nil; t = t.child {
		if err := c.validate(t); err != nil {
			return err
		}
	}
	return nil
}

// applyTx writes what t did. t must have been validated in this group.
func (c *commit) applyTx(t *Tx) {
	for _, w := range t.writes {
		c.stage(w.key, w.value)
	}
	for _, x := range t.effects {
		if x.unique {
			if there, err := c.queued(c.e.ix.inbox(x.to), frameID(x.frame)); there || err != nil {
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

// commitTx validates and applies a transaction of its own.
func (c *commit) commitTx(t *Tx) error {
	if err := t.settled(); err != nil {
		return err
	}
	if err := c.validate(t); err != nil {
		return err
	}
	c.applyTx(t)
	return nil
}
