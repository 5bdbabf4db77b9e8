package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"fmt"

	driver "modernc.org/sqlite"
	codes "modernc.org/sqlite/lib"

	"wamble"
	"wamble/internal/schema"
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

// sorted wraps an error with what failed, and with wamble.ErrTransient if it may
// pass by itself. Errors that this package made are left as they are.
func sorted(ctx context.Context, what string, err error) error {
	var moved *wamble.CursorMoved
	var bad *schema.Violation
	var data *badData
	var newer *schema.Newer
	var db *driver.Error
	switch {
	case err == nil:
		return nil
	case errors.Is(err, sql.ErrNoRows), errors.Is(err, wamble.ErrNotFound):
		return fmt.Errorf("%s: %w", what, wamble.ErrNotFound)
	case errors.Is(err, wamble.ErrTransient), errors.As(err, &moved):
		return err
	case errors.As(err, &bad), errors.As(err, &data), errors.As(err, &newer):
		return fmt.Errorf("%s: %w", what, err)
	case ctx.Err() != nil:
		return fmt.Errorf("%w: %s: %w", wamble.ErrTransient, what, ctx.Err())
	case errors.As(err, &db) && permanent[db.Code()&0xff]:
		return fmt.Errorf("%s: %w", what, err)
	}
	return fmt.Errorf("%w: %s: %w", wamble.ErrTransient, what, err)
}

// badData says that a stored row cannot be read, or contradicts an intent.
type badData struct{ reason string }

func (e *badData) Error() string { return e.reason }

func badf(format string, args ...any) error { return &badData{fmt.Sprintf(format, args...)} }
