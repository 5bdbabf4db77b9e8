package sqlite

import (
	"context"
	"database/sql"
	"errors"

	driver "modernc.org/sqlite"
	codes "modernc.org/sqlite/lib"

	"wamble/internal/store/schema"
)

// permanent are the primary result codes that blame the rows. Any other
// (busy, full, read-only, I/O, no such table …) blames the database, and the
// same call may succeed when that is mended.
var permanent = map[int]bool{
	codes.SQLITE_CONSTRAINT: true,
	codes.SQLITE_MISMATCH:   true,
	codes.SQLITE_TOOBIG:     true,
	codes.SQLITE_RANGE:      true,
}

// classify is schema.Classify with the errors of this driver.
func classify(ctx context.Context, what string, err error) error {
	return schema.Classify(ctx, what, err, sql.ErrNoRows, func(err error) bool {
		var db *driver.Error
		return errors.As(err, &db) && permanent[db.Code()&0xff]
	})
}
