package runner

import (
	"context"
	"fmt"
	"math"
	"slices"
)

// Claim takes the lease of one row for claimant until deadline (ms): the
// primitive under the workers, for tools and tests. It returns ErrNotFound
// without such a row and ErrLeased while somebody holds it. Claimants from 1<<31
// on are workers, and refused with ErrInvalid.
func (r *Runner) Claim(ctx context.Context, row Row, claimant uint32, deadline int64) (Lease, error) {
	var token Lease
	if claimant >= firstWorker {
		return token, fmt.Errorf("claimant %d: %w", claimant, ErrInvalid)
	}
	err := r.engine().do(ctx, func(c *commit) error {
		in, h, err := c.take(row, func(h holding) bool { return h.Deadline >= c.now })
		if err != nil {
			return err
		}
		h.Lease = Lease{Owner: owner(c.e.boot.epoch, claimant), Deadline: deadline, Attempts: h.Attempts + 1}
		token = h.Lease
		in.park(row.Seq, h)
		c.setLease(row, token)
		return nil
	})
	return token, err
}

// take makes a message that nobody holds a row of its own in the index, in whose
// place the caller must write another lease, or remove it. It returns ErrLeased if
// it is held.
func (c *commit) take(row Row, held func(h holding) bool) (*inbox, holding, error) {
	in := c.e.ix.inboxes[row.Worker]
	if in == nil {
		return nil, holding{}, fmt.Errorf("row %d of worker %d: %w", row.Seq, row.Worker, ErrNotFound)
	}
	h, leased := in.leases[row.Seq]
	_, whole, packed := in.bundleOf(row.Seq)
	if packed {
		h, leased = whole, true
	}
	var err error
	switch {
	case leased && held(h):
		err = fmt.Errorf("row %d of worker %d: %w", row.Seq, row.Worker, ErrLeased)
	case leased && h.Attempts == math.MaxUint32:
		err = fmt.Errorf("attempts of row %d: %w", row.Seq, ErrTooLarge)
	case packed:
		err = c.unpackRow(row)
	case !leased:
		h.band, err = c.findRow(in, row)
	}
	if err != nil {
		return nil, holding{}, err
	}
	c.e.ix.taken(h, row.Seq)
	h.n = 1
	in.hold(row.Seq, h)
	in.leaseHead = min(in.leaseHead, row.Seq)
	c.touch(in)
	return in, h, nil
}

// findRow returns the band of a row that has no lease. A bundle that holds it is
// unpacked, and the messages beside it are free to be claimed.
func (c *commit) findRow(in *inbox, row Row) (band, error) {
	_, gone := in.gone[row.Seq]
	for k, t := range bandTables {
		c.key = rowKey(c.key[:0], t, row)
		value, ok, err := c.e.back.Get(nil, c.key)
		if err != nil {
			return 0, err
		}
		if ok && !gone && !c.removed(row) && (band(k) != bandNormal || bundled(value) == 0) {
			return band(k), nil
		}
	}
	first, found, err := c.findBundle(row)
	if err != nil {
		return 0, err
	}
	if found && !gone && !c.removed(Row{row.Worker, first}) {
		return bandNormal, c.unpackStored(in, first, Lease{Deadline: c.now - 1})
	}
	return 0, fmt.Errorf("row %d of worker %d: %w", row.Seq, row.Worker, ErrNotFound)
}

// Ack removes a claimed row. It returns ErrNotFound when the row has no lease
// and ErrLeaseLost when its lease is not token. The clock is not asked: a
// lease that ran out but was not taken over still acknowledges.
func (r *Runner) Ack(ctx context.Context, row Row, token Lease) error {
	return r.engine().do(ctx, func(c *commit) error { return c.ack(row, token) })
}

func (c *commit) ack(row Row, token Lease) error {
	in, h, err := c.claimed(row, token)
	if err == nil {
		c.e.ix.taken(h, row.Seq)
		c.remove(in, row.Seq, h.band)
	}
	return err
}

// Requeue moves a claimed row to the tail, where nobody may take it before
// until (ms), and returns its new name. Errors are those of Ack.
func (r *Runner) Requeue(ctx context.Context, row Row, token Lease, until int64) (Row, error) {
	to := row
	err := r.engine().do(ctx, func(c *commit) (err error) {
		to, err = c.requeueRow(row, token, until)
		return err
	})
	return to, err
}

func (c *commit) requeueRow(row Row, token Lease, until int64) (Row, error) {
	in, h, err := c.claimed(row, token)
	if err != nil {
		return row, err
	}
	value, err := c.rowValue(row, h.band)
	if err != nil {
		return row, err
	}
	c.e.ix.taken(h, row.Seq)
	return Row{row.Worker, c.requeue(in, row.Seq, h, until, value)}, nil
}

// Bury moves a claimed row to the dead letters. Errors are those of Ack.
func (r *Runner) Bury(ctx context.Context, row Row, token Lease, reason string) (Row, error) {
	var to Row
	err := r.engine().do(ctx, func(c *commit) (err error) {
		to, err = c.buryRow(row, token, reason)
		return err
	})
	return to, err
}

func (c *commit) buryRow(row Row, token Lease, reason string) (Row, error) {
	in, h, err := c.claimed(row, token)
	if err != nil {
		return Row{}, err
	}
	value, err := c.rowValue(row, h.band)
	if err != nil {
		return Row{}, err
	}
	c.e.ix.taken(h, row.Seq)
	b := batch{}
	b.add(row, h.band, value)
	d := b.list[0]
	to := c.bury(row.Worker, &DeadLetter{
		Cause: CauseDiscarded, Attempts: h.Attempts, Source: row, Timer: d.Timer,
		FromTimer: d.FromTimer, Reason: reason, Frame: d.Frame,
	})
	c.remove(in, row.Seq, h.band)
	return to, nil
}

// rowValue returns the stored value of a row, unpacked by this group or before.
func (c *commit) rowValue(row Row, k band) ([]byte, error) {
	c.key = rowKey(c.key[:0], bandTables[k], row)
	value, ok, err := c.get(c.key)
	if err == nil && !ok {
		err = fmt.Errorf("row %d of worker %d: %w", row.Seq, row.Worker, ErrNotFound)
	}
	return value, err
}

// Renew extends a claim to deadline (ms) and returns the new token. Errors
// are those of Ack.
func (r *Runner) Renew(ctx context.Context, row Row, token Lease, deadline int64) (Lease, error) {
	err := r.engine().do(ctx, func(c *commit) error {
		in, h, err := c.claimed(row, token)
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
			begin := from
			if t == inboxTable {
				begin -= min(begin, maxBundle-1) // the row may be inside a bundle
			}
			lo, hi := inboxRange(t, worker, begin)
			n := 0
			err := v.Scan(lo, hi, func(key, value []byte) bool {
				row, err := decodeRowKey(key[1:])
				if err != nil {
					return true
				}
				var b batch
				b.take(row, band(k), value, math.MaxInt, limits{whole: true}, true)
				for _, d := range b.list {
					if d.Row.Seq >= from && n < limit {
						out = append(out, InboxRow{Row: d.Row, Frame: d.Frame, High: band(k) == bandHigh, Timer: d.Timer, Fired: d.FromTimer})
						n++
					}
				}
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
				if !ok {
					_, h, ok = in.bundleOf(out[i].Seq)
				}
				out[i].Lease, out[i].Leased = h.Lease, ok
			}
		}
		return nil
	})
	return out, err
}
