package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"io/fs"

	driver "modernc.org/sqlite"
	codes "modernc.org/sqlite/lib"

	"wamble/internal/store/schema"
)

// permanent has the primary result codes that are caused by the rows. All others (busy, full,
// read-only, I/O, no such table …) are caused by the database, and the same call may succeed
// later.
var permanent = map[int]bool{
	codes.SQLITE_CONSTRAINT: true,
	codes.SQLITE_MISMATCH:   true,
	codes.SQLITE_TOOBIG:     true,
	codes.SQLITE_RANGE:      true,
}

// advice tells a host, by primary result code, what to do about errors that do not pass by
// themselves.
var advice = map[int]string{
	codes.SQLITE_CORRUPT:  damagedAdvice,
	codes.SQLITE_NOTADB:   "The file is no SQLite database: put the right one there, or restore a backup",
	codes.SQLITE_PERM:     accessAdvice,
	codes.SQLITE_READONLY: accessAdvice,
	codes.SQLITE_CANTOPEN: accessAdvice,
}

const (
	damagedAdvice = "The file is damaged: stop the server, keep a copy, and restore a backup, " +
		"or save what can be read with 'sqlite3 games.db .recover'; what is not in the file yet is in the journal"
	accessAdvice = "Let the user who runs the server read and write the file and its directory"
)

// classify calls schema.Classify with the errors of this driver, and adds advice.
func classify(ctx context.Context, what string, err error) error {
	err = schema.Classify(ctx, what, err, sql.ErrNoRows, func(err error) bool {
		var db *driver.Error
		return errors.As(err, &db) && permanent[db.Code()&0xff]
	})
	var db *driver.Error
	switch {
	case errors.As(err, &db):
		return schema.Advise(err, advice[db.Code()&0xff])
	case errors.Is(err, fs.ErrPermission):
		return schema.Advise(err, accessAdvice)
	}
	return err
}
