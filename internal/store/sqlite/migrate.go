package sqlite

import (
	"context"
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"os"

	"wamble/internal/store/schema"
)

//go:embed migrations/*.sql
var files embed.FS

// Migrations returns the migrations of this program.
func Migrations() ([]schema.Migration, error) { return schema.Load(files, "migrations", schema.SQLite) }

// Migrate brings the database to the newest schema, each migration in a transaction of its own.
// Two processes may call it at once. A file that it creates is readable only by its owner.
// Errors: *schema.Newer.
func (s *Store) Migrate(ctx context.Context, progress schema.Progress) error {
	all, err := Migrations()
	if err != nil {
		return err
	}
	if err := s.create(); err != nil {
		return classify(ctx, "migrate", err)
	}
	st, err := s.Status(ctx)
	if err == nil {
		err = st.Unfinished()
	}
	if err != nil {
		return err
	}
	for {
		more, err := s.migrateOne(ctx, all, progress)
		if err != nil {
			return classify(ctx, "migrate", err)
		}
		if !more {
			return nil
		}
	}
}

// create creates the file if it is missing, readable only by its owner, because it holds keys
// and games of players. SQLite gives its other files the same mode. An existing file is not
// opened: closing it would release the locks of this process.
func (s *Store) create() error {
	f, err := os.OpenFile(s.path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if errors.Is(err, fs.ErrExist) {
		return nil
	}
	if err != nil {
		return err
	}
	return f.Close()
}

// migrateOne applies the next pending migration under the write lock, which serializes
// processes.
func (s *Store) migrateOne(ctx context.Context, all []schema.Migration, progress schema.Progress) (more bool,
	err error) {
	err = s.writer.transact(ctx, func(t *tx) error {
		_, err := t.exec(`CREATE TABLE IF NOT EXISTS schema_migrations (
			version INTEGER PRIMARY KEY, name TEXT NOT NULL, applied_at INTEGER NOT NULL, additive INTEGER NOT NULL DEFAULT FALSE) STRICT`)
		if err != nil {
			return err
		}
		var marks int
		if err := t.scan(selectMarks, nil, &marks); err != nil {
			return err
		}
		if marks == 0 {
			if _, err := t.exec(`ALTER TABLE schema_migrations ADD COLUMN additive INTEGER NOT NULL DEFAULT FALSE`); err != nil {
				return err
			}
		}
		var version, needs int
		if err := t.scan(selectVersion, nil, &version, &needs); err != nil {
			return err
		}
		pending, err := schema.Pending(all, version, needs)
		if err != nil || len(pending) == 0 {
			return err
		}
		more = len(pending) > 1
		m := pending[0]
		step := schema.Step{Name: m.Name, Number: m.Version, Of: len(all)}
		return progress.Run(ctx, step, func(ctx context.Context) error {
			if _, err := t.w.conn.ExecContext(ctx, m.SQL); err != nil {
				return fmt.Errorf("%s: %w", m.Name, err)
			}
			_, err := t.exec(`INSERT INTO schema_migrations VALUES (?, ?, CAST(unixepoch('subsec') * 1e6 AS INTEGER), ?)`, m.Version, m.Name, m.Additive)
			return err
		})
	})
	return more, err
}

const (
	selectVersion = `SELECT ifnull(max(version), 0), ifnull(max(version) FILTER (WHERE NOT additive), 0) FROM schema_migrations`
	// selectMarks reports whether the table has the column additive, which tables of an older
	// program lack.
	selectMarks = `SELECT count(*) FROM pragma_table_info('schema_migrations') WHERE name = 'additive'`
)

// Status returns the state of the database relative to this program. It writes nothing, except
// an empty file if there is none. A database that is newer than this program is not an error
// here.
func (s *Store) Status(ctx context.Context) (schema.Status, error) {
	all, err := Migrations()
	if err != nil {
		return schema.Status{}, err
	}
	st := schema.Status{Latest: len(all)}
	var tables, marks int
	var first int64
	err = s.readers.QueryRowContext(ctx,
		`SELECT 'SQLite ' || sqlite_version(), count(*), (`+selectMarks+`) FROM sqlite_schema WHERE name = 'schema_migrations'`).
		Scan(&st.Server, &tables, &marks)
	if err == nil && tables > 0 {
		additive := "FALSE"
		if marks > 0 {
			additive = "additive"
		}
		err = s.readers.QueryRowContext(ctx, `SELECT ifnull(max(version), 0), ifnull(max(version) FILTER (WHERE NOT `+additive+`), 0),
			ifnull(min(applied_at) FILTER (WHERE version = 1), 0) FROM schema_migrations`).Scan(&st.Version, &st.Needs, &first)
	}
	if err != nil {
		return schema.Status{}, classify(ctx, "read schema version", err)
	}
	if first != 0 {
		st.Made = schema.Time(first)
	}
	st.Await(all)
	return st, s.MoveSide().NoteMove(ctx, &st)
}
