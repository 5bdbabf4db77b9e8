package postgres

import "context"

// Ask runs a query that returns one text on a connection of the store itself.
func (s *Store) Ask(ctx context.Context, query string) (string, error) {
	var text string
	err := s.pool.QueryRow(ctx, query).Scan(&text)
	return text, err
}
