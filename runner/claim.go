package runner

import (
	"bytes"
	"context"
	"fmt"
	"math"
	"slices"
)

// batch is what a worker has claimed, with the memory of its frames. A worker
// uses two in turn: one runs while the next is claimed.
type batch struct {
	arena []byte
	list  []Delivery
	outs  []outcome
	txs   []*Tx // nil where there is nothing to commit
	slots []Tx  // the memory of txs
	span  *claimSpan
	// pos is the first delivery that is not settled yet.
	pos int
	// singles says that a failure in a batch handler is being narrowed down.
	singles bool
}

func (b *batch) reset() {
	b.arena, b.list, b.outs, b.txs = b.arena[:0], b.list[:0], b.outs[:0], b.txs[:0]
	b.span, b.pos, b.singles = nil, 0, false
}

func (b *batch) rest() []Delivery { return b.list[b.pos:] }

// limits of one claim.
type limits struct{ rows, bytes int }

func (b *batch) full(l limits) bool {
	return len(b.list) >= l.rows || len(b.list) > 0 && len(b.arena) >= l.bytes
}

// add copies a row into the batch; value is as stored.
func (b *batch) add(row Row, at band, value []byte) {
	b.arena = append(b.arena, value...)
	v := b.arena[len(b.arena)-len(value):]
	d := Delivery{Row: row, band: at, Frame: v}
	if at == bandFired {
		if len(v) < rowKeyLen {
			d.frameErr = badLength("fired timer", v)
		} else {
			d.Timer, _ = decodeTimerKey(v[:rowKeyLen])
			d.FromTimer, d.Frame = true, v[rowKeyLen:]
		}
	}
	b.list = append(b.list, d)
}

// claim fills b with rows that w may run now, and takes their leases in the
// index. They are stored by the request that carries b.
func (w *Worker) claim(e *engine, b *batch, now int64, l limits, running []Delivery) error {
	b.reset()
	p := w.policy()
	e.ix.mu.Lock()
	in := e.ix.inbox(uint64(w.id))
	in.expire(now)
	w.seqs = in.takeReady(now, l.rows, w.seqs[:0])
	w.bands = w.bands[:0]
	alone := false
	for i, seq := range w.seqs {
		h := in.leases[seq]
		if suspect(h.Lease, p.RetryBudget) {
			// It was running when the process died, or its lease ran out: if
			// it is the culprit, nobody else shall pay for it.
			if i > 0 && w.o.Ordered {
				w.seqs = w.seqs[:i]
				break
			}
			w.seqs, w.bands, alone = append(w.seqs[:0], seq), append(w.bands[:0], h.band), true
			break
		}
		w.bands = append(w.bands, h.band)
	}
	seen, upper, tail, turn := in.seen, in.visible.upper, in.visible.next, in.turn
	in.turn++
	e.ix.mu.Unlock()

	if err := b.readReady(e, w, l); err != nil {
		return err
	}
	reached := seen
	if !alone {
		var err error
		if reached, err = b.readFresh(e, w, in.worker, seen, upper, turn, l); err != nil {
			return err
		}
	}
	for k := range reached {
		if reached[k] >= upper[k] && !alone {
			reached[k] = tail // the band was read to its end
		}
	}
	if len(b.list) == 0 && reached == seen {
		return nil
	}
	if w.o.Ordered {
		slices.SortFunc(b.list, func(x, y Delivery) int {
			if x.Row.Seq < y.Row.Seq {
				return -1
			}
			return 1
		})
		reached = b.cutOrdered(e, in, w, seen, reached, l, now, running)
	}
	w.grant(e, in, b, reached, now, p)
	return nil
}

// suspect reports whether a row has to be delivered alone: more than one
// delivery of it ended without an outcome, or all but one that it has left.
func suspect(l Lease, budget int) bool {
	return l.Owner != 0 && int(l.Attempts) >= max(1, min(2, budget-1))
}

// readReady reads the rows that are to be taken over.
func (b *batch) readReady(e *engine, w *Worker, l limits) error {
	for i, seq := range w.seqs {
		if b.full(l) {
			return nil
		}
		row := Row{uint64(w.id), seq}
		w.key = rowKey(w.key[:0], bandTables[w.bands[i]], row)
		value, ok, err := e.back.Get(w.buf[:0], w.key)
		if err != nil {
			return fmt.Errorf("read row %d: %w", seq, err)
		}
		w.buf = value
		if ok {
			b.add(row, w.bands[i], value)
		}
	}
	return nil
}

