package postgres_test

import (
	"testing"

	"wamble"
	"wamble/internal/postgres"
	"wamble/internal/postgres/pgtest"
	"wamble/internal/storetest"
)

func TestMain(m *testing.M) { pgtest.Main(m) }

// open returns a store that ends with the test.
func open(t testing.TB, o postgres.Options) *postgres.Store {
	t.Helper()
	s, err := postgres.Open(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	return s
}

func TestStore(t *testing.T) {
	storetest.Run(t, func(t *testing.T) wamble.Store { return open(t, pgtest.Migrated(t)) })
}
