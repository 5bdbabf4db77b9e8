package runner

import (
	"math"
	"slices"
)

// claim fills b with rows that w may run now, and takes their leases in the
// index. They are stored by the request that carries b.
func (w *Worker) claim(e *engine, b *batch, now int64, l limits, running []Delivery) error {
	b.reset()
	p := w.policy()
	e.ix.mu.Lock()
	in := e.ix.inbox(uint64(w.id))
	in.expire(now)
	w.seqs = in.takeReady(now, l.rows, w.seqs[:0])
	w.seqs = slices.DeleteFunc(w.seqs, func(seq uint64) bool { return w.runs(running, in, seq) })
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

// runs reports whether seq is among the deliveries that w is running itself:
// a worker that was held up beyond its lease must not take over from itself.
func (w *Worker) runs(running []Delivery, in *inbox, seq uint64) bool {
	l := in.leases[seq].Lease
	if l.Owner == 0 {
		return false
	}
	return slices.ContainsFunc(running, func(d Delivery) bool { return d.Row.Seq == seq && d.lease == l })
}

// suspect reports whether a row has to be delivered alone: more than one
// delivery of it ended without an outcome, or all but one that it has left.
func suspect(l Lease, budget int) bool {
	return l.Owner != 0 && int(l.Attempts) >= max(1, min(2, budget-1))
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
