package postgres

import (
	"context"
	"crypto/tls"
	"errors"
	"strings"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"wamble/internal/store"
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

// advice is what a host can do about errors that do not pass by themselves, by
// SQLSTATE.
var advice = map[string]string{
	"28P01": "Check db-user and db-pass or db-pass-file",
	"28000": "Check db-user and db-sslmode, and what the server's pg_hba.conf allows",
	"3D000": "Check db-name, or make the database with createdb",
	"42501": "Let db-user own the tables, or GRANT it what it needs on tables, sequences and schema",
	"3F000": "Check the search_path of db-user",
	"42P01": "A table is missing: check db-name and the search_path of db-user, or restore a backup",
	"42703": "A column is missing: check db-name and the search_path of db-user, or restore a backup",
	"XX001": "The server's data are damaged: restore a backup",
	"XX002": "An index is damaged: REINDEX it, or restore a backup",
}

// adviceOn returns what to do about an error, "" if it may pass by itself.
func adviceOn(err error) string {
	var db *pgconn.PgError
	var cert *tls.CertificateVerificationError
	switch {
	case errors.As(err, &db):
		return advice[db.Code]
	case errors.As(err, &cert):
		return "Check db-sslmode, db-host and the certificate of the authority (PGSSLROOTCERT or ~/.postgresql/root.crt)"
	case err != nil && strings.Contains(err.Error(), "server refused TLS connection"):
		return "Switch on ssl in the server, or check db-sslmode"
	}
	return ""
}

// Unusable returns an error with advice if only the host can end it, otherwise nil.
func Unusable(err error) *store.Unusable {
	if advice := adviceOn(err); advice != "" {
		return &store.Unusable{Advice: advice, Err: err}
	}
	return nil
}

// classify is schema.Classify with the errors of this driver.
func classify(ctx context.Context, what string, err error) error {
	err = schema.Classify(ctx, what, err, pgx.ErrNoRows, func(err error) bool {
		var db *pgconn.PgError
		return errors.As(err, &db) && len(db.Code) == 5 && permanent[db.Code[:2]]
	})
	return schema.Advise(err, adviceOn(err))
}

// isDuplicate reports whether a unique index refused a row: unique_violation.
func isDuplicate(err error) bool {
	var db *pgconn.PgError
	return errors.As(err, &db) && db.Code == "23505"
}

// isReadOnly reports whether a server refused to write because it is a standby, or
// was made read-only: read_only_sql_transaction.
func isReadOnly(err error) bool {
	var db *pgconn.PgError
	return errors.As(err, &db) && db.Code == "25006"
}
