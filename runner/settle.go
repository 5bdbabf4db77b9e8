package runner

import (
	"errors"
	"fmt"
	"slices"
	"time"
)

// settleOp passes the outcomes of a batch, and the leases of the next one, to the committer. It
// may be reused after done.
type settleOp struct {
	waiter
	e    *engine
	w    *Worker
	b    *batch
	from int // deliveries from..to are settled
	to   int
	// shared is the transaction of a batch handler, dead its dead letters; both are applied
	// only if the whole batch is still held.
	shared *Tx
	dead   []DeadLetter
	dedupe bool // the batch has messages with the flag Dedupe
	// next is the batch that was claimed meanwhile.
	next *batch

	results []settled
	buf     []byte
}

// settled is the result of one delivery.
type settled struct {
	err  error // ErrLeaseLost, ErrConflict, or why the transaction is unusable
	dead bool
	dup  bool
}

func (o *settleOp) apply(c *commit) {
	o.results = o.results[:0]
	if err := o.applyShared(c); err != nil {
		for range o.b.list[o.from:o.to] {
			o.results = append(o.results, settled{err: err})
		}
	} else {
		for i := o.from; i < o.to && !o.stuck(); {
			i += o.settle(c, i)
		}
		for len(o.results) < o.to-o.from {
			o.results = append(o.results, settled{err: errBehind})
		}
	}
	c.storeClaim(o.next)
	if now := c.e.steady(); c.e.ix.expiryHead <= now {
		_, _ = c.sweep(now) // an error occurs again when the worker is idle
	}
}

// errDuplicate is the result of a batch of which another worker has completed a part: the
// effects of its transaction for that part must not count.
var errDuplicate = fmt.Errorf("an id of the batch is done: %w", ErrConflict)

// errBehind is the result of a delivery that an ordered worker has not settled, because an
// earlier one was not.
var errBehind = errors.New("a message before it was not settled")

// stuck reports whether the last delivery was not settled and no later one may be.
func (o *settleOp) stuck() bool {
	n := len(o.results)
	return o.w.o.Ordered && n > 0 && o.results[n-1].err != nil
}

// applyShared applies the effects of a batch handler as a whole.
func (o *settleOp) applyShared(c *commit) error {
	if o.shared == nil {
		return nil
	}
	for i := o.from; i < o.to; {
		n := o.b.bundle(c, i, o.to)
		if _, _, err := c.held(o.b.list[i].Row, o.b.list[i].lease); err != nil {
			return err
		}
		i += n
	}
	for i := o.from; i < o.to && o.dedupe; i++ {
		if d := &o.b.list[i]; d.Flags&Dedupe != 0 && o.b.outs[i].verdict == verdictDone {
			if done, err := c.isDone(d.Row.Worker, d.ID); done || err != nil {
				return errors.Join(err, errDuplicate)
			}
		}
	}
	if err := c.commitTx(o.shared); err != nil {
		return err
	}
	for i := range o.dead {
		c.bury(o.w.id, &o.dead[i])
	}
	return nil
}

// noErrors is the result of the messages of a plain bundle.
var noErrors [maxBundle]settled

// findPlain finds the bundles among from..to whose messages have all succeeded without effects,
// so that only the row must be deleted. It runs on the worker's goroutine, which has the
// deliveries in its cache, not on the committer's, for which all callers wait.
func (b *batch) findPlain(from, to int, tracked bool) {
	b.plain = slices.Grow(b.plain[:0], len(b.list))[:len(b.list)]
	if tracked {
		clear(b.plain)
		return
	}
	for i, n := from, 0; i < to; i += n {
		n = b.unit(i)
		b.plain[i] = i+n <= to
		for k := i; k < i+n && b.plain[i]; k++ {
			b.plain[i] = b.outs[k].verdict == verdictDone && b.list[k].Flags&Dedupe == 0 &&
				(b.txs[k] == nil || b.txs[k].empty())
		}
	}
}

// bundle returns how many deliveries from i on, before to, are one row: a whole bundle, or one.
// A bundle that extends beyond to is unpacked.
func (b *batch) bundle(c *commit, i, to int) int {
	d := &b.list[i]
	if d.of < 2 {
		return 1
	}
	in := c.e.ix.inboxes[d.Row.Worker]
	if in == nil || !in.whole(d) {
		return 1
	}
	if n := int(d.of); d.nth == 0 && i+n <= to {
		return n
	}
	b.unpackAt(c, i)
	return 1
}

