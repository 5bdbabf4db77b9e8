package postgres

import (
	"context"

	"wamble"
	"wamble/internal/store/schema"
)

// People implements store.Queries.
func (s *Store) People(ctx context.Context, q wamble.PeopleQuery) ([]wamble.Person, error) {
	ask, err := schema.PeopleOf(q)
	if err != nil {
		return nil, err
	}
	all, err := readAll(ctx, s, "read people", ask.Text, ask.Args, schema.ScanPerson)
	return schema.NewestPeople(q, all), err
}

// PredictionsOf implements store.Queries.
func (s *Store) PredictionsOf(ctx context.Context, key wamble.PublicKey, after wamble.PredictionID,
	most int) ([]wamble.Prediction, error) {
	ask, err := schema.PredictionsOf(key, after, most)
	if err != nil {
		return nil, err
	}
	return readAll(ctx, s, "read predictions", ask.Text, ask.Args, schema.ScanPrediction)
}

// TermsOf implements store.Queries.
func (s *Store) TermsOf(ctx context.Context, key wamble.PublicKey) ([]wamble.Acceptance, error) {
	ask := schema.TermsOf(key)
	return readAll(ctx, s, "read acceptances", ask.Text, ask.Args, schema.ScanAcceptance)
}

// MergedKeys implements store.Queries.
func (s *Store) MergedKeys(ctx context.Context, key wamble.PublicKey) ([]wamble.PublicKey, error) {
	ask := schema.MergedKeysOf(key)
	return readAll(ctx, s, "read merged keys", ask.Text, ask.Args, schema.ScanKey)
}

// FormerNames implements store.Queries.
func (s *Store) FormerNames(ctx context.Context, key wamble.PublicKey) ([]wamble.FormerName, error) {
	ask := schema.FormerNamesOf(key)
	return readAll(ctx, s, "read former names", ask.Text, ask.Args, schema.ScanFormerName)
}
