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

// Migrations returns the steps that this program knows.
func Migrations() ([]schema.Migration, error) { return schema.Load(files, "migrations", schema.SQLite) }

// Migrate brings the database to the newest schema, each step in a transaction
// of its own. Two processes may do it at once. A file that it makes
// can be read by its owner alone. Errors: *schema.Newer.
func (s *Store) Migrate(ctx context.Context, progress schema.Progress) error {
	all, err := Migrations()
	if err != nil {
		return err
	}
	if err := s.create(); err != nil {
		return classify(ctx, "migrate", err)
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

// create makes the file if it is missing, for its owner alone, because it holds
// keys and games of players. What SQLite puts beside it gets the same mode. A file
// that exists is not opened: closing it would drop the locks of this process.
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

// migrateOne runs the next pending step under the write lock, which another
// process that migrates waits for.
func (s *Store) migrateOne(ctx context.Context, all []schema.Migration, progress schema.Progress) (more bool, err error) {
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
	// A table of migrations that an older program made says nothing of additive ones.
	selectMarks = `SELECT count(*) FROM pragma_table_info('schema_migrations') WHERE name = 'additive'`
)

// Status says how the database stands to this program. It writes nothing but
// an empty file where there is none. A database that is newer than this
// program is no error here.
func (s *Store) Status(ctx context.Context) (schema.Status, error) {
	all, err := Migrations()
	if err != nil {
		return schema.Status{}, err
	}
	st := schema.Status{Latest: len(all)}
	var tables, marks int
	var first int64
	err = s.readers.QueryRowContext(ctx, `SELECT 'SQLite ' || sqlite_version(), count(*), (`+selectMarks+`) FROM sqlite_schema WHERE name = 'schema_migrations'`).
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
	return st, nil
}
