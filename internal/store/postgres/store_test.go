package postgres_test

import (
	"encoding/json"
	"testing"

	"wamble/internal/prooftest"
	"wamble/internal/store"
	"wamble/internal/store/postgres"
	"wamble/internal/store/postgres/pgtest"
	"wamble/internal/store/storetest"
)

func TestMain(m *testing.M) {
	storetest.Writer(func(address string) (store.Store, error) {
		var o postgres.Options
		if err := json.Unmarshal([]byte(address), &o); err != nil {
			return nil, err
		}
		return postgres.Open(o)
	})
	pgtest.Main(m)
}

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
	storetest.Run(t, func(t *testing.T) store.Store { return open(t, pgtest.Migrated(t)) })
}

// TestKill kills the writing process and finds every move once.
func TestKill(t *testing.T) {
	t.Parallel()
	o := pgtest.Migrated(t)
	address, err := json.Marshal(o)
	if err != nil {
		t.Fatal(err)
	}
	storetest.Kill(t, open(t, o), string(address), prooftest.Part(100), prooftest.Random(t))
}

// TestOwners: one process at a time writes a profile.
func TestOwners(t *testing.T) {
	o := pgtest.Migrated(t)
	storetest.Owners(t, func(t *testing.T) store.Store { return open(t, o) }, false)
}
