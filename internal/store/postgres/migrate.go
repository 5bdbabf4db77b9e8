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
// under an advisory lock, so that two processes may call it at once. A database made by the
// original is adopted with all its rows; its boards go to Options.Profile. Errors:
// *schema.Newer.
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
		pending, err := schema.Pending(all, st.Version, st.Needs)
		if err != nil {
			return fmt.Errorf("migrate: %w", err)
		}
		if len(pending) == 0 {
			return classify(ctx, "migrate",
				s.transact(ctx, func(conn *pgxpool.Conn) error { return makeOwnersTable(ctx, conn) }))
		}
		step := schema.Step{Name: pending[0].Name, Number: pending[0].Version, Of: len(all)}
		err = progress.Run(ctx, step, func(ctx context.Context) error {
			return s.transact(ctx, func(conn *pgxpool.Conn) error { return s.migrate(ctx, conn, pending[0]) })
		})
		if err != nil {
			return classify(ctx, "migrate", err)
		}
	}
}

// migrate applies one migration, unless another process has applied it.
func (s *Store) migrate(ctx context.Context, conn *pgxpool.Conn, m schema.Migration) error {
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
	if version != m.Version-1 {
		return nil // transact rolls back
	}
	adopt := false
	if version == 0 {
		if adopt, err = adoptable(ctx, conn); err != nil {
			return err
		}
	}
	if adopt && s.profile == "" {
		return schema.Badf("this database was made by the original Wamble: say which profile gets its boards")
	}
	if !adopt {
		if _, err := conn.Exec(ctx, m.SQL); err != nil {
			return fmt.Errorf("%s: %w", m.Name, err)
		}
	}
	if _, err := conn.Exec(ctx,
		`INSERT INTO schema_migrations (version, name, adopted, additive) VALUES ($1, $2, $3, $4)`, m.Version, m.Name,
		adopt, m.Additive); err != nil {
		return err
	}
	_, err = conn.Exec(ctx, "COMMIT")
	return err
}

const selectVersion = `SELECT coalesce(max(version), 0) FROM schema_migrations`

// selectState treats migrations as not additive if the table was made by an older program
// without that column.
const selectState = `SELECT coalesce(max(version), 0), coalesce(max(version) FILTER (WHERE NOT coalesce((to_jsonb(m) ->> 'additive')::boolean, FALSE)), 0),
	min(applied_at) FILTER (WHERE version = 1) FROM schema_migrations m`

// original has the tables and columns that a database of the original must have to be adopted.
var original = map[string]string{
	"players":      "id public_key rating created_at",
	"sessions":     "id token player_id trust_level created_at last_seen_at",
	"boards":       "id fen status last_assignment_time created_at updated_at",
	"moves":        "id board_id session_id move_uci move_number timestamp",
	"reservations": "board_id session_id expires_at",
	"game_results": "board_id winning_side finished_at",
	"payouts":      "id board_id session_id points_awarded created_at",
	"predictions":  "id board_id session_id predicted_move_uci status created_at",
}

// adoptable reports whether all tables of the original exist. If only some do, it returns an
// error: the database belongs to another program.
func adoptable(ctx context.Context, conn *pgxpool.Conn) (bool, error) {
	tables, lacking := 0, []string{}
	for table, columns := range original {
		var have []string
		err := conn.QueryRow(ctx, `SELECT coalesce(array_agg(column_name::text), '{}') FROM information_schema.columns
			WHERE table_schema = current_schema() AND table_name = $1`, table).Scan(&have)
		if err != nil {
			return false, err
		}
		if len(have) > 0 {
			tables++
		}
		for _, c := range strings.Fields(columns) {
			if !strings.Contains(" "+strings.Join(have, " ")+" ", " "+c+" ") {
				lacking = append(lacking, table+"."+c)
			}
		}
	}
	if tables == 0 {
		return false, nil
	}
	if len(lacking) > 0 {
		return false, schema.Badf("this database has tables of Wamble's names, but not the original's: %s are missing; nothing was changed", strings.Join(lacking, ", "))
	}
	return true, nil
}

// Status returns the state of the database relative to this program. It writes nothing. A
// database that is newer than this program is not an error here.
func (s *Store) Status(ctx context.Context) (schema.Status, error) {
	all, err := Migrations()
	if err != nil {
		return schema.Status{}, err
	}
	st := schema.Status{Latest: len(all)}
	var versioned, made bool
	var first *time.Time
	err = s.readRow(ctx, "read schema version", `SELECT 'PostgreSQL ' || current_setting('server_version'),
		to_regclass('schema_migrations') IS NOT NULL, to_regclass('boards') IS NOT NULL`, nil, &st.Server, &versioned, &made)
	if err == nil && versioned {
		err = s.readRow(ctx, "read schema version", selectState, nil, &st.Version, &st.Needs, &first)
	}
	if err != nil {
		return schema.Status{}, err
	}
	if first != nil {
		st.Made = first.UTC()
	}
	st.Adopt = made && st.Version == 0
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
