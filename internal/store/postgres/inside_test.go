package postgres

import (
	"context"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
)

// Ask runs a query that returns one text on a connection of the store itself.
func (s *Store) Ask(ctx context.Context, query string) (string, error) {
	var text string
	err := s.pool.QueryRow(ctx, query).Scan(&text)
	return text, err
}

// TestPoolSettings: Options reach the pool, and no setting needs a statement to stay on the
// server side of a connection.
func TestPoolSettings(t *testing.T) {
	for _, tc := range []struct {
		name             string
		o                Options
		connect, ping    time.Duration
		conns            int32
		statementTimeout time.Duration
	}{
		{"defaults", Options{Host: "/nowhere"}, 5 * time.Second, 2 * time.Second, 8, 30 * time.Second},
		{"set", Options{Host: "/nowhere", ConnectTimeout: 1, PingTimeout: 2, MaxConns: 3, StatementTimeout: 4}, 1, 2, 3, 4},
	} {
		t.Run(tc.name, func(t *testing.T) {
			s, err := Open(tc.o)
			if err != nil {
				t.Fatal(err)
			}
			defer func() { _ = s.Close() }()
			c := s.pool.Config()
			if c.ConnConfig.ConnectTimeout != tc.connect || c.PingTimeout != tc.ping || c.MaxConns != tc.conns ||
				s.timeout != tc.statementTimeout {
				t.Errorf("got connect %v, ping %v, %d connections, statements %v", c.ConnConfig.ConnectTimeout,
					c.PingTimeout, c.MaxConns, s.timeout)
			}
			if c.ConnConfig.DefaultQueryExecMode != pgx.QueryExecModeCacheDescribe ||
				c.ConnConfig.StatementCacheCapacity != 0 {
				t.Errorf("got mode %v with %d kept statements, want none kept", c.ConnConfig.DefaultQueryExecMode,
					c.ConnConfig.StatementCacheCapacity)
			}
		})
	}
}

// Demote opens n connections of the pool and makes them read-only, as those to a former
// primary are. New ones are not.
func (s *Store) Demote(ctx context.Context, n int) error {
	for range n {
		conn, err := s.pool.Acquire(ctx)
		if err != nil {
			return err
		}
		defer conn.Release()
		if _, err := conn.Exec(ctx, "SET default_transaction_read_only = on"); err != nil {
			return err
		}
	}
	return nil
}
