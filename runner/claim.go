package runner

import (
	"math"
	"slices"
	"time"
)

// claim fills b with rows that w may run now, and takes their leases in the index. The request
// that carries b stores the leases. If all rows that it has read are taken or gone, it reads on,
// each time twice as much, so that many rows that wait for a retry are soon passed.
func (w *Worker) claim(e *engine, b *batch, now int64, l limits, running []Delivery) error {
	for try := 0; ; try = min(try+1, 8) {
		if passed, err := w.claimOnce(e, b, now, l, running, try); err != nil || !passed || w.o.Ordered {
			return err
		}
	}
}

// claimOnce is one attempt of claim. It reports whether it got nothing and there may be rows
// after those that it has read.
func (w *Worker) claimOnce(e *engine, b *batch, now int64, l limits, running []Delivery, try int) (
	passed bool, err error) {
	b.reset()
	p := w.policy()
	e.ix.mu.Lock()
	b.held, w.slow = nil, false
	b.begun.Store(0)
	in := e.ix.inbox(w.id)
	e.ix.expire(in, now)
	if w.o.Ordered {
		// The first row may have been held by a worker at the last check.
		if first, h := in.firstLease(math.MaxUint64); h.n > 0 && h.Deadline < now && !e.ix.inHands(h) {
			in.ready.push(rowNumber(first))
		}
	}
	l.rows = min(l.rows, w.share(in, now, l.rows)<<try)
	alone, end := w.candidates(&e.ix, in, now, l.rows)
	if alone {
		l.rows = 1 // of a bundle only the first message
	}
	seen, upper, tail, turn := in.seen, in.visible.upper, in.visible.next, in.turn
	in.turn++
	e.ix.mu.Unlock()
	defer func() {
		e.ix.mu.Lock()
		defer e.ix.mu.Unlock()
		in.giveBack(w.seqs, now)
		if len(b.list) > 0 && in.free(now) {
			in.wakeOne()
		}
		passed = err == nil && len(b.list) == 0 && in.seen != seen
	}()

	ready := l
	if w.o.Ordered {
		ready = l.wide() // no unread row may be overtaken
	}
	if err := b.readReady(e, w, ready); err != nil {
		return false, err
	}
	reached := seen
	if !alone {
		if reached, err = b.readFresh(e, w, in.worker, seen, upper, turn, l); err != nil {
			return false, err
		}
	}
	for k := range reached {
		switch {
		case alone:
		case reached[k] >= upper[k]:
			reached[k] = tail // the band was read to its end
		default:
			end = min(end, reached[k])
		}
	}
	if len(b.list) == 0 && reached == seen {
		return false, nil
	}
	if w.o.Ordered {
		slices.SortFunc(b.list, func(x, y Delivery) int {
			if x.Row.Seq < y.Row.Seq {
				return -1
			}
			return 1
		})
		reached = b.cutOrdered(e, in, seen, reached, l, end, now, running)
	}
	w.grant(e, in, b, reached, now, p)
	return false, nil
}

// observe records how long a delivery took.
func (w *Worker) observe(d time.Duration) {
	w.tally.observe(d)
	w.pace += (d - w.pace) / 4
	w.paced = true
}

// waited records how long d, which begins at start, has waited, unless it was delivered before.
func (w *Worker) waited(d *Delivery, start time.Duration) {
	if d.prior == 0 && d.age >= 0 {
		w.tally.Waiting.observe(d.age + start - w.cur.claimed)
		d.age = -1
	}
}

// candidates collects rows whose lease has expired, to be taken over. It reports whether the
// only one must be delivered alone, and the first row that an ordered worker may not take yet.
func (w *Worker) candidates(ix *index, in *inbox, now int64, rows int) (alone bool, end uint64) {
	w.seqs = ix.takeReady(in, now, rows, w.seqs[:0])
	w.bands = w.bands[:0]
	for i, seq := range w.seqs {
		h := in.leases[seq]
		if ix.owners[h.Owner] == nil && suspect(h.lease, w.policy().RetryBudget) {
			// The row was running when the process died, or its lease expired: if it is the
			// cause, other messages must not lose budget for it.
			if i > 0 && w.o.Ordered {
				in.giveBack(w.seqs[i:], now)
				w.seqs = w.seqs[:i]
				return false, seq
			}
			in.giveBack(w.seqs[:i], now)
			in.giveBack(w.seqs[i+1:], now)
			w.seqs, w.bands = append(w.seqs[:0], seq), append(w.bands[:0], h.band)
			return true, math.MaxUint64
		}
		w.bands = append(w.bands, h.band)
	}
	return false, math.MaxUint64
}

// suspect reports whether a row must be delivered alone: two deliveries of it ended without an
// outcome, or all but one of its budget.
func suspect(l lease, budget int) bool {
	return l.Owner != 0 && int(l.Attempts) >= max(1, min(2, budget-1))
}