// readFresh reads rows that were never claimed. High priority goes first, but
// fired timers and ordinary rows each have a quarter of a batch for
// themselves; when a batch is too small for that they take turns.
func (b *batch) readFresh(e *engine, w *Worker, worker uint64, seen, upper [bandCount]uint64, turn uint, l limits) ([bandCount]uint64, error) {
	at := seen
	read := func(k band, rows int) error {
		if at[k] >= upper[k] || b.full(l) || rows <= 0 {
			return nil
		}
		next, err := b.readBand(e, worker, k, at[k], upper[k], rows, l)
		at[k] = next
		return err
	}
	room := l.rows - len(b.list)
	quarter := room / 4
	order := [bandCount]band{bandHigh, bandNormal, bandFired}
	switch {
	case w.o.Ordered:
		// The merge by number needs as many of each as there is room for.
		for _, k := range order {
			wide := l
			wide.rows, wide.bytes = len(b.list)+room, math.MaxInt
			if at[k] >= upper[k] {
				continue
			}
			next, err := b.readBand(e, worker, k, at[k], upper[k], room, wide)
			if err != nil {
				return at, err
			}
			at[k] = next
		}
		return at, nil
	case quarter > 0:
		if err := read(bandFired, quarter); err != nil {
			return at, err
		}
		keep := 0
		if at[bandNormal] < upper[bandNormal] {
			keep = quarter
		}
		if err := read(bandHigh, l.rows-len(b.list)-keep); err != nil {
			return at, err
		}
		order = [bandCount]band{bandNormal, bandHigh, bandFired}
	case turn%4 == 1:
		order = [bandCount]band{bandNormal, bandHigh, bandFired}
	case turn%4 == 2:
		order = [bandCount]band{bandFired, bandHigh, bandNormal}
	}
	for _, k := range order {
		if err := read(k, l.rows-len(b.list)); err != nil {
			return at, err
		}
	}
	return at, nil
}

// readBand appends rows of one band and returns where the next scan begins.
func (b *batch) readBand(e *engine, worker uint64, k band, from, upper uint64, rows int, l limits) (uint64, error) {
	lo, hi := rowKey(nil, bandTables[k], Row{worker, from}), rowKey(nil, bandTables[k], Row{worker, upper})
	next := upper
	err := e.back.Scan(lo, hi, func(key, value []byte) bool {
		row, err := decodeRowKey(key[1:])
		if err != nil {
			return true
		}
		if rows == 0 || b.full(l) {
			next = row.Seq
			return false
		}
		b.add(row, k, value)
		rows--
		return true
	})
	if err != nil {
		return from, fmt.Errorf("read inbox of worker %d: %w", worker, err)
	}
	return next, nil
}

// cutOrdered keeps the part of the sorted list that an ordered worker may
// take: up to the limits, and nothing behind a row that it must wait for.
func (b *batch) cutOrdered(e *engine, in *inbox, w *Worker, seen, reached [bandCount]uint64, l limits, now int64, running []Delivery) [bandCount]uint64 {
	e.ix.mu.Lock()
	blocked := uint64(math.MaxUint64)
	for seq, h := range in.leases {
		if seq < blocked && h.Deadline >= now && !holds(running, seq) {
			blocked = seq
		}
	}
	e.ix.mu.Unlock()
	n, size := 0, 0
	for n < len(b.list) && n < l.rows && (n == 0 || size < l.bytes) && b.list[n].Row.Seq < blocked {
		size += len(b.list[n].Frame)
		n++
	}
	for _, d := range b.list[n:] {
		if d.Row.Seq >= seen[d.band] {
			reached[d.band] = min(reached[d.band], d.Row.Seq)
		}
	}
	b.list = b.list[:n]
	return reached
}

func holds(list []Delivery, seq uint64) bool {
	_, ok := slices.BinarySearchFunc(list, seq, func(d Delivery, s uint64) int {
		switch {
		case d.Row.Seq < s:
			return -1
		case d.Row.Seq > s:
			return 1
		}
		return 0
	})
	return ok
}

