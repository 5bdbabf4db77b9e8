package sqlite

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"fmt"
	"net/url"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"modernc.org/sqlite" // the driver

	"wamble"
	"wamble/internal/store"
	"wamble/internal/store/schema"
)

var _ store.Store = (*Store)(nil)

// Migration 010 needs SHA-256, which SQLite lacks.
func init() {
	sqlite.MustRegisterDeterministicScalarFunction("wamble_token_hash", 1,
		func(_ *sqlite.FunctionContext, args []driver.Value) (driver.Value, error) {
			token, ok := args[0].([]byte)
			if !ok || len(token) != len(wamble.Token{}) {
				return nil, fmt.Errorf("a token has %d bytes", len(wamble.Token{}))
			}
			hash := wamble.Token(token).Hash()
			return hash[:], nil
		})
}

// Options configure a store.
type Options struct {
	// Path is the database file; it is created if it is missing.
	Path string
	// BusyTimeout bounds the wait for another process that writes; 0 means 5 s.
	BusyTimeout time.Duration
	// Readers bounds the concurrent reads; 0 means 4.
	Readers int
}

// Store is a store.Store in one file.
type Store struct {
	schema.Queries
	path     string
	readers  *sql.DB
	writer   *writer
	prepared sync.Map // statements of readers, by text

	owning  sync.Mutex
	crashed atomic.Bool // the previous process did not end in order
	owner   *os.File    // locked while the file belongs to this process; nil if it does not
}

// Open returns a store. It opens the file at the first call.
func Open(o Options) (*Store, error) {
	if o.Path == "" || strings.ContainsRune(o.Path, 0) {
		return nil, fmt.Errorf("open SQLite database: %q is no path", o.Path)
	}
	if o.BusyTimeout == 0 {
		o.BusyTimeout = 5 * time.Second
	}
	if o.Readers == 0 {
		o.Readers = 4
	}
	wdb, err := sql.Open("sqlite",
		dsn(o, "synchronous(FULL)", "wal_autocheckpoint(4000)", "cache_size(-32000)", "temp_store(MEMORY)"))
	if err != nil {
		return nil, fmt.Errorf("open SQLite database: %w", err)
	}
	wdb.SetMaxOpenConns(1)
	rdb, err := sql.Open("sqlite", dsn(o, "query_only(1)", "cache_size(-8000)"))
	if err != nil {
		return nil, fmt.Errorf("open SQLite database: %w", err)
	}
	rdb.SetMaxOpenConns(o.Readers)
	rdb.SetMaxIdleConns(o.Readers)
	s := &Store{path: o.Path, readers: rdb, writer: newWriter(wdb)}
	s.Queries = schema.Queries{Read: s.read, Dialect: schema.SQLite}
	return s, nil
}

// dsn returns the connection string with the quoted path and the settings of a connection.
func dsn(o Options, pragmas ...string) string {
	q := url.Values{}
	busy := fmt.Sprintf("busy_timeout(%d)", o.BusyTimeout.Milliseconds())
	for _, p := range append([]string{busy, "journal_mode(WAL)", "foreign_keys(1)"}, pragmas...) {
		q.Add("_pragma", p)
	}
	u := url.URL{Scheme: "file", Opaque: (&url.URL{Path: o.Path}).EscapedPath(), RawQuery: q.Encode()}
	return u.String()
}

// Close closes all connections. Calls in progress, and later ones, fail with
// store.ErrTransient.
func (s *Store) Close() error {
	err := s.writer.close()
	if rerr := s.readers.Close(); err == nil {
		err = rerr
	}
	s.owning.Lock()
	defer s.owning.Unlock()
	if s.owner != nil {
		s.owner.Close()
		s.owner = nil
	}
	if err != nil {
		return fmt.Errorf("close SQLite database: %w", err)
	}
	return nil
}

// read runs queries in one snapshot that cannot write.
func (s *Store) read(ctx context.Context, what string, asks ...schema.Ask) error {
	// A statement is prepared before the transaction, because that needs a connection of its own.
	prepared := make([]*sql.Stmt, len(asks))
	for i, ask := range asks {
		var err error
		if prepared[i], err = s.statement(ctx, ask); err != nil {
			return classify(ctx, what, err)
		}
	}
	if len(asks) == 1 {
		return classify(ctx, what, run(ctx, s.readers, prepared[0], asks[0]))
	}
	tx, err := s.readers.BeginTx(ctx, nil)
	if err != nil {
		return classify(ctx, what, err)
	}
	defer func() { _ = tx.Rollback() }() // nothing was written
	for i, ask := range asks {
		if prepared[i] != nil {
			prepared[i] = tx.StmtContext(ctx, prepared[i])
		}
		if err := run(ctx, tx, prepared[i], ask); err != nil {
			return classify(ctx, what, err)
		}
	}
	return nil
}

// statement returns the prepared statement of a query, nil for a text that varies: many queries are
// parsed for longer than they run.
func (s *Store) statement(ctx context.Context, ask schema.Ask) (*sql.Stmt, error) {
	if ask.Varies {
		return nil, nil
	}
	if kept, ok := s.prepared.Load(ask.Text); ok {
		return kept.(*sql.Stmt), nil
	}
	made, err := s.readers.PrepareContext(ctx, ask.Text)
	if err != nil {
		return nil, err
	}
	kept, other := s.prepared.LoadOrStore(ask.Text, made)
	if other {
		made.Close()
	}
	return kept.(*sql.Stmt), nil
}

// asker is a pool or a transaction.
type asker interface {
	QueryContext(ctx context.Context, text string, args ...any) (*sql.Rows, error)
}

// run runs a query, by its statement unless that is nil.
func run(ctx context.Context, db asker, prepared *sql.Stmt, ask schema.Ask) error {
	if prepared == nil {
		rows, err := db.QueryContext(ctx, ask.Text, ask.Args...)
		return each(rows, err, ask.Row)
	}
	rows, err := prepared.QueryContext(ctx, ask.Args...)
	return each(rows, err, ask.Row)
}

// each calls row for each row of a query, or returns the query's error.
func each(rows *sql.Rows, err error, row func(schema.Scan) error) error {
	if err != nil {
		return err
	}
	defer rows.Close()
	for rows.Next() {
		if err := row(rows.Scan); err != nil {
			return err
		}
	}
	return rows.Err()
}

// texts reads the first column of a query.
func texts(ctx context.Context, db *sql.DB, query string) (all []string, err error) {
	rows, err := db.QueryContext(ctx, query)
	err = each(rows, err, func(scan schema.Scan) error {
		var text string
		err := scan(&text)
		all = append(all, text)
		return err
	})
	return all, err
}

// Verify examines the whole file for damage if the previous owner did not end in order. It
// takes about as long as reading the file. Errors: *store.Unusable.
func (s *Store) Verify(ctx context.Context) error {
	if !s.crashed.Load() {
		return nil
	}
	found, err := texts(ctx, s.readers, "PRAGMA quick_check(3)")
	if err != nil {
		return classify(ctx, "check "+s.path, err)
	}
	if text := strings.Join(found, "; "); text != "ok" {
		return schema.Advise(fmt.Errorf("%w: %s: %s", store.ErrTransient, s.path, text), damagedAdvice)
	}
	return nil
}
