package postgres

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"wamble/internal/store"
	"wamble/internal/store/schema"
)

var _ store.Store = (*Store)(nil)

// Options say which database to use and how long to wait for it.
type Options struct {
	// Host is a name, an address, or the directory of a unix socket; or several, separated by
	// commas, each perhaps with a port (HOST:PORT), of which the one that takes writes is used.
	Host     string
	Port     int // 0 means 5432
	User     string
	Password string
	Name     string // of the database
	// SSLMode is disable, allow, prefer, require, verify-ca or verify-full.
	// "" means prefer.
	SSLMode string
	// ConnectTimeout bounds connecting to one host; 0 means 5 s.
	ConnectTimeout time.Duration
	// PingTimeout bounds the check of an idle connection; 0 means 2 s.
	PingTimeout time.Duration
	// StatementTimeout bounds a read, and each statement of a write except
	// PURGE_SESSIONS; 0 means 30 s.
	StatementTimeout time.Duration
	// MaxConns bounds the pool; 0 means 8.
	MaxConns int
	// IdleTransaction is how long the server keeps a transaction of a silent client, such as
	// one on a lost machine; 0 leaves that to the server's settings.
	IdleTransaction time.Duration
	// As is the user id that root uses to connect to unix sockets, on Linux; 0 means root.
	As int
	// Profile gets the boards of a database that Migrate adopts from the original, which has no
	// profiles.
	Profile string
}

func (o Options) withDefaults() Options {
	if o.Port == 0 {
		o.Port = 5432
	}
	if o.SSLMode == "" {
		o.SSLMode = "prefer"
	}
	if o.ConnectTimeout == 0 {
		o.ConnectTimeout = 5 * time.Second
	}
	if o.PingTimeout == 0 {
		o.PingTimeout = 2 * time.Second
	}
	if o.StatementTimeout == 0 {
		o.StatementTimeout = 30 * time.Second
	}
	if o.MaxConns == 0 {
		o.MaxConns = 8
	}
	return o
}

// DSN returns the connection string, with every value quoted. It contains the password.
func (o Options) DSN() string {
	o = o.withDefaults()
	var b strings.Builder
	quoting := strings.NewReplacer(`\`, `\\`, `'`, `\'`)
	hosts, ports := o.addresses()
	for _, kv := range [][2]string{
		{"host", strings.Join(hosts, ",")}, {"port", strings.Join(ports, ",")}, {"user", o.User}, {"password", o.Password}, {"dbname", o.Name},
		{"sslmode", o.SSLMode}, {"target_session_attrs", "read-write"}, {"application_name", "wamble"},
	} {
		if kv[1] != "" {
			fmt.Fprintf(&b, "%s='%s' ", kv[0], quoting.Replace(kv[1]))
		}
	}
	return strings.TrimSuffix(b.String(), " ")
}

// addresses returns the hosts and their ports.
func (o Options) addresses() (hosts, ports []string) {
	for host := range strings.SplitSeq(o.Host, ",") {
		host, port := strings.TrimSpace(host), strconv.Itoa(o.Port)
		if name, own, err := net.SplitHostPort(host); err == nil {
			host, port = name, own
		}
		hosts, ports = append(hosts, host), append(ports, port)
	}
	return hosts, ports
}

// Where returns the addresses in readable form.
func (o Options) Where() string {
	hosts, ports := o.addresses()
	for i := range hosts {
		hosts[i] += ":" + ports[i]
	}
	return strings.Join(hosts, ", ")
}

// Store is a store.Store in a PostgreSQL database.
type Store struct {
	schema.Queries
	pool    *pgxpool.Pool
	timeout time.Duration // StatementTimeout
	owners  sync.Map      // owners of the profiles of this process, by profile
	profile string
	doubt   atomic.Bool // a synchronous standby may lack a committed transaction
	// snapshot is the connection, in a transaction, of a store that Snapshot passes on; nil for
	// any other store.
	snapshot *pgxpool.Conn
}

// Open returns a store. It connects at the first call.
func Open(o Options) (*Store, error) {
	o = o.withDefaults()
	cfg, err := pgxpool.ParseConfig(o.DSN())
	if err != nil {
		return nil, fmt.Errorf("open PostgreSQL database: %w", err)
	}
	cfg.MaxConns = int32(o.MaxConns)
	cfg.PingTimeout = o.PingTimeout
	cfg.ConnConfig.ConnectTimeout = o.ConnectTimeout
	cfg.BeforeConnect = choose
	// A pooler may give each transaction another server connection, without named statements.
	// Descriptions are cached in this process.
	cfg.ConnConfig.DefaultQueryExecMode = pgx.QueryExecModeCacheDescribe
	cfg.ConnConfig.StatementCacheCapacity = 0
	cfg.ConnConfig.OnNotice = noteReplication
	if o.As != 0 {
		cfg.ConnConfig.DialFunc = dialAs(o.As)
	}
	if o.IdleTransaction > 0 {
		cfg.ConnConfig.RuntimeParams["idle_in_transaction_session_timeout"] = strconv.FormatInt(o.IdleTransaction.Milliseconds(), 10)
		maps.Copy(cfg.ConnConfig.RuntimeParams, goneAfter(o.IdleTransaction))
	}
	pool, err := pgxpool.NewWithConfig(context.Background(), cfg)
	if err != nil {
		return nil, fmt.Errorf("open PostgreSQL database: %w", err)
	}
	return (&Store{pool: pool, timeout: o.StatementTimeout, profile: o.Profile}).withQueries(), nil
}

func (s *Store) withQueries() *Store {
	s.Queries = schema.Queries{Read: s.read, Dialect: schema.Postgres}
	return s
}

// Close closes all connections after the calls in progress. Later calls fail with
// store.ErrTransient.
func (s *Store) Close() error {
	s.pool.Close()
	return nil
}

// Verify does nothing: the server's checksums detect damage.
func (s *Store) Verify(context.Context) error { return nil }

const beginRead = "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY"

// read runs queries in one snapshot that cannot write, in one round trip.
func (s *Store) read(ctx context.Context, what string, asks ...schema.Ask) error {
	limited, cancel := context.WithTimeout(ctx, s.timeout)
	defer cancel()
	b := &pgx.Batch{}
	if s.snapshot == nil {
		b.Queue(beginRead)
	}
	for _, ask := range asks {
		if q := b.Queue(ask.Text, ask.Args...); ask.Row != nil {
			q.Query(each(ask.Row))
		}
	}
	if s.snapshot != nil {
		return classify(ctx, what, s.snapshot.SendBatch(limited, b).Close())
	}
	b.Queue("COMMIT")
	conn, err := s.pool.Acquire(limited)
	if err != nil {
		return classify(ctx, what, err)
	}
	defer conn.Release() // closes a connection that is in a transaction
	return classify(ctx, what, conn.SendBatch(limited, b).Close())
}

// readRow reads the row of a query into variables.
func (s *Store) readRow(ctx context.Context, what, sql string, args []any, into ...any) error {
	return s.read(ctx, what, schema.Ask{Text: sql, Args: args, Row: func(scan schema.Scan) error { return scan(into...) }})
}

func each(row func(schema.Scan) error) func(pgx.Rows) error {
	return func(rows pgx.Rows) error {
		for rows.Next() {
			if err := row(rows.Scan); err != nil {
				return err
			}
		}
		return rows.Err()
	}
}

// isNoRow reports whether a query found no row.
func isNoRow(err error) bool { return errors.Is(err, pgx.ErrNoRows) }
