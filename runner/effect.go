package runner

import (
	"bytes"
	"fmt"
)

// Send posts frame to the worker it names, when the transaction commits.
func (t *Tx) Send(frame []byte) error {
	to, b, err := t.frame(frame)
	if err != nil {
		return err
	}
	t.effects = append(t.effects, effect{kind: effectSend, frame: bytes.Clone(frame), to: to, band: b})
	return nil
}

// Arm arms a timer when the transaction commits: at due, in milliseconds since
// 1970, frame is delivered to the worker it names. For a periodic timer, let
// its handler arm the next one.
func (t *Tx) Arm(due int64, frame []byte) error {
	if _, _, err := t.frame(frame); err != nil {
		return err
	}
	t.effects = append(t.effects, effect{kind: effectArm, frame: bytes.Clone(frame), timer: TimerID{Due: due}})
	return nil
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

// Intend carries out a LINT frame when the transaction commits: the intent
// sink. Outbox intents are emitted as they are; a timer intent must hold an
// LMSG frame.
func (t *Tx) Intend(frame []byte) error {
	i, err := DecodeIntent(frame)
	if err != nil {
		return err
	}
	if i.Kind == TimerArm {
		return t.Arm(i.Due, i.Message)
	}
	return t.Emit(i.Message)
}

// Effects returns the number of effects collected so far.
func (t *Tx) Effects() int { return len(t.effects) }

func (t *Tx) frame(frame []byte) (to uint64, b band, err error) {
	if err := t.usable(); err != nil {
		return 0, 0, err
	}
	return t.src.e.checkFrame(frame)
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
		switch x.kind {
		case effectSend:
			c.post(x.to, x.band, x.frame)
		case effectEmit:
			c.emit(x.frame)
		case effectArm:
			c.arm(x.timer.Due, x.frame)
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
