package runner

import (
	"context"
	"fmt"
	"math"
	"slices"
	"time"

	"wamble/runner/internal/mailbox"
)

func init() {
	mailbox.Claim = func(ctx context.Context, r any, worker, seq uint64, deadline time.Time) error {
		return r.(*Runner).claim(ctx, Row{worker, seq}, deadline.UnixMilli())
	}
	mailbox.Insert = func(ctx context.Context, r any, worker, seq uint64, frame []byte) error {
		return r.(*Runner).insert(ctx, Row{worker, seq}, frame)
	}
}

// byHand is the claimant number of a claim without a worker, see firstWorker.
const byHand = 99

// claim takes the lease of one row until deadline, see package mailbox.
func (r *Runner) claim(ctx context.Context, row Row, deadline int64) error {
	return r.engine().do(ctx, func(c *commit) error {
		in, h, err := c.take(row, func(h holding) bool { return h.Deadline >= c.now })
		if err != nil {
			return err
		}
		h.lease = lease{Owner: owner(c.e.boot.epoch, byHand), Deadline: deadline, Attempts: h.Attempts + 1}
		in.park(row.Seq, h)
		c.setLease(row, h.lease)
		return nil
	})
}

// take gives an unleased message a row of its own in the index, for which the caller must write
// another lease, or remove it. It returns ErrLeased if the message is held.
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
	c.touch(in)
	return in, h, nil
}

// findRow returns the band of a row that has no lease. A bundle that contains it is unpacked,
// and the other messages of the bundle are free to be claimed.
func (c *commit) findRow(in *inbox, row Row) (band, error) {
	gone := in.gone[row.Seq]
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
		return bandNormal, c.unpackStored(in, first, lease{Deadline: c.now - 1})
	}
	return 0, fmt.Errorf("row %d of worker %d: %w", row.Seq, row.Worker, ErrNotFound)
}

// rowValue returns the stored value of a row, which this group may have unpacked.
func (c *commit) rowValue(row Row, k band) ([]byte, error) {
	c.key = rowKey(c.key[:0], bandTables[k], row)
	value, ok, err := c.get(c.key)
	if err == nil && !ok {
		err = fmt.Errorf("row %d of worker %d: %w", row.Seq, row.Worker, ErrNotFound)
	}
	return value, err
}

// InboxRow is a row of an inbox.
type InboxRow struct {
	Row
	Frame []byte
	High  bool
	// Lease is set if Leased is: the row is leased or parked.
	Lease  Lease
	Leased bool
	Timer  TimerID
	Fired  bool
}

// Inbox returns up to limit rows of a worker's inbox with numbers from from on, in the order of
// their numbers.
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
						out = append(out, InboxRow{Row: d.Row, Frame: d.Frame, High: band(k) == bandHigh,
							Timer: d.Timer, Fired: d.FromTimer})
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
				out[i].Lease, out[i].Leased = h.lease.public(), ok
			}
		}
		return nil
	})
	return out, err
}
