package postgres

import (
	"context"
	"errors"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"wamble/internal/store/schema"
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

// classify is schema.Classify with the errors of this driver.
func classify(ctx context.Context, what string, err error) error {
	return schema.Classify(ctx, what, err, pgx.ErrNoRows, func(err error) bool {
		var db *pgconn.PgError
		return errors.As(err, &db) && len(db.Code) == 5 && permanent[db.Code[:2]]
	})
}

// isReadOnly reports whether a server refused to write because it is a standby, or
// was made read-only: read_only_sql_transaction.
func isReadOnly(err error) bool {
	var db *pgconn.PgError
	return errors.As(err, &db) && db.Code == "25006"
}
