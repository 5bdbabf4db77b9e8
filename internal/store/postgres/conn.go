package postgres

import (
	"context"
	"fmt"
	"maps"
	"net"
	"strconv"
	"time"

	"github.com/jackc/pgx/v5"
)

// Session is how a connection of its own, outside of a store's pool, behaves.
type Session struct {
	// Settings of the server for this connection, by name.
	Settings map[string]string
	// Silence is how long the other machine may leave something unanswered, on a
	// network that carries nothing, before the connection is given up.
	Silence time.Duration
}

// Connect makes a connection to the database that o names, to a server that takes
// writes. Whoever uses it asks Unreplicated after each transaction.
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

// goneAfter is settings with which the server gives up a connection whose other machine
// is lost: d after the last packet it is probed, and after twice d it ends. Nothing
// else ends a transaction of which a batch has come only in part, and its locks: its
// answers are under way, so that TCP does not probe, and it counts as active.
func goneAfter(d time.Duration) map[string]string {
	seconds := strconv.Itoa(max(1, int(d.Seconds())))
	return map[string]string{
		"tcp_keepalives_idle": seconds, "tcp_keepalives_interval": seconds, "tcp_keepalives_count": "2",
		"tcp_user_timeout": strconv.FormatInt((d * 3 / 2).Milliseconds(), 10),
	}
}

// Unreplicated returns the warning that the synchronous standby may not have the last
// transaction of a connection that Connect has made, and forgets it.
func Unreplicated(c *pgx.Conn) error {
	notices := c.PgConn().CustomData()
	warning, ok := notices[unreplicated]
	if !ok {
		return nil
	}
	delete(notices, unreplicated)
	return fmt.Errorf("committed, but no synchronous standby is known to have it: %v", warning)
}
