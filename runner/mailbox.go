package runner

import (
	"bytes"
	"context"
	"fmt"
	"math"
	"slices"
)

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
