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
	return &Store{path: o.Path, readers: rdb, writer: newWriter(wdb)}, nil
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

// statement returns a prepared statement, for queries that clients can trigger at will: it is
// parsed once per connection.
func (s *Store) statement(ctx context.Context, text string) (*sql.Stmt, error) {
	if kept, ok := s.prepared.Load(text); ok {
		return kept.(*sql.Stmt), nil
	}
	made, err := s.readers.PrepareContext(ctx, text)
	if err != nil {
		return nil, err
	}
	kept, other := s.prepared.LoadOrStore(text, made)
	if other {
		made.Close()
	}
	return kept.(*sql.Stmt), nil
}

// readAll reads all rows of a query.
func readAll[T any](ctx context.Context, s *Store, what, text string, args []any,
	scan func(schema.Scan) (T, error)) ([]T, error) {
	rows, err := s.readers.QueryContext(ctx, text, args...)
	all, err := scanAll(rows, err, scan)
	return all, classify(ctx, what, err)
}

// scanAll reads the rows of a query, or returns its error.
func scanAll[T any](rows *sql.Rows, err error, scan func(schema.Scan) (T, error)) (all []T, _ error) {
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	for rows.Next() {
		row, err := scan(rows.Scan)
		if err != nil {
			return nil, err
		}
		all = append(all, row)
	}
	return all, rows.Err()
}

// read calls work with a transaction that reads one snapshot.
func (s *Store) read(ctx context.Context, what string, work func(context.Context, *sql.Tx) error) error {
	tx, err := s.readers.BeginTx(ctx, nil)
	if err != nil {
		return classify(ctx, what, err)
	}
	defer func() { _ = tx.Rollback() }() // nothing was written
	return classify(ctx, what, work(ctx, tx))
}

// Verify examines the whole file for damage if the previous owner did not end in order. It
// takes about as long as reading the file. Errors: *store.Unusable.
func (s *Store) Verify(ctx context.Context) error {
	if !s.crashed.Load() {
		return nil
	}
	rows, err := s.readers.QueryContext(ctx, "PRAGMA quick_check(3)")
	found, err := scanAll(rows, err, func(scan schema.Scan) (text string, err error) {
		err = scan(&text)
		return text, err
	})
	if err != nil {
		return classify(ctx, "check "+s.path, err)
	}
	if text := strings.Join(found, "; "); text != "ok" {
		return schema.Advise(fmt.Errorf("%w: %s: %s", store.ErrTransient, s.path, text), damagedAdvice)
	}
	return nil
}
