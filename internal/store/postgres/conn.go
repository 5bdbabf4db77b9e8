package postgres

import (
	"context"
	"fmt"
	"maps"
	"net"
	"strconv"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"wamble/internal/store"
)

// Session configures a single connection, outside of a store's pool.
type Session struct {
	// Settings are server settings for this connection, by name.
	Settings map[string]string
	// Silence is how long the other machine may leave data unacknowledged before the connection
	// is given up.
	Silence time.Duration
}

// Connect connects to the database that o names, on a server that takes writes. Call
// Unreplicated after each transaction.
func Connect(ctx context.Context, o Options, s Session) (*pgx.Conn, error) {
	o = o.withDefaults()
	cfg, err := pgx.ParseConfig(o.DSN())
	if err != nil {
		return nil, err
	}
	cfg.ConnectTimeout = o.ConnectTimeout
	cfg.OnNotice = noteReplication
	maps.Copy(cfg.RuntimeParams, s.Settings)
	if s.Silence > 0 {
		maps.Copy(cfg.RuntimeParams, goneAfter(s.Silence/2))
		dialer := &net.Dialer{
			Timeout: o.ConnectTimeout, Control: userTimeout(s.Silence),
			KeepAliveConfig: net.KeepAliveConfig{Enable: true, Idle: s.Silence / 2, Interval: s.Silence / 4, Count: 2},
		}
		cfg.DialFunc = dialer.DialContext
	}
	return connectAny(ctx, cfg)
}

// goneAfter returns settings with which the server closes a connection to a lost machine: it
// sends probes after d without a packet and gives up after 2d. Nothing else ends a transaction,
// and its locks, of which only a part of a batch has arrived: its answers are in flight, so
// that TCP sends no keepalive, and it counts as active.
func goneAfter(d time.Duration) map[string]string {
	seconds := strconv.Itoa(max(1, int(d.Seconds())))
	return map[string]string{
		"tcp_keepalives_idle": seconds, "tcp_keepalives_interval": seconds, "tcp_keepalives_count": "2",
		"tcp_user_timeout": strconv.FormatInt((d * 3 / 2).Milliseconds(), 10),
	}
}

// Unreplicated returns the warning that the synchronous standby may not have the last
// transaction of a connection made by Connect, and clears it.
func Unreplicated(c *pgx.Conn) error {
	notices := c.PgConn().CustomData()
	warning, ok := notices[unreplicated]
	if !ok {
		return nil
	}
	delete(notices, unreplicated)
	return fmt.Errorf("committed, but no synchronous standby is known to have it: %v", warning)
}

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
