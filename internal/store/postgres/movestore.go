package postgres

import (
	"context"

	"github.com/jackc/pgx/v5/pgxpool"

	"wamble/internal/store/schema"
)

// MoveSide returns what a move between databases needs of the store.
func (s *Store) MoveSide() schema.MoveSide {
	return schema.MoveSide{
		Queries: &schema.Queries{Read: s.read, Dialect: schema.Postgres},
		Transact: func(ctx context.Context, what string, work func(schema.Exec) error) error {
			return classify(ctx, what, s.transact(ctx, func(conn *pgxpool.Conn) error {
				exec := func(text string, args ...any) error {
					_, err := conn.Exec(ctx, text, args...)
					return err
				}
				if err := exec("BEGIN ISOLATION LEVEL READ COMMITTED"); err != nil {
					return err
				}
				if err := exec("SET LOCAL synchronous_commit = on"); err != nil {
					return err
				}
				if err := work(exec); err != nil {
					return err // transact rolls back
				}
				return exec("COMMIT")
			}))
		},
	}
}
