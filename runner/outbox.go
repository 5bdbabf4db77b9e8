package runner

import (
	"bytes"
	"context"
	"fmt"
)

// OutboxRow is a message in the outbox.
type OutboxRow struct {
	Seq     uint64
	Message []byte
}

// Outbox returns up to limit rows from seq on, in order.
func (r *Runner) Outbox(from uint64, limit int) ([]OutboxRow, error) {
	var out []OutboxRow
	err := r.view(func(e *engine, v View) (err error) {
		e.ix.mu.Lock()
		from = max(from, e.ix.outboxHead)
		end := e.ix.outboxStored
		e.ix.mu.Unlock()
		out, err = readOutbox(v, from, end, limit)
		return err
	})
	return out, err
}

// OutboxEnd returns the number of the newest durable row that was ever appended, 0 if there was
// none.
func (r *Runner) OutboxEnd() uint64 {
	ix := &r.engine().ix
	ix.mu.Lock()
	defer ix.mu.Unlock()
	return ix.outboxStored - 1
}

// readOutbox returns up to limit rows with numbers in [from, end).
func readOutbox(v Reader, from, end uint64, limit int) ([]OutboxRow, error) {
	if from >= end {
		return nil, nil
	}
	var out []OutboxRow
	lo, hi := appendOutboxKey([]byte{byte(outboxTable)}, from), appendOutboxKey([]byte{byte(outboxTable)}, end)
	err := v.Scan(lo, hi, func(key, value []byte) bool {
		if len(out) >= limit {
			return false
		}
		if seq, err := decodeOutboxKey(key[1:]); err == nil {
			out = append(out, OutboxRow{seq, bytes.Clone(value)})
		}
		return true
	})
	if err != nil {
		return nil, fmt.Errorf("read the outbox: %w", err)
	}
	return out, nil
}

// DrainOutbox passes up to limit rows to deliver, in order, and removes those for which it
// returned nil. It stops at the first error, which it returns with the number of removed rows;
// the failed row stays. Delivery is at least once: the rows are removed after their delivery,
// in one commit.
func (r *Runner) DrainOutbox(ctx context.Context, limit int, deliver func(OutboxRow) error) (int, error) {
	rows, err := r.Outbox(0, limit)
	if err != nil || len(rows) == 0 {
		return 0, err
	}
	taken := 0
	var failed error
	for _, row := range rows {
		if failed = deliver(row); failed != nil {
			break
		}
		taken++
	}
	if taken == 0 {
		return 0, failed
	}
	n := 0
	err = r.engine().do(ctx, func(c *commit) error {
		n = c.removeOutbox(rows[:taken])
		return nil
	})
	if err != nil {
		return 0, err
	}
	return n, failed
}

// removeOutbox deletes rows, and moves the head if they were the first. It returns how many
// existed.
func (c *commit) removeOutbox(rows []OutboxRow) int {
	n := 0
	ix := &c.e.ix
	for _, row := range rows {
		key := appendOutboxKey([]byte{byte(outboxTable)}, row.Seq)
		if _, ok, err := c.get(key); err != nil || !ok {
			continue
		}
		c.stage(key, nil)
		ix.outboxCount--
		n++
	}
	// Rows are read from the head on, so no row below the first of them is left, unless another
	// caller drains the outbox at the same time.
	if last := rows[len(rows)-1].Seq; rows[0].Seq >= ix.outboxHead && n == len(rows) {
		ix.outboxHead = last + 1
	}
	c.dirty = true
	return n
}
