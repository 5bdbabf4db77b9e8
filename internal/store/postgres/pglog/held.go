package pglog

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgtype"

	"wamble/internal/store/postgres"
	"wamble/runner"
	"wamble/runner/logstore"
)

// held is a claim. One replay or append at a time uses its connection.
type held struct {
	using    sync.Mutex // held while the connection is used
	l        *Log
	w        *watchedShard
	name     string
	holder   logstore.Holder
	conn     *pgx.Conn
	standbys string // synchronous_standby_names of the database; "" if it waits for no standby
	id       int
	epoch    int64
	leased   time.Duration // end of the lease that the claim itself gave, by bootTime
	parts    [][]byte      // parts of the record that is being appended
	packed   []byte
	lost     atomic.Bool

	doubt backend // backend of a checkpoint in progress or without a known result; used by Checkpoint only

	mu      sync.Mutex // guards seq to tops
	seq     uint64
	through uint64
	state   int64 // number of the checkpoint, 0 if none
	slot    int   // the partition that takes records
	filling int   // one more than the slot of the record that is being appended, 0 if none is
	tops    [logSlots]uint64
}

// appendRecord checks the fence and inserts the parts of a record, or does nothing.
const appendRecord = `
WITH own AS (UPDATE shards SET seq = seq + 1 WHERE shard = $1 AND epoch = $2 AND seq = $3 RETURNING seq)
INSERT INTO %s (slot, seq, n, data) SELECT %d, own.seq, p.n, p.data FROM own, unnest($4::bytea[]) WITH ORDINALITY p(data, n)`

func appendName(k int) string { return fmt.Sprint("append", k) }

// partSize is the size in bytes of the largest part of a record, so that its row fits a page of
// 8 KB.
const partSize = 8000

