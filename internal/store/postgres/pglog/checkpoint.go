package pglog

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"iter"
	"slices"
	"strings"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"wamble/internal/store/postgres"
	"wamble/runner/logstore"
)

// Checkpoint implements logstore.Held. It uses a connection of its own, so that records can be
// appended at the same time.
func (h *held) Checkpoint(ctx context.Context, through uint64, state iter.Seq[[]byte]) error {
	session := h.l.session(h.l.o.Patience)
	session.Settings["lock_timeout"] = "200" // a reader of the log must not delay appends
	c, err := postgres.Connect(ctx, h.l.o.Database, session)
	if err != nil {
		return err
	}
	defer c.Close(context.WithoutCancel(ctx))
	if err := h.settle(ctx, c); err != nil {
		return err
	}
	if err := c.QueryRow(ctx,
		`SELECT pid, backend_start::text FROM pg_stat_activity WHERE pid = pg_backend_pid()`).Scan(&h.doubt.pid,
		&h.doubt.began); err != nil {
		return err
	}
	if err := h.checkpoint(ctx, c, through, state); err != nil {
		return err
	}
	h.doubt = backend{}
	return nil
}

// backend is a server process of the database.
type backend struct {
	pid   int
	began string
}

// settle finds out, after a failed checkpoint, which checkpoint is in force: the database may
// have finished it without the answer arriving, and the next checkpoint would overwrite it.
// While its backend lives, the failed checkpoint may still be finished; settle terminates the
// backend and returns an error.
func (h *held) settle(ctx context.Context, c *pgx.Conn) error {
	if h.doubt == (backend{}) {
		return nil
	}
	tag, err := c.Exec(ctx, `SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE pid = $1 AND backend_start::text = $2`, h.doubt.pid, h.doubt.began)
	if err != nil {
		return err
	}
	if tag.RowsAffected() > 0 {
		return errors.New("the database has not given up the last checkpoint yet")
	}
	var state int64
	var through uint64
	err = c.QueryRow(ctx, `SELECT state, through FROM shards WHERE shard = $1 AND epoch = $2`, h.name,
		h.epoch).Scan(&state, &through)
	if errors.Is(err, pgx.ErrNoRows) {
		return logstore.ErrFenced
	}
	if err == nil {
		h.mu.Lock()
		h.state, h.through = state, through
		h.mu.Unlock()
	}
	return err
}

func (h *held) checkpoint(ctx context.Context, c *pgx.Conn, through uint64, state iter.Seq[[]byte]) error {
	h.rotate()
	// The number is unique, because an earlier holder may still be writing a checkpoint. It
	// also selects one of the two partitions.
	id := h.epoch<<24 | (h.state&(1<<24-1) + 1)
	slot := logSlots + int(id)%stateSlots
	if err := h.truncate(ctx, c, slot); err != nil {
		return err
	}
	if err := h.l.patiently(ctx, c,
		func(p *progress) error { return writeState(p, c, h.id, slot, id, state) }); err != nil {
		return err
	}
	tag, err := c.Exec(ctx, `UPDATE shards SET through = $3, state = $4 WHERE shard = $1 AND epoch = $2`, h.name,
		h.epoch, int64(through), id)
	switch {
	case err != nil:
		return err
	case tag.RowsAffected() == 0:
		return logstore.ErrFenced
	}
	h.mu.Lock()
	h.state, h.through = id, through
	h.mu.Unlock()
	if err := postgres.Unreplicated(c); err != nil {
		return err
	}
	// Records that are not truncated now are truncated by the next checkpoint.
	if err := h.truncateLog(ctx, c); err != nil && (errors.Is(err, logstore.ErrFenced) || c.IsClosed()) {
		return err
	}
	return nil
}

// rotate switches to an empty partition for records, if there is one.
func (h *held) rotate() {
	h.mu.Lock()
	defer h.mu.Unlock()
	if next := (h.slot + 1) % logSlots; h.tops[next] == 0 {
		h.slot = next
	}
}

// truncateLog empties the partitions whose records are all covered by a checkpoint.
func (h *held) truncateLog(ctx context.Context, c *pgx.Conn) error {
	h.mu.Lock()
	var done []int
	for k, top := range h.tops {
		if k != h.slot && k+1 != h.filling && top > 0 && top <= h.through {
			done = append(done, k)
		}
	}
	h.mu.Unlock()
	if len(done) == 0 {
		return nil
	}
	if err := h.truncate(ctx, c, done...); err != nil {
		return err
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, k := range done {
		h.tops[k] = 0
	}
	return nil
}

// fencedState is the SQLSTATE of a truncate without a valid claim.
const fencedState = "WF001"

// truncate empties partitions if the claim is valid. It is one message, so that a holder that
// stops in the middle leaves no lock.
func (h *held) truncate(ctx context.Context, c *pgx.Conn, ks ...int) error {
	var tables []string
	for _, k := range ks {
		tables = append(tables, tableOf(h.id, k))
	}
	slices.Sort(tables)
	sql := fmt.Sprintf(`DO $wamble$ BEGIN
		PERFORM 1 FROM shards WHERE id = %d AND epoch = %d FOR UPDATE;
		IF NOT FOUND THEN RAISE EXCEPTION 'fenced' USING ERRCODE = '%s'; END IF;
		TRUNCATE %s; END $wamble$`, h.id, h.epoch, fencedState, strings.Join(tables, ", "))
	_, err := c.Exec(ctx, sql)
	var db *pgconn.PgError
	if errors.As(err, &db) && db.Code == fencedState {
		return logstore.ErrFenced
	}
	if err == nil {
		err = postgres.Unreplicated(c)
	}
	return err
}

// writeState writes the records of a checkpoint as one stream, each record after its length,
// cut into parts.
func writeState(p *progress, c *pgx.Conn, shard, slot int, id int64, state iter.Seq[[]byte]) error {
	next, stop := iter.Pull(parts(state))
	defer stop()
	n := int64(0)
	rows := pgx.CopyFromFunc(func() ([]any, error) {
		if err := p.Err(); err != nil {
			return nil, err
		}
		p.work()
		part, ok := next()
		if !ok {
			p.wait(n * partSize) // time for the commit
			return nil, nil
		}
		p.wait(0)
		n++
		return []any{int32(slotOf(shard, slot)), id, n, part}, nil
	})
	_, err := c.CopyFrom(p, pgx.Identifier{tableOf(shard, slot)}, []string{"slot", "seq", "n", "data"}, rows)
	if err == nil {
		err = postgres.Unreplicated(c)
	}
	return err
}

// parts cuts the stream of records into parts of partSize.
func parts(state iter.Seq[[]byte]) iter.Seq[[]byte] {
	return func(yield func([]byte) bool) {
		var b, packed []byte
		for record := range state {
			packed = pack(packed[:0], record)
			b = append(binary.AppendUvarint(b, uint64(len(packed))), packed...)
			rest := b
			for len(rest) >= partSize {
				if !yield(rest[:partSize]) {
					return
				}
				rest = rest[partSize:]
			}
			b = append(b[:0], rest...)
		}
		if len(b) > 0 {
			yield(b)
		}
	}
}
