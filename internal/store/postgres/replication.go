package postgres

import (
	"context"

	"github.com/jackc/pgx/v5/pgconn"

	"wamble/internal/store"
)

// unreplicated is the key under which a connection keeps the warning that its last transaction
// did not wait for the synchronous standby.
const unreplicated = "unreplicated"

// noteReplication keeps the warning with which a server answers COMMIT when it stopped waiting
// for the synchronous standby: the wait was cancelled, or exceeded statement_timeout. The
// warning is recognized by its routine, because its text is translated.
func noteReplication(c *pgconn.PgConn, n *pgconn.Notice) {
	if n.Routine == "SyncRepWaitForLSN" {
		c.CustomData()[unreplicated] = n.Message
	}
}

// awaitStandby commits a write, and so waits until the synchronous standby has everything
// before it.
func (s *Store) awaitStandby(ctx context.Context, j store.JournalID, profile string) error {
	written := false
	b := s.begin()
	b.Queue(`UPDATE journal_cursors SET updated_at = NOW() WHERE journal_id = $1::bytea AND profile = $2::text`, j[:],
		profile).
		Exec(func(tag pgconn.CommandTag) error {
			written = tag.RowsAffected() > 0
			return nil
		})
	b.Queue("COMMIT")
	err := s.send(ctx, b)
	if err == nil && written {
		s.doubt.Store(false)
	}
	return err
}
