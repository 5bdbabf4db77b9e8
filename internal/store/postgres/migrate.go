package postgres

import (
	"context"
	"embed"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"

	"wamble/internal/store/schema"
)

//go:embed migrations/*.sql
var files embed.FS

// Migrations returns the migrations of this program.
func Migrations() ([]schema.Migration, error) {
	return schema.Load(files, "migrations", schema.Postgres)
}

// migrationLock is the advisory lock for migrations: "wamble".
const migrationLock = 0x77616d626c65

// Migrate brings the database to the newest schema, each migration in a transaction of its own
// under an advisory lock, so that two processes may call it at once. A database with the first schema
// of the original is adopted with all its rows, in one transaction; its boards go to Options.Profile.
// Errors: *schema.Newer, *schema.Original.
func (s *Store) Migrate(ctx context.Context, progress schema.Progress) error {
	all, err := Migrations()
	if err != nil {
		return err
	}
	for {
		st, err := s.Status(ctx)
		if err == nil {
			err = st.Unfinished()
		}
		if err != nil {
			return err
		}
		if st.Original != nil {
			return fmt.Errorf("migrate: %w", st.Original)
		}
		pending, err := schema.Pending(all, st.Version, st.Needs)
		if err != nil {
			return fmt.Errorf("migrate: %w", err)
		}
		if len(pending) == 0 {
			return classify(ctx, "migrate",
				s.transact(ctx, func(conn *pgxpool.Conn) error { return makeOwnersTable(ctx, conn) }))
		}
		step := schema.Step{Name: pending[0].Name, Number: pending[0].Version, Of: len(all)}
		switch {
		case !st.Adopt:
			pending = pending[:1]
		case s.profile == "":
			return schema.Badf("this database was made by the original Wamble: say which profile gets its boards")
		default:
			step = schema.Step{Name: "the adoption of the original's database", Number: len(all), Of: len(all)}
		}
		err = progress.Run(ctx, step, func(ctx context.Context) error {
			return s.transact(ctx, func(conn *pgxpool.Conn) error { return s.migrate(ctx, conn, pending, st.Adopt) })
		})
		if err != nil {
			return classify(ctx, "migrate", err)
		}
	}
}

// migrate applies migrations in one transaction, unless another process has applied the first. With adopt
// the first counts as applied.
func (s *Store) migrate(ctx context.Context, conn *pgxpool.Conn, pending []schema.Migration, adopt bool) error {
	// Several statements without arguments are sent as one simple query.
	_, err := conn.Exec(ctx, fmt.Sprintf(`BEGIN ISOLATION LEVEL READ COMMITTED; SET LOCAL statement_timeout = 0; SET LOCAL lock_timeout = 0;
		SET LOCAL synchronous_commit = on; SELECT pg_advisory_xact_lock(%d); CREATE TABLE IF NOT EXISTS schema_migrations (
			version INTEGER PRIMARY KEY, name TEXT NOT NULL, adopted BOOLEAN NOT NULL DEFAULT FALSE, applied_at TIMESTAMPTZ NOT NULL DEFAULT NOW());
		ALTER TABLE schema_migrations ADD COLUMN IF NOT EXISTS additive BOOLEAN NOT NULL DEFAULT FALSE`, migrationLock))
	if err != nil {
		return err
	}
	if _, err := conn.Exec(ctx, `SELECT set_config('wamble.profile', $1, true)`, s.profile); err != nil {
		return err
	}
	var version int
	if err := conn.QueryRow(ctx, selectVersion).Scan(&version); err != nil {
		return err
	}
	if version != pending[0].Version-1 {
		return nil // transact rolls back
	}
	for _, m := range pending {
		adopted := adopt && m.Version == 1
		if !adopted {
			if _, err := conn.Exec(ctx, m.SQL); err != nil {
				return fmt.Errorf("%s: %w", m.Name, err)
			}
		}
		_, err := conn.Exec(ctx, `INSERT INTO schema_migrations (version, name, adopted, additive) VALUES ($1, $2, $3, $4)`,
			m.Version, m.Name, adopted, m.Additive)
		if err != nil {
			return err
		}
	}
	_, err = conn.Exec(ctx, "COMMIT")
	return err
}

const selectVersion = `SELECT coalesce(max(version), 0) FROM schema_migrations`

// selectState treats migrations as not additive if the table was made by an older program
// without that column.
const selectState = `SELECT coalesce(max(version), 0), coalesce(max(version) FILTER (WHERE NOT coalesce((to_jsonb(m) ->> 'additive')::boolean, FALSE)), 0),
	min(applied_at) FILTER (WHERE version = 1), (` + SelectColumns + `) FROM schema_migrations m`

// Status returns the state of the database relative to this program. It writes nothing. A
// database that is newer than this program is not an error here.
func (s *Store) Status(ctx context.Context) (schema.Status, error) {
	all, err := Migrations()
	if err != nil {
		return schema.Status{}, err
	}
	st := schema.Status{Latest: len(all)}
	var versioned bool
	var first *time.Time
	var columns []string
	// Columns are read with the version, in one statement: another process may be migrating.
	err = s.readRow(ctx, "read schema version", `SELECT 'PostgreSQL ' || current_setting('server_version'),
		to_regclass('schema_migrations') IS NOT NULL, (`+SelectColumns+`)`, nil, &st.Server, &versioned, &columns)
	if err == nil && versioned {
		err = s.readRow(ctx, "read schema version", selectState, nil, &st.Version, &st.Needs, &first, &columns)
	}
	if err != nil {
		return schema.Status{}, err
	}
	if first != nil {
		st.Made = first.UTC()
	}
	// Adopting takes one transaction. Earlier programs took several, and could stop behind version 2.
	if o := FromOriginal(columns); o != nil && st.Version <= 2 {
		if o.Foreign || o.Steps != nil || o.Lacking != nil {
			st.Original = o
		}
		st.Adopt = st.Version == 0 && st.Original == nil
	}
	if st.Denied, err = s.denied(ctx); err != nil {
		return schema.Status{}, err
	}
	st.Await(all)
	return st, s.MoveSide().NoteMove(ctx, &st)
}

// denied returns why the user could not migrate, "" if they could: creating a table requires
// the CREATE privilege on the schema, and altering one requires its ownership.
func (s *Store) denied(ctx context.Context) (string, error) {
	var user, within string
	var creates bool
	var foreign []string
	err := s.readRow(ctx, "read privileges", `SELECT current_user, coalesce(current_schema(), ''), coalesce(has_schema_privilege(current_schema(), 'CREATE'), false),
		coalesce((SELECT array_agg(c.relname::text ORDER BY c.relname) FROM pg_class c
			WHERE c.relnamespace = to_regnamespace(quote_ident(current_schema())) AND c.relkind = 'r' AND c.relname = ANY($1) AND NOT pg_has_role(c.relowner, 'USAGE')), '{}')`,
		[]any{slices.Sorted(maps.Keys(original))}, &user, &within, &creates, &foreign)
	switch {
	case err != nil:
		return "", err
	case within == "":
		return fmt.Sprintf("%s may use no schema of its search_path", user), nil
	case !creates:
		return fmt.Sprintf("%s may create no tables in the schema %s", user, within), nil
	case len(foreign) > 0:
		return fmt.Sprintf("%s is not the owner of %s", user, strings.Join(foreign, ", ")), nil
	}
	return "", nil
}
