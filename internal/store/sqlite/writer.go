package sqlite

import (
	"context"
	"database/sql"
	"fmt"
	"strings"

	"wamble/internal/intent"
	"wamble/internal/store/schema"
)

// writer owns the only connection that writes, with its prepared statements.
type writer struct {
	db   *sql.DB
	lock chan struct{} // a mutex that holds a token while it is free, so that a context can end the wait for it

	conn  *sql.Conn
	stmts map[query]*sql.Stmt
}

// query identifies a statement for a number of rows.
type query struct {
	text string
	rows int
}

func newWriter(db *sql.DB) *writer {
	w := &writer{db: db, lock: make(chan struct{}, 1)}
	w.lock <- struct{}{}
	return w
}

// close waits for the transaction in progress and closes the connection. Afterwards db refuses
// new connections.
func (w *writer) close() error {
	<-w.lock
	defer func() { w.lock <- struct{}{} }()
	w.drop()
	return w.db.Close()
}

// drop closes the connection; the next transaction opens another.
func (w *writer) drop() {
	if w.conn != nil {
		for _, s := range w.stmts {
			_ = s.Close() // ignored: the connection is closed anyway
		}
		_ = w.conn.Close()
		w.conn, w.stmts = nil, nil
	}
}

// transact runs work between BEGIN IMMEDIATE and COMMIT. If work or COMMIT fails, nothing is
// written. The caller's context ends the wait for the lock and is checked between statements;
// it does not interrupt statements, which are short.
func (w *writer) transact(ctx context.Context, work func(*tx) error) error {
	select {
	case <-w.lock:
	case <-ctx.Done():
		return ctx.Err()
	}
	defer func() { w.lock <- struct{}{} }()
	if w.conn == nil {
		conn, err := w.db.Conn(ctx)
		if err != nil {
			return err
		}
		w.conn, w.stmts = conn, map[query]*sql.Stmt{}
	}
	t := &tx{w: w, ctx: ctx, quiet: context.WithoutCancel(ctx)}
	if _, err := t.exec("BEGIN IMMEDIATE"); err != nil {
		w.drop()
		return err
	}
	err := work(t)
	if err == nil {
		err = ctx.Err()
	}
	if err == nil {
		_, err = t.exec("COMMIT")
	}
	if err != nil {
		if _, rerr := t.exec("ROLLBACK"); rerr != nil {
			w.drop() // closing the connection rolls back
		}
	}
	return err
}

// tx is a transaction of a writer. It ends when work returns.
type tx struct {
	w        *writer
	ctx      context.Context
	quiet    context.Context // ctx without cancellation
	oneByOne bool            // write one intent at a time; see the package comment
	profile  string
	shard    int
	args     []any
}

// exec runs one statement and returns how many rows it changed.
func (t *tx) exec(text string, args ...any) (int64, error) {
	s, err := t.prepare(query{text, 1}, text)
	if err != nil {
		return 0, err
	}
	return changed(s.ExecContext(t.quiet, args...))
}

// do runs one statement.
func (t *tx) do(text string, args ...any) error {
	_, err := t.exec(text, args...)
	return err
}

// doAll runs statements one after the other, all with the same arguments.
func (t *tx) doAll(args []any, texts ...string) error {
	for _, text := range texts {
		if err := t.do(text, args...); err != nil {
			return err
		}
	}
	return nil
}

// forEach calls write for each intent of a run until it fails.
func forEach[T intent.Intent](run []intent.Intent, write func(in T) error) error {
	for _, in := range schema.As[T](run) {
		if err := write(in); err != nil {
			return err
		}
	}
	return nil
}

// scan reads one row. Errors: sql.ErrNoRows.
func (t *tx) scan(text string, args []any, into ...any) error {
	s, err := t.prepare(query{text, 1}, text)
	if err != nil {
		return err
	}
	return s.QueryRowContext(t.quiet, args...).Scan(into...)
}

// sizes are the numbers of rows for which statements are prepared: only four, which bounds the
// number of statements.
var sizes = [...]int{512, 64, 8, 1}

// many runs a statement over the rows of args, as many rows at a time as sizes allow, and
// returns the number of changed rows. $rows in its text is replaced by a list of tuples.
func (t *tx) many(text, tuple string, args []any) (int64, error) {
	return t.rows(text, tuple, args, func(s *sql.Stmt, args []any) (int64, error) {
		return changed(s.ExecContext(t.quiet, args...))
	})
}

// count is many for a query that returns one number; it returns the sum.
func (t *tx) count(text, tuple string, args []any) (int64, error) {
	return t.rows(text, tuple, args, func(s *sql.Stmt, args []any) (n int64, err error) {
		err = s.QueryRowContext(t.quiet, args...).Scan(&n)
		return n, err
	})
}

func (t *tx) rows(text, tuple string, args []any, run func(*sql.Stmt, []any) (int64, error)) (int64, error) {
	width := strings.Count(tuple, "?")
	var sum int64
	for left := len(args) / width; left > 0; {
		n := 1
		for _, size := range sizes {
			if left >= size {
				n = size
				break
			}
		}
		q := query{text, -n} // distinct from the same text run by exec
		s, ok := t.w.stmts[q]
		if !ok {
			var err error
			tuples := strings.TrimSuffix(strings.Repeat(tuple+",", n), ",")
			if s, err = t.prepare(q, strings.Replace(text, "$rows", tuples, 1)); err != nil {
				return sum, err
			}
		}
		c, err := run(s, args[:n*width])
		sum += c
		if err != nil {
			return sum, err
		}
		args, left = args[n*width:], left-n
	}
	return sum, nil
}

func (t *tx) prepare(q query, text string) (*sql.Stmt, error) {
	if s, ok := t.w.stmts[q]; ok {
		return s, nil
	}
	s, err := t.w.conn.PrepareContext(t.quiet, text)
	if err != nil {
		return nil, fmt.Errorf("prepare %.40q: %w", text, err)
	}
	t.w.stmts[q] = s
	return s, nil
}

// list returns an empty slice of arguments with room for rows of a width, in memory that the
// transaction reuses.
func (t *tx) list(rows, width int) []any {
	if cap(t.args) < rows*width {
		t.args = make([]any, 0, rows*width)
	}
	return t.args[:0]
}

func changed(r sql.Result, err error) (int64, error) {
	if err != nil {
		return 0, err
	}
	return r.RowsAffected()
}

// exists reports whether a query returns a row.
func (t *tx) exists(text string, args ...any) (bool, error) {
	var one int
	err := t.scan(text, args, &one)
	if err == sql.ErrNoRows {
		return false, nil
	}
	return err == nil, err
}