// grant takes the leases of b's rows in the index, dropping rows that
// somebody else has taken since they were read.
func (w *Worker) grant(e *engine, in *inbox, b *batch, reached [bandCount]uint64, now int64, p Policy) {
	e.ix.mu.Lock()
	defer e.ix.mu.Unlock()
	deadline := later(now, p.LeaseTTL.Milliseconds())
	lo, hi := uint64(math.MaxUint64), uint64(0)
	kept := b.list[:0]
	for _, d := range b.list {
		seq := d.Row.Seq
		h, leased := in.leases[seq]
		fresh := seq >= in.seen[d.band]
		switch {
		case leased && h.Deadline >= now, !leased && !fresh, leased && h.Attempts == math.MaxUint32:
			continue
		case leased && h.Owner != 0:
			w.tally.Expired++
		}
		d.prior = h.Attempts
		d.doomed = leased && int(h.Attempts) >= p.RetryBudget
		d.lease = Lease{Owner: owner(e.boot.epoch, w.id), Deadline: deadline, Attempts: h.Attempts + 1}
		d.Attempts = d.lease.Attempts
		in.hold(seq, holding{d.lease, d.band})
		lo, hi = min(lo, seq), max(hi, seq)
		kept = append(kept, d)
	}
	b.list = kept
	if len(kept) > 0 {
		in.expiry.push(expirySpan{deadline, lo, hi})
	}
	for k := range in.seen {
		in.seen[k] = max(in.seen[k], reached[k])
	}
	b.span = &claimSpan{seen: in.seen, stored: len(kept) == 0}
	in.claims = append(in.claims, b.span)
	in.advance()
}

// storeClaim writes the leases of b.
func (c *commit) storeClaim(b *batch) {
	if b == nil || len(b.list) == 0 {
		return
	}
	in := c.e.ix.inbox(b.list[0].Row.Worker)
	for i := range b.list {
		d := &b.list[i]
		if h, ok := in.leases[d.Row.Seq]; ok && h.Lease == d.lease {
			c.setLease(d.Row, d.lease)
		}
	}
	b.span.stored = true
	in.advance()
	c.touch(in)
}

// Claim takes the lease of one row for claimant until deadline (ms): the
// primitive under the workers, for tools and tests. It returns ErrNotFound
// without such a row and ErrLeased while somebody holds it.
func (r *Runner) Claim(ctx context.Context, row Row, claimant uint32, deadline int64) (Lease, error) {
	var token Lease
	err := r.engine().do(ctx, func(c *commit) error {
		in := c.e.ix.inboxes[row.Worker]
		if in == nil {
			return fmt.Errorf("row %d of worker %d: %w", row.Seq, row.Worker, ErrNotFound)
		}
		h, leased := in.leases[row.Seq]
		switch {
		case leased && h.Deadline >= c.now:
			return fmt.Errorf("row %d of worker %d: %w", row.Seq, row.Worker, ErrLeased)
		case leased && h.Attempts == math.MaxUint32:
			return fmt.Errorf("attempts of row %d: %w", row.Seq, ErrTooLarge)
		case !leased:
			var err error
			if h.band, err = c.findRow(row); err != nil {
				return err
			}
		}
		h.Lease = Lease{Owner: owner(c.e.boot.epoch, claimant), Deadline: deadline, Attempts: h.Attempts + 1}
		token = h.Lease
		in.park(row.Seq, h)
		in.leaseHead = min(in.leaseHead, row.Seq)
		c.setLease(row, token)
		c.touch(in)
		return nil
	})
	return token, err
}

// findRow returns the band of a row that has no lease.
func (c *commit) findRow(row Row) (band, error) {
	for k, t := range bandTables {
		c.key = rowKey(c.key[:0], t, row)
		_, ok, err := c.e.back.Get(nil, c.key)
		if err != nil {
			return 0, err
		}
		if ok {
			return band(k), nil
		}
	}
	return 0, fmt.Errorf("row %d of worker %d: %w", row.Seq, row.Worker, ErrNotFound)
}

