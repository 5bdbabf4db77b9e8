package sqlite

import (
	"context"

	"wamble/internal/store/schema"
)

// MoveSide returns what a move between databases needs of the store.
func (s *Store) MoveSide() schema.MoveSide {
	return schema.MoveSide{
		Queries: &schema.Queries{Read: s.read, Dialect: schema.SQLite},
		Transact: func(ctx context.Context, what string, work func(schema.Exec) error) error {
			return classify(ctx, what, s.writer.transact(ctx, func(t *tx) error { return work(t.do) }))
		},
	}
}