// cutOrdered keeps the part of the sorted list that an ordered worker may take: up to the
// limits, and only rows before end and before any row that it must wait for.
func (b *batch) cutOrdered(e *engine, in *inbox, seen, reached [bandCount]uint64, l limits, end uint64, now int64,
	running []Delivery) [bandCount]uint64 {
	e.ix.mu.Lock()
	blocked := end
	for seq, h := range in.leases {
		if seq >= blocked || holds(running, seq) {
			continue
		}
		if h.Deadline >= now || e.ix.inHands(h) || !holds(b.list, seq) {
			blocked = seq
		}
	}
	e.ix.mu.Unlock()
	n, size := 0, 0
	for n < len(b.list) && n < l.rows && (n == 0 || size < l.bytes) && b.list[n].Row.Seq < blocked {
		size += len(b.list[n].Frame)
		n++
	}
	rest := b.list[n:]
	if len(rest) > 0 && rest[0].nth > 0 {
		// The cut is inside a bundle, which then waits as a whole unless it is the first.
		if first := n - int(rest[0].nth); first > 0 {
			n, rest = first, b.list[first:]
		} else {
			tail := b.unit(n)
			b.over = append(b.over, rest[:tail]...)
			rest = rest[tail:]
		}
	}
	for _, d := range rest {
		if d.Row.Seq >= seen[d.queue] {
			reached[d.queue] = min(reached[d.queue], d.Row.Seq)
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

// grant takes the leases of b's rows in the index. It drops rows that another worker has taken
// since they were read, and for an ordered worker everything after such a row.
func (w *Worker) grant(e *engine, in *inbox, b *batch, reached [bandCount]uint64, now int64, p Policy) {
	e.ix.mu.Lock()
	defer e.ix.mu.Unlock()
	l := lease{Owner: w.owner(e), Deadline: later(now, p.LeaseTTL.Milliseconds())}
	runs := b.kept.runs[:0]
	kept := 0
	b.claimed = w.r.o.elapsed()
	for i := 0; i < len(b.list); {
		n, d := b.unit(i), &b.list[i]
		seq := d.Row.Seq
		h, leased := in.leases[seq]
		if !e.ix.free(in, d, now) {
			if n < int(d.of) {
				b.over = b.over[:0]
			}
			if leased && w.o.Ordered { // later rows are read again, so that none overtakes it
				for _, d := range b.list[i:] {
					if d.Row.Seq >= in.seen[d.queue] {
						reached[d.queue] = min(reached[d.queue], d.Row.Seq)
					}
				}
				b.over = b.over[:0]
				break
			}
			i += n
			continue
		}
		if leased && h.Owner != 0 {
			w.tally.Expired += uint64(n)
		}
		prior := h.Attempts
		if leased && e.ix.owners[h.Owner] != nil {
			e.ix.taken(h, seq)
			prior-- // no process died: this delivery replaces the counted one
		}
		l.Attempts = prior + 1
		age := in.marks.age(seq, now, e.started)
		in.hold(seq, holding{l, d.queue, uint32(max(1, d.of))})
		if n < int(d.of) {
			b.overLease = lease{Deadline: now - 1}
			if leased {
				b.overLease = h.lease
			}
		}
		for end := i + n; i < end; i++ {
			if d = &b.list[i]; kept < i {
				b.list[kept] = *d
				d = &b.list[kept]
			}
			kept++
			d.prior, d.doomed = prior, leased && int(prior) >= p.RetryBudget
			d.lease, d.Attempts, d.age = l, l.Attempts, age
		}
		runs = addRun(runs, seq, n)
	}
	b.list = b.list[:kept]
	if kept > 0 {
		for _, run := range runs {
			in.expiry.push(expirySpan{l.Deadline, run})
		}
		b.kept = keptRows{runs, later(now, p.renewEvery().Milliseconds())}
		w.idle.Store(false) // whoever posts now wakes another one
	}
	in.reach(reached)
	b.span = &claimSpan{seen: in.seen, stored: kept == 0}
	in.claims = append(in.claims, b.span)
	in.advance()
}

// free reports whether the row whose first delivery is d may be taken: it was not taken,
// removed or unpacked since it was read.
func (ix *index) free(in *inbox, d *Delivery, now int64) bool {
	h, leased := in.leases[d.Row.Seq]
	if leased {
		return h.Deadline < now && !ix.inHands(h) && h.Attempts < math.MaxUint32 && h.n == uint32(max(1, d.of))
	}
	return !in.gone[d.Row.Seq] && d.Row.Seq >= in.seen[d.queue]
}

// storeClaim writes the leases of b. A bundle that fitted only in part is unpacked, and its end
// is free again.
func (c *commit) storeClaim(b *batch) {
	if b == nil || len(b.list) == 0 {
		return
	}
	in := c.e.ix.inbox(b.list[0].Row.Worker)
	for i, n := 0, 0; i < len(b.list); i += n {
		d := &b.list[i]
		n = b.unit(i)
		h, ok := in.leases[d.Row.Seq]
		if !ok || !h.same(d.lease) {
			continue
		}
		if !in.whole(d) || n == int(d.of) {
			c.setLease(d.Row, h.lease)
			continue
		}
		for k := range n {
			c.unpack(in, &b.list[i+k], h.lease)
		}
		for k := range b.over {
			c.unpack(in, &b.over[k], b.overLease)
		}
		in.split = true
	}
	b.over = b.over[:0]
	b.span.stored, b.held = true, b.list
	in.advance()
	c.touch(in)
}
