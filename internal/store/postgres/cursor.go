package postgres

import (
	"context"
	"fmt"
	"slices"

	"github.com/jackc/pgx/v5"

	"wamble"
	"wamble/internal/store"
	"wamble/internal/store/schema"
)

// leaseLock is the advisory lock for changing a sequence.
const leaseLock = migrationLock + 1

const (
	// insertCursor creates a cursor only for a batch that starts at 0.
	insertCursor = `INSERT INTO journal_cursors (journal_id, profile, message) SELECT $1::bytea, $2::text, $3::bigint WHERE $4::bigint = 0 ON CONFLICT DO NOTHING`
	updateCursor = `UPDATE journal_cursors SET message = $3::bigint, updated_at = NOW() WHERE journal_id = $1::bytea AND profile = $2::text AND message = $4::bigint`
	verifyCursor = `SELECT coalesce((SELECT message FROM journal_cursors WHERE journal_id = $1::bytea AND profile = $2::text), 0)::text WHERE $3::bigint <> $4::bigint`
)

// moveCursor returns the statement that moves the cursor of a batch. It locks the cursor's row,
// so that of two processes that apply the same batch one finds the cursor moved.
func moveCursor(b store.Batch) statement {
	st := statement{sql: updateCursor, args: []any{b.Journal[:], b.Profile, int64(b.Through), int64(b.After)}, rows: 1,
		verify: verifyCursor}
	if b.After == 0 {
		st.sql = insertCursor
	}
	return st
}

// Cursor implements store.Store.
func (s *Store) Cursor(ctx context.Context, j store.JournalID, profile string) (uint64, error) {
	var at uint64
	if s.doubt.Load() {
		if err := s.awaitStandby(ctx, j, profile); err != nil {
			return 0, classify(ctx, "read cursor", err)
		}
	}
	err := s.readRow(ctx, "read cursor",
		`SELECT coalesce((SELECT message FROM journal_cursors WHERE journal_id = $1 AND profile = $2), 0)`,
		[]any{j[:], profile}, &at)
	return at, err
}

// Snapshot implements store.Store.
func (s *Store) Snapshot(ctx context.Context, ask func(q store.Queries) error) (all []store.Cursor, err error) {
	limited, cancel := context.WithTimeout(ctx, s.timeout)
	defer cancel()
	conn, err := s.pool.Acquire(limited)
	if err != nil {
		return nil, classify(ctx, "read cursors", err)
	}
	defer conn.Release() // closes a connection that is in a transaction
	b := &pgx.Batch{}
	b.Queue(beginRead)
	b.Queue(`SELECT journal_id, profile, message FROM journal_cursors WHERE updated_at > NOW() - INTERVAL '1 hour'`).Query(each(func(scan schema.Scan) error {
		var one store.Cursor
		var id []byte
		err := scan(&id, &one.Profile, &one.Message)
		copy(one.Journal[:], id)
		all = append(all, one)
		return err
	}))
	if err := conn.SendBatch(limited, b).Close(); err != nil {
		return nil, classify(ctx, "read cursors", err)
	}
	if err := ask((&Store{pool: s.pool, timeout: s.timeout, snapshot: conn}).withQueries()); err != nil {
		_, _ = conn.Exec(limited, "ROLLBACK") // its error is not reported: the caller gets err
		return nil, err
	}
	_, err = conn.Exec(limited, "COMMIT")
	return all, classify(ctx, "read cursors", err)
}

// Lease implements store.Store. The sequence advances in a transaction without synchronous
// commit, so that the lock is released at once. A second transaction, which counts as a write
// because it has a transaction number, waits until the advance is on disk and on the standby,
// even if the sequence's WAL record was written by an earlier step.
func (s *Store) Lease(ctx context.Context, seq wamble.Sequence, n int) ([]wamble.Block, error) {
	if err := schema.CheckLease(seq, n); err != nil {
		return nil, err
	}
	var numbers []int64
	b := s.begin()
	b.Queue("SELECT set_config('synchronous_commit', 'off', true)")
	// Skip numbers of rows that are above the sequence: inserted by hand, or before a failover
	// to a standby that lagged.
	b.Queue(fmt.Sprintf("SELECT pg_advisory_xact_lock(%d)", leaseLock))
	b.Queue(fmt.Sprintf(`SELECT setval('%[1]s_id_seq', top) FROM (SELECT max(id) AS top FROM %[1]s) t WHERE top > coalesce(pg_sequence_last_value('%[1]s_id_seq'), 0)`, seq))
	b.Queue(`SELECT array_agg(nextval($1::regclass)) FROM generate_series(1, $2)`, seq.String()+"_id_seq", n).
		QueryRow(func(row pgx.Row) error { return row.Scan(&numbers) })
	b.Queue("COMMIT")
	s.queueBegin(b)
	b.Queue("SELECT txid_current()")
	b.Queue("COMMIT")
	if err := s.send(ctx, b); err != nil {
		return nil, classify(ctx, "lease "+seq.String(), err)
	}
	return blocksOf(numbers), nil
}

// blocksOf joins consecutive numbers into blocks. Other callers may have taken numbers in
// between.
func blocksOf(numbers []int64) (blocks []wamble.Block) {
	slices.Sort(numbers)
	for i, n := range numbers {
		if i == 0 || n != numbers[i-1]+1 {
			blocks = append(blocks, wamble.Block{First: n})
		}
		blocks[len(blocks)-1].Count++
	}
	return blocks
}

// Return implements store.Store. Lease waits for the lock, so no number is leased between
// reading a sequence and setting it back.
func (s *Store) Return(ctx context.Context, seq wamble.Sequence, blocks []wamble.Block) error {
	b := s.begin()
	b.Queue("SELECT txid_current()")
	b.Queue(fmt.Sprintf("SELECT pg_advisory_xact_lock(%d)", leaseLock))
	for _, block := range slices.Backward(blocks) {
		// Before its first number a sequence has the value 1 with is_called false.
		b.Queue(`SELECT setval($1::regclass, greatest($2::bigint - 1, 1), $2::bigint > 1) WHERE pg_sequence_last_value($1::regclass) = $2::bigint + $3::bigint - 1`,
			seq.String()+"_id_seq", block.First, block.Count)
	}
	b.Queue("COMMIT")
	return classify(ctx, "return "+seq.String(), s.send(ctx, b))
}
