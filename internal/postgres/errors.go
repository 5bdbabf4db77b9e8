package postgres

import (
	"context"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5/pgconn"

	"wamble"
	"wamble/internal/schema"
)

// permanent are the classes of SQLSTATE that blame the rows. Any other
// (connection, serialization, deadlock, read-only, resources, shutdown, missing
// table or privilege …) blames the database, and the same call may succeed when
// that is mended.
var permanent = map[string]bool{
	"21": true, // cardinality violation
	"22": true, // data exception
	"23": true, // integrity constraint violation
	"44": true, // WITH CHECK OPTION violation
	"54": true, // program limit exceeded
	"P0": true, // raised by a trigger
}

// sorted wraps an error with what failed, and with wamble.ErrTransient if it may
// pass by itself. Errors that this package made are left as they are.
func sorted(ctx context.Context, what string, err error) error {
	var moved *wamble.CursorMoved
	var bad *schema.Violation
	var data *badData
	var newer *schema.Newer
	var db *pgconn.PgError
	switch {
	case err == nil:
		return nil
	case isNone(err), errors.Is(err, wamble.ErrNotFound):
		return fmt.Errorf("%s: %w", what, wamble.ErrNotFound)
	case errors.Is(err, wamble.ErrTransient), errors.As(err, &moved):
		return err
	case errors.As(err, &bad), errors.As(err, &data), errors.As(err, &newer):
		return fmt.Errorf("%s: %w", what, err)
	case ctx.Err() != nil:
		return fmt.Errorf("%w: %s: %w", wamble.ErrTransient, what, ctx.Err())
	case errors.As(err, &db) && len(db.Code) == 5 && permanent[db.Code[:2]]:
		return fmt.Errorf("%s: %w", what, err)
	case errors.Is(err, context.DeadlineExceeded), errors.Is(err, context.Canceled):
		// Our own limit, not the caller's: it must not look like his.
		return fmt.Errorf("%w: %s: %v", wamble.ErrTransient, what, err)
	}
	return fmt.Errorf("%w: %s: %w", wamble.ErrTransient, what, err)
}

// badData says that a stored row cannot be read, or contradicts an intent.
type badData struct{ reason string }

func (e *badData) Error() string { return e.reason }

func badf(format string, args ...any) error { return &badData{fmt.Sprintf(format, args...)} }