// settle settles the row of delivery i, and returns how many deliveries it has.
func (o *settleOp) settle(c *commit, i int) int {
	n := o.b.bundle(c, i, o.to)
	if n > 1 && o.b.plain[i] {
		c.remove(c.e.ix.inboxes[o.b.list[i].Row.Worker], o.b.list[i].Row.Seq, bandNormal)
		o.results = append(o.results, noErrors[:n]...)
		return n
	}
	for k := i; k < i+n && n > 1; k++ {
		if o.b.outs[k].verdict != verdictDone {
			o.b.unpackAt(c, i)
			n = 1
		}
	}
	if n == 1 {
		o.results = append(o.results, o.one(c, i))
		return 1
	}
	in := c.e.ix.inboxes[o.b.list[i].Row.Worker]
	first, failed := len(o.results), false
	for k := i; k < i+n && !o.stuck(); k++ {
		r := o.finish(c, in, &o.b.list[k], o.b.txs[k])
		o.results = append(o.results, r)
		failed = failed || r.err != nil
	}
	for k, r := range o.results[first:] {
		if r.err == nil && in.tracked() {
			c.succeeded(in, &o.b.list[i+k])
		}
	}
	if !failed {
		c.remove(in, o.b.list[i].Row.Seq, bandNormal)
		return n
	}
	o.b.unpackAt(c, i)
	for k, r := range o.results[first:] {
		if r.err == nil {
			c.remove(in, o.b.list[i+k].Row.Seq, bandNormal)
		}
	}
	return n
}

// one settles a delivery that has a row of its own.
func (o *settleOp) one(c *commit, i int) settled {
	d, out := &o.b.list[i], &o.b.outs[i]
	if out.verdict == verdictSettled || out.verdict == verdictPause {
		return settled{}
	}
	in, h, err := c.held(d.Row, d.lease)
	if err != nil {
		return settled{err: err}
	}
	if tx := o.b.txs[i]; tx != nil && out.verdict != verdictDone && out.verdict != verdictFree {
		// It failed after reading writes of earlier messages that may be refused: then it may
		// have read a state that was never committed.
		if err := c.validateOpen(tx); err != nil {
			return settled{err: err}
		}
	}
	switch out.verdict {
	case verdictDone:
		r := o.finish(c, in, d, o.b.txs[i])
		if r.err == nil {
			c.remove(in, d.Row.Seq, d.queue)
			if in.tracked() {
				c.succeeded(in, d)
			}
		}
		return r
	case verdictDead:
		o.bury(c, in, d, out)
		return settled{dead: true}
	case verdictRetry:
		if int(h.Attempts) >= o.w.policy().RetryBudget {
			o.bury(c, in, d, out)
			return settled{dead: true}
		}
		to := c.requeue(in, d.Row.Seq, h, until(c, out.after), o.stored(d))
		if in.tracked() {
			c.ran(in, d, placeInbox, to, out.err)
		}
	case verdictHold:
		if int(h.Attempts) >= o.w.policy().RetryBudget {
			o.bury(c, in, d, out)
			return settled{dead: true}
		}
		h.Attempts++
		h.Deadline = later(c.now, o.w.policy().LeaseTTL.Milliseconds())
		d.lease, d.Attempts = h.lease, h.Attempts
		in.park(d.Row.Seq, h)
		c.setLease(d.Row, h.lease)
		if in.tracked() {
			c.ran(in, d, placeInbox, d.Row.Seq, out.err)
		}
	case verdictFree:
		h.Owner, h.Deadline = 0, until(c, out.after)
		h.Attempts--
		in.park(d.Row.Seq, h)
		c.setLease(d.Row, h.lease)
		in.freed = true
		c.touch(in)
	}
	return settled{}
}

// stored returns the value of d's row.
func (o *settleOp) stored(d *Delivery) []byte {
	if !d.FromTimer {
		return d.Frame
	}
	o.buf = append(appendTimerKey(o.buf[:0], d.Timer), d.Frame...)
	return o.buf
}

// until returns the time before which a failed message is not delivered again.
func until(c *commit, after time.Duration) int64 {
	if after <= 0 {
		return c.now - 1
	}
	return later(c.now, int64((after+time.Millisecond-1)/time.Millisecond))
}

// finish applies the effects of a delivery, unless its id was completed before. If it returns
// no error, the row must be deleted.
func (o *settleOp) finish(c *commit, in *inbox, d *Delivery, tx *Tx) settled {
	if d.Flags&Dedupe != 0 && d.frameErr == nil && !d.skip {
		dup, err := c.isDone(in.worker, d.ID)
		if err != nil {
			return settled{err: err}
		}
		if dup {
			d.skip = true
		}
	}
	if d.skip {
		return settled{dup: true}
	}
	if tx != nil && !tx.empty() {
		if err := c.commitTx(tx); err != nil {
			return settled{err: err}
		}
	}
	if d.Flags&Dedupe != 0 {
		c.markDone(in.worker, d.ID, o.w.policy().DedupeFor)
	}
	return settled{}
}

func (o *settleOp) bury(c *commit, in *inbox, d *Delivery, out *outcome) {
	letter := DeadLetter{
		Cause: out.cause, Attempts: d.Attempts, Source: d.Row, Timer: d.Timer,
		FromTimer: d.FromTimer, Frame: d.Frame,
	}
	if out.err != nil {
		letter.Reason = out.err.Error()
	}
	switch out.cause {
	case CauseMalformed, CauseMisrouted:
		letter.Attempts = 0 // it did not reach the handler
	case CauseCrash:
		letter.Attempts = d.prior
	}
	if len(letter.Frame) == 0 {
		letter.Frame = []byte{0} // a truncated fired timer has no frame
	}
	row := c.bury(in.worker, &letter)
	c.remove(in, d.Row.Seq, d.queue)
	if in.tracked() {
		c.ran(in, d, placeDead, row.Seq, out.err)
	}
}
