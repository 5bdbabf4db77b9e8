package postgres

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"strings"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"wamble/internal/store"
	"wamble/internal/store/schema"
)

// permanent has the classes of SQLSTATE that are caused by the rows. All others (connection,
// serialization, deadlock, read-only, resources, shutdown, missing table or privilege …) are
// caused by the database, and the same call may succeed later.
var permanent = map[string]bool{
	"21": true, // cardinality violation
	"22": true, // data exception
	"23": true, // integrity constraint violation
	"44": true, // WITH CHECK OPTION violation
	"54": true, // program limit exceeded
	"P0": true, // raised by a trigger
}

// advice tells a host, by SQLSTATE, what to do about errors that do not pass by themselves.
var advice = map[string]string{
	"28P01": "Check db-user and db-pass or db-pass-file",
	"28000": "Check db-user and db-sslmode, and what the server's pg_hba.conf allows",
	"3D000": "Check db-name, or make the database with createdb",
	"42501": "Let db-user own the tables, or GRANT it what it needs on tables, sequences and schema",
	"3F000": "Check the search_path of db-user",
	"42P01": "A table is missing: check db-name and the search_path of db-user, or restore a backup",
	"42703": "A column is missing: check db-name and the search_path of db-user, or restore a backup",
	// A migration finds what it makes.
	"42701": exists,
	"42P07": exists,
	"42710": exists,
	"42723": exists,
	"XX001": "The server's data are damaged: restore a backup",
	"XX002": "An index is damaged: REINDEX it, or restore a backup",
}

// exists is the advice for a column, table, trigger or function that a migration makes and that is there.
const exists = "Something in the database has the name of what this migration makes. If the original Wamble made the " +
	"database, 'wamble import' brings its rows to a new one; else rename what you made, or name another db-name"

// adviceOn returns advice about an error, "" if the error may pass by itself.
func adviceOn(err error) string {
	var db *pgconn.PgError
	var cert *tls.CertificateVerificationError
	switch {
	case isBetween(err):
		return ""
	case errors.As(err, &db):
		return advice[db.Code]
	case errors.As(err, &cert):
		return "Check db-sslmode, db-host and the certificate of the authority (PGSSLROOTCERT or ~/.postgresql/root.crt)"
	case err != nil && onlyTLS(err):
		return "Switch on ssl in the server, or check db-sslmode"
	}
	return ""
}

// Unusable returns an error with advice if only the host can resolve it, otherwise nil.
func Unusable(err error) *store.Unusable {
	if advice := adviceOn(err); advice != "" {
		return &store.Unusable{Advice: advice, Err: err}
	}
	return nil
}

// isBetween reports whether one of the attempts to connect reached a server that is starting or
// stopping (cannot_connect_now, admin_shutdown): that passes, whatever the other attempts
// returned.
func isBetween(err error) bool {
	for _, e := range attempts(err) {
		var db *pgconn.PgError
		if errors.As(e, &db) && (db.Code == "57P03" || db.Code == "57P01") {
			return true
		}
	}
	return false
}

// onlyTLS reports whether all attempts to connect failed because the server has no TLS. With
// db-sslmode prefer a further attempt without TLS returns the real error.
func onlyTLS(err error) bool {
	for _, e := range attempts(err) {
		if !strings.Contains(fmt.Sprint(e), "server refused TLS connection") {
			return false
		}
	}
	return true
}

// attempts returns the errors that are joined in err, or err itself.
func attempts(err error) []error {
	for e := err; e != nil; e = errors.Unwrap(e) {
		if joined, ok := e.(interface{ Unwrap() []error }); ok {
			var all []error
			for _, one := range joined.Unwrap() {
				all = append(all, attempts(one)...)
			}
			return all
		}
	}
	return []error{err}
}

// classify calls schema.Classify with the errors of this driver.
func classify(ctx context.Context, what string, err error) error {
	cure := adviceOn(err) // before Classify replaces the error
	err = schema.Classify(ctx, what, err, pgx.ErrNoRows, func(err error) bool {
		var db *pgconn.PgError
		return errors.As(err, &db) && len(db.Code) == 5 && permanent[db.Code[:2]]
	})
	return schema.Advise(err, cure)
}

// isDuplicate reports whether a unique index refused a row: unique_violation.
func isDuplicate(err error) bool {
	var db *pgconn.PgError
	return errors.As(err, &db) && db.Code == "23505"
}

// isReadOnly reports whether a server refused to write because it is a standby or read-only:
// read_only_sql_transaction.
func isReadOnly(err error) bool {
	var db *pgconn.PgError
	return errors.As(err, &db) && db.Code == "25006"
}
