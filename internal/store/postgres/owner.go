package postgres

import (
	"context"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"

	"wamble/internal/store"
	"wamble/internal/store/schema"
)

// The owner of a profile is a row, not an advisory lock: a row is also on a promoted standby,
// and works with a pooler that gives each transaction another connection. The table exists
// before any migration, because only the owner may migrate.
const (
	makeOwners = `BEGIN; SELECT pg_advisory_xact_lock(%d); CREATE TABLE IF NOT EXISTS profile_owners (
		profile VARCHAR(128) PRIMARY KEY, journal_id BYTEA NOT NULL, host TEXT NOT NULL, pid BIGINT NOT NULL,
		since TIMESTAMPTZ NOT NULL, beat BIGINT NOT NULL DEFAULT 1, seen_at TIMESTAMPTZ NOT NULL DEFAULT NOW()); COMMIT`
	insertOwner = `INSERT INTO profile_owners (profile, journal_id, host, pid, since) VALUES ($1, $2, $3, $4, $5) ON CONFLICT DO NOTHING`
	isOwner     = `profile = $1 AND journal_id = $2 AND host = $3 AND pid = $4 AND since = $5`
	beatOwner   = `UPDATE profile_owners SET beat = beat + 1, seen_at = NOW() WHERE ` + isOwner
	replace     = `UPDATE profile_owners SET journal_id = $2, host = $3, pid = $4, since = $5, beat = beat + 1, seen_at = NOW() WHERE profile = $1`
	selectOwner = `SELECT journal_id, host, pid, since, beat FROM profile_owners WHERE profile = $1`
	// holdOwner lets the owner beat at the same time, but prevents a takeover.
	holdOwner = `SELECT 1 FROM profile_owners WHERE ` + isOwner + ` FOR KEY SHARE`
)

func ownerArgs(profile string, o store.Owner) []any {
	return []any{profile, o.Journal[:], o.Host, int64(o.PID), o.Since}
}

// Own implements store.Store.
func (s *Store) Own(ctx context.Context, profile string, o store.Owner, over int64) error {
	limited, cancel := context.WithTimeout(ctx, s.timeout)
	defer cancel()
	err := s.transact(limited, func(conn *pgxpool.Conn) error { return takeProfile(limited, conn, profile, o, over) })
	if err == nil {
		s.owners.Store(profile, o)
	}
	return classify(ctx, "own profile "+profile, err)
}

// Beat implements store.Store. A beat need not be on disk when Beat returns.
func (s *Store) Beat(ctx context.Context, profile string, o store.Owner) error {
	limited, cancel := context.WithTimeout(ctx, s.timeout)
	defer cancel()
	return classify(ctx, "beat of profile "+profile, s.transact(limited, func(conn *pgxpool.Conn) error {
		still, other := false, store.Owned{}
		b := &pgx.Batch{}
		b.Queue("BEGIN")
		b.Queue("SELECT set_config('synchronous_commit', 'off', true)")
		b.Queue(beatOwner, ownerArgs(profile, o)...).Exec(func(tag pgconn.CommandTag) error {
			still = tag.RowsAffected() == 1
			return nil
		})
		b.Queue(selectOwner, profile).Query(each(func(scan schema.Scan) error { return scanOwner(scan, &other) }))
		b.Queue("COMMIT")
		if err := conn.SendBatch(limited, b).Close(); err != nil || still {
			return err
		}
		return &other
	}))
}

// makeOwnersTable creates the table if it is missing, so that a user without the CREATE
// privilege can play if it exists.
func makeOwnersTable(ctx context.Context, conn *pgxpool.Conn) error {
	var made bool
	err := conn.QueryRow(ctx, `SELECT to_regclass('profile_owners') IS NOT NULL`).Scan(&made)
	if err == nil && !made {
		// Under a lock: two concurrent CREATE statements conflict in the catalogue.
		_, err = conn.Exec(ctx, fmt.Sprintf(makeOwners, migrationLock))
	}
	return err
}

// takeProfile makes o the owner if there is none, or if o may replace the current one.
func takeProfile(ctx context.Context, conn *pgxpool.Conn, profile string, o store.Owner, over int64) error {
	if err := makeOwnersTable(ctx, conn); err != nil {
		return err
	}
	return pgx.BeginFunc(ctx, conn, func(tx pgx.Tx) error {
		if _, err := tx.Exec(ctx, "SET LOCAL synchronous_commit = on"); err != nil {
			return err
		}
		tag, err := tx.Exec(ctx, insertOwner, ownerArgs(profile, o)...)
		if err != nil || tag.RowsAffected() == 1 {
			return err
		}
		var now store.Owned
		if err := scanOwner(tx.QueryRow(ctx, selectOwner, profile).Scan, &now); err != nil {
			return err
		}
		if !now.By.Same(o) && !o.Follows(now.By) && now.Beat != over {
			return &now
		}
		lock, args := selectOwner+" FOR UPDATE", []any{profile}
		if !o.Follows(now.By) {
			// A locked row means that the owner is writing a batch: it is alive.
			lock, args = selectOwner+" AND beat = $2 FOR UPDATE NOWAIT", []any{profile, now.Beat}
		}
		switch err := scanOwner(tx.QueryRow(ctx, lock, args...).Scan, new(store.Owned)); {
		case isNoRow(err), isLocked(err):
			return &now
		case err != nil:
			return err
		}
		_, err = tx.Exec(ctx, replace, ownerArgs(profile, o)...)
		return err
	})
}

// Owners returns the current owners of all profiles of the database.
func (s *Store) Owners(ctx context.Context) (owners []store.Owned, err error) {
	made := false
	if err := s.readRow(ctx, "read owners", `SELECT to_regclass('profile_owners') IS NOT NULL`, nil,
		&made); err != nil || !made {
		return nil, err
	}
	err = s.read(ctx, "read owners", schema.Ask{
		Text: `SELECT journal_id, host, pid, since, beat, profile FROM profile_owners ORDER BY profile`,
		Row: func(scan schema.Scan) error {
			var one store.Owned
			err := scanOwner(scan, &one, &one.Profile)
			owners = append(owners, one)
			return err
		}})
	return owners, err
}

func scanOwner(scan schema.Scan, o *store.Owned, more ...any) error {
	var journal []byte
	err := scan(append([]any{&journal, &o.By.Host, &o.By.PID, &o.By.Since, &o.Beat}, more...)...)
	copy(o.By.Journal[:], journal)
	return err
}

// isLocked reports whether a NOWAIT lock was refused: lock_not_available.
func isLocked(err error) bool {
	var db *pgconn.PgError
	return errors.As(err, &db) && db.Code == "55P03"
}

// Disown implements store.Store.
func (s *Store) Disown(ctx context.Context, profile string, o store.Owner) error {
	if _, owned := s.owners.LoadAndDelete(profile); !owned {
		return nil
	}
	limited, cancel := context.WithTimeout(ctx, s.timeout)
	defer cancel()
	return classify(ctx, "disown profile "+profile, s.transact(limited, func(conn *pgxpool.Conn) error {
		_, err := conn.Exec(limited, `DELETE FROM profile_owners WHERE `+isOwner, ownerArgs(profile, o)...)
		return err
	}))
}

// keepOwner returns the statement that fails a transaction unless its profile belongs to this
// process; nil if this process does not own the profile.
func (s *Store) keepOwner(profile string) []statement {
	o, owned := s.owners.Load(profile)
	if !owned {
		return nil
	}
	return []statement{{sql: holdOwner, args: ownerArgs(profile, o.(store.Owner)), rows: 1, verify: selectOwner,
		compare: []any{profile}}}
}