// Ack removes a claimed row. It returns ErrNotFound when the row has no lease
// and ErrLeaseLost when its lease is not token. The clock is not asked: a
// lease that ran out but was not taken over still acknowledges.
func (r *Runner) Ack(ctx context.Context, row Row, token Lease) error {
	return r.engine().do(ctx, func(c *commit) error {
		in, h, err := c.owned(row, token)
		if err != nil {
			return err
		}
		c.remove(in, row.Seq, h.band)
		return nil
	})
}

// Requeue moves a claimed row to the tail, where nobody may take it before
// until (ms), and returns its new name. Errors are those of Ack.
func (r *Runner) Requeue(ctx context.Context, row Row, token Lease, until int64) (Row, error) {
	to := row
	err := r.engine().do(ctx, func(c *commit) error {
		in, h, err := c.owned(row, token)
		if err != nil {
			return err
		}
		value, err := c.rowValue(row, h.band)
		if err != nil {
			return err
		}
		to.Seq = c.requeue(in, row.Seq, h, until, value)
		return nil
	})
	return to, err
}

// Bury moves a claimed row to the dead letters. Errors are those of Ack.
func (r *Runner) Bury(ctx context.Context, row Row, token Lease, reason string) (Row, error) {
	var to Row
	err := r.engine().do(ctx, func(c *commit) error {
		in, h, err := c.owned(row, token)
		if err != nil {
			return err
		}
		value, err := c.rowValue(row, h.band)
		if err != nil {
			return err
		}
		b := batch{}
		b.add(row, h.band, value)
		d := b.list[0]
		to = c.bury(row.Worker, &DeadLetter{
			Cause: CauseDiscarded, Attempts: h.Attempts, Source: row, Timer: d.Timer,
			FromTimer: d.FromTimer, Reason: reason, Frame: d.Frame,
		})
		c.remove(in, row.Seq, h.band)
		return nil
	})
	return to, err
}

func (c *commit) rowValue(row Row, k band) ([]byte, error) {
	c.key = rowKey(c.key[:0], bandTables[k], row)
	value, ok, err := c.e.back.Get(nil, c.key)
	if err == nil && !ok {
		err = fmt.Errorf("row %d of worker %d: %w", row.Seq, row.Worker, ErrNotFound)
	}
	return value, err
}

// Renew extends a claim to deadline (ms) and returns the new token. Errors
// are those of Ack.
func (r *Runner) Renew(ctx context.Context, row Row, token Lease, deadline int64) (Lease, error) {
	err := r.engine().do(ctx, func(c *commit) error {
		in, h, err := c.owned(row, token)
		if err != nil {
			return err
		}
		h.Deadline = deadline
		token = h.Lease
		in.park(row.Seq, h)
		c.setLease(row, token)
		return nil
	})
	return token, err
}

// InboxRow is a row as a listing shows it.
type InboxRow struct {
	Row
	Frame []byte
	High  bool
	// Lease is set when the row is leased or parked.
	Lease  Lease
	Leased bool
	Timer  TimerID
	Fired  bool
}

// Inbox returns up to limit rows of a worker's inbox from sequence number from
// on, in the order of their numbers.
func (r *Runner) Inbox(worker, from uint64, limit int) ([]InboxRow, error) {
	var out []InboxRow
	err := r.view(func(e *engine, v View) error {
		for k, t := range bandTables {
			lo, hi := inboxRange(t, worker, from)
			n := 0
			err := v.Scan(lo, hi, func(key, value []byte) bool {
				row, err := decodeRowKey(key[1:])
				if err != nil {
					return true
				}
				var b batch
				b.add(row, band(k), bytes.Clone(value))
				d := b.list[0]
				out = append(out, InboxRow{Row: row, Frame: d.Frame, High: band(k) == bandHigh, Timer: d.Timer, Fired: d.FromTimer})
				n++
				return n < limit
			})
			if err != nil {
				return err
			}
		}
		slices.SortFunc(out, func(a, b InboxRow) int {
			if a.Seq < b.Seq {
				return -1
			}
			return 1
		})
		out = out[:min(len(out), limit)]
		e.ix.mu.Lock()
		defer e.ix.mu.Unlock()
		if in := e.ix.inboxes[worker]; in != nil {
			for i := range out {
				h, ok := in.leases[out[i].Seq]
				out[i].Lease, out[i].Leased = h.Lease, ok
			}
		}
		return nil
	})
	return out, err
}
