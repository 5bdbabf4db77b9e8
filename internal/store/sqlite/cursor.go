package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"slices"

	"wamble"
	"wamble/internal/store"
	"wamble/internal/store/schema"
)

// moveCursor moves the cursor of a batch. Errors: *store.CursorMoved.
func (t *tx) moveCursor(b store.Batch) error {
	var n int64
	var err error
	if b.After == 0 {
		n, err = t.exec(`INSERT INTO journal_cursors (journal_id, profile, message) VALUES (?, ?, ?) ON CONFLICT DO NOTHING`,
			b.Journal[:], b.Profile, int64(b.Through))
	} else {
		n, err = t.exec(`UPDATE journal_cursors SET message = ?, updated_at = CAST(unixepoch('subsec') * 1e6 AS INTEGER)
			WHERE journal_id = ? AND profile = ? AND message = ?`,
			int64(b.Through), b.Journal[:], b.Profile, int64(b.After))
	}
	if err != nil || n == 1 {
		return err
	}
	var at int64
	err = t.scan(selectCursor, []any{b.Journal[:], b.Profile}, &at)
	if err != nil && !errors.Is(err, sql.ErrNoRows) {
		return err
	}
	return &store.CursorMoved{At: uint64(at)}
}

const selectCursor = `SELECT message FROM journal_cursors WHERE journal_id = ? AND profile = ?`

// Cursor implements store.Store.
func (s *Store) Cursor(ctx context.Context, j store.JournalID, profile string) (uint64, error) {
	var at int64
	err := s.readers.QueryRowContext(ctx, selectCursor, j[:], profile).Scan(&at)
	if errors.Is(err, sql.ErrNoRows) {
		return 0, nil
	}
	return uint64(at), classify(ctx, "read cursor", err)
}

// Snapshot implements store.Store.
func (s *Store) Snapshot(_ context.Context, ask func(q store.Queries) error) ([]store.Cursor, error) {
	return nil, ask(s)
}

// Lease implements store.Store. SQLite has one writer, so the result is one block.
func (s *Store) Lease(ctx context.Context, seq wamble.Sequence, n int) ([]wamble.Block, error) {
	if err := schema.CheckLease(seq, n); err != nil {
		return nil, err
	}
	block := wamble.Block{Count: int64(n)}
	err := s.writer.transact(ctx, func(t *tx) error {
		// Skip the numbers of rows that a host added by hand.
		return t.scan(`UPDATE sequences SET next = max(next, (SELECT ifnull(max(id), 0) + 1 FROM `+seq.String()+`)) + ?
			WHERE name = ? RETURNING next - ?`, []any{n, seq.String(), n}, &block.First)
	})
	if err != nil {
		return nil, classify(ctx, "lease "+seq.String(), err)
	}
	return []wamble.Block{block}, nil
}

// Return implements store.Store.
func (s *Store) Return(ctx context.Context, seq wamble.Sequence, blocks []wamble.Block) error {
	err := s.writer.transact(ctx, func(t *tx) error {
		for _, b := range slices.Backward(blocks) {
			n, err := t.exec(`UPDATE sequences SET next = ? WHERE name = ? AND next = ?`, b.First, seq.String(),
				b.First+b.Count)
			if err != nil || n == 0 {
				return err
			}
		}
		return nil
	})
	return classify(ctx, "return "+seq.String(), err)
}
