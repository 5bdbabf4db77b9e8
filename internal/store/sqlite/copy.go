package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"time"

	driver "modernc.org/sqlite"

	"wamble/internal/store/schema"
)

// copyPages is how many pages are copied between two checks of the context.
const copyPages = 1024

// Copy writes a consistent copy of a database to a new file that only its owner may read.
// Servers may write to the database at the same time without waiting. progress, if set, gets
// the number of copied pages.
func Copy(ctx context.Context, path, to string, progress func(done, all int)) (err error) {
	if _, err := os.Stat(path); err != nil { // opening would create it
		return fmt.Errorf("copy a database: %w", err)
	}
	f, err := os.OpenFile(to, os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return fmt.Errorf("copy %s: %w", path, err)
	}
	defer f.Close()
	db, err := sql.Open("sqlite", dsn(Options{Path: path, BusyTimeout: 5 * time.Second}, "query_only(1)"))
	if err != nil {
		return fmt.Errorf("copy %s: %w", path, err)
	}
	defer db.Close()
	conn, err := db.Conn(ctx)
	if err != nil {
		return classify(ctx, "copy "+path, err)
	}
	defer conn.Close()
	// A read transaction fixes the state: without it each write restarts the copy.
	var version int
	if _, err = conn.ExecContext(ctx, "BEGIN"); err == nil {
		err = conn.QueryRowContext(ctx, "SELECT count(*) FROM sqlite_schema").Scan(&version)
	}
	if err == nil {
		err = conn.Raw(func(c any) error { return copyAll(ctx, c, to, progress) })
	}
	if err == nil {
		err = f.Sync()
	}
	return classify(ctx, "copy "+path, err)
}

func copyAll(ctx context.Context, conn any, to string, progress func(done, all int)) error {
	source, ok := conn.(interface {
		NewBackup(dst string) (*driver.Backup, error)
	})
	if !ok {
		return errors.New("this driver makes no copies")
	}
	b, err := source.NewBackup(to)
	if err != nil {
		return err
	}
	for more := true; more && err == nil; {
		more, err = b.Step(copyPages)
		if progress != nil {
			progress(b.PageCount()-b.Remaining(), b.PageCount())
		}
		if err == nil {
			err = ctx.Err()
		}
	}
	return errors.Join(err, b.Finish())
}

// mostProblems bounds the reported problems of each kind.
const mostProblems = 20

// Check examines a whole file for damage, and for rows that refer to missing rows, and
// describes what it found; an empty result means that the file is sound. The server must not be
// running.
func Check(ctx context.Context, path string) (problems []string, err error) {
	if _, err := os.Stat(path); err != nil {
		return nil, err
	}
	db, err := sql.Open("sqlite", dsn(Options{Path: path, BusyTimeout: 5 * time.Second}, "query_only(1)"))
	if err != nil {
		return nil, err
	}
	defer db.Close()
	found, err := texts(ctx, db, fmt.Sprintf("PRAGMA integrity_check(%d)", mostProblems))
	if err != nil {
		return nil, classify(ctx, "check "+path, err)
	}
	for _, text := range found {
		if text != "ok" {
			problems = append(problems, text)
		}
	}
	rows, err := db.QueryContext(ctx,
		fmt.Sprintf(`SELECT "table", ifnull(rowid, 0), parent FROM pragma_foreign_key_check LIMIT %d`, mostProblems))
	err = each(rows, err, func(scan schema.Scan) error {
		var table, parent string
		var row int64
		err := scan(&table, &row, &parent)
		problems = append(problems, fmt.Sprintf("row %d of %s points to a row of %s that is not there", row, table, parent))
		return err
	})
	return problems, classify(ctx, "check "+path, err)
}