// Append implements logstore.Held.
func (h *held) Append(ctx context.Context, record []byte) (uint64, error) {
	h.using.Lock()
	defer h.using.Unlock()
	h.mu.Lock()
	slot, seq := h.slot, h.seq
	h.filling = slot + 1
	h.mu.Unlock()
	h.packed = pack(h.packed[:0], record)
	h.parts = split(h.parts[:0], h.packed)
	ctx, cancel := context.WithTimeout(ctx, h.l.o.Patience+h.l.o.Lease/2)
	defer cancel()
	tag, err := h.conn.Exec(ctx, appendName(slot), h.name, h.epoch, int64(seq), h.parts)
	if err == nil {
		err = postgres.Unreplicated(h.conn)
	}
	switch {
	case err != nil:
		return 0, h.overdue(err)
	case tag.RowsAffected() == 0:
		return 0, logstore.ErrFenced
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	h.seq++
	h.tops[slot] = h.seq
	h.filling = 0 // after an error the slot stays marked: the record may have been written
	if cap(h.packed) > maxKept {
		h.packed = nil
	}
	return h.seq, nil
}

// overdue adds the likely cause to the error of an append that exceeded its time.
func (h *held) overdue(err error) error {
	if h.standbys == "" || !errors.Is(err, context.DeadlineExceeded) {
		return err
	}
	return fmt.Errorf("%w: PostgreSQL waits for its synchronous standby (%s), which may be gone: start that, or take it out of synchronous_standby_names and reload PostgreSQL", err, h.standbys)
}

// maxKept is the capacity in bytes of the largest buffer that is kept for the next record.
const maxKept = 1 << 20

// split cuts b into parts of at most partSize.
func split(parts [][]byte, b []byte) [][]byte {
	for len(b) > partSize {
		parts, b = append(parts, b[:partSize]), b[partSize:]
	}
	return append(parts, b)
}

// Seq implements logstore.Held.
func (h *held) Seq() uint64 {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.seq
}

// Replay implements logstore.Held.
func (h *held) Replay(ctx context.Context, visit func(seq uint64, record []byte) error) error {
	return h.l.patiently(ctx, h.conn, func(p *progress) error { return h.replay(p, visit) })
}

func (h *held) replay(p *progress, visit func(seq uint64, record []byte) error) error {
	var tables []string
	for k := range slots {
		tables = append(tables, tableOf(h.id, k))
	}
	var size int64 // bytes that the server sorts
	p.wait(0)
	if err := h.conn.QueryRow(p,
		`SELECT COALESCE(sum(pg_relation_size(to_regclass(t))), 0)::bigint FROM unnest($1::text[]) t`,
		tables).Scan(&size); err != nil {
		return err
	}
	if h.state != 0 {
		if err := h.readState(p, size, visit); err != nil {
			return err
		}
	}
	return h.readLog(p, size, visit)
}

// readLog visits the records after the checkpoint.
func (h *held) readLog(p *progress, size int64, visit func(seq uint64, record []byte) error) error {
	p.wait(size)
	rows, err := h.conn.Query(p,
		`SELECT seq, n, data FROM shard_log WHERE slot IN ($1, $2, $3) AND seq > $4 ORDER BY seq, n`,
		slotOf(h.id, 0), slotOf(h.id, 1), slotOf(h.id, 2), int64(h.through))
	if err != nil {
		return err
	}
	defer rows.Close()
	var whole, plain []byte
	last, part := h.through, int64(0)
	end := func() error {
		if last == h.through {
			return nil
		}
		var err error
		if plain, err = unpack(plain[:0], whole); err != nil {
			return fmt.Errorf("record %d: %w", last, err)
		}
		return visit(last, plain)
	}
	for more := rows.Next(); more; more = p.next(rows) {
		p.work()
		var seq, n int64
		var data pgtype.DriverBytes
		if err := rows.Scan(&seq, &n, &data); err != nil {
			return err
		}
		if uint64(seq) != last {
			if err := end(); err != nil {
				return err
			}
			if uint64(seq) != last+1 {
				return fmt.Errorf("record %d is missing: %w", last+1, runner.ErrDamaged)
			}
			last, part, whole = uint64(seq), 0, whole[:0]
		}
		if part++; n != part {
			return fmt.Errorf("part %d of record %d is missing: %w", part, last, runner.ErrDamaged)
		}
		whole = append(whole, data...)
	}
	if err := rows.Err(); err != nil {
		return err
	}
	if err := end(); err != nil {
		return err
	}
	if last != h.seq {
		return fmt.Errorf("the log ends with record %d instead of %d: %w", last, h.seq, runner.ErrDamaged)
	}
	return nil
}

// readState visits the records of the checkpoint.
func (h *held) readState(p *progress, size int64, visit func(seq uint64, record []byte) error) error {
	p.wait(size)
	rows, err := h.conn.Query(p, `SELECT n, data FROM shard_log WHERE slot IN ($1, $2) AND seq = $3 ORDER BY n`,
		slotOf(h.id, logSlots), slotOf(h.id, logSlots+1), h.state)
	if err != nil {
		return err
	}
	defer rows.Close()
	var b, plain []byte
	want := int64(1)
	for more := rows.Next(); more; more = p.next(rows) {
		p.work()
		var n int64
		var data pgtype.DriverBytes
		if err := rows.Scan(&n, &data); err != nil {
			return err
		}
		if n != want {
			return fmt.Errorf("part %d of the checkpoint is missing: %w", want, runner.ErrDamaged)
		}
		want++
		b = append(b, data...)
		rest := b
		for {
			size, k := binary.Uvarint(rest)
			if k <= 0 || size > uint64(len(rest)-k) {
				break
			}
			if plain, err = unpack(plain[:0], rest[k:k+int(size)]); err != nil {
				return err
			}
			if err := visit(h.through, plain); err != nil {
				return err
			}
			rest = rest[k+int(size):]
		}
		b = append(b[:0], rest...)
	}
	if err := rows.Err(); err != nil {
		return err
	}
	if len(b) > 0 || want == 1 {
		return fmt.Errorf("the checkpoint is cut off: %w", runner.ErrDamaged)
	}
	return nil
}

// Release implements logstore.Held.
func (h *held) Release(ctx context.Context, to string) error {
	h.w.letGo(h)
	h.using.Lock()
	defer h.using.Unlock()
	var err error
	if ctx.Err() == nil && !h.conn.IsClosed() {
		_, err = h.conn.Exec(ctx,
			`UPDATE shards SET epoch = epoch + 1, holder = '', heir = $3, released_at = clock_timestamp() WHERE shard = $1 AND epoch = $2`, h.name, h.epoch, to)
	}
	bounded, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Second)
	defer cancel()
	return errors.Join(err, h.conn.Close(bounded))
}

// lose tells the holder once that its claim has ended.
func (h *held) lose(err error) {
	if h.lost.CompareAndSwap(false, true) {
		h.holder.Lost(err)
	}
}
