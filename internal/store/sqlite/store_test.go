package sqlite_test

import (
	"path/filepath"
	"testing"

	"wamble/internal/store"
	"wamble/internal/store/sqlite"
	"wamble/internal/store/storetest"
)

// open returns a new, migrated store in a temporary folder.
func open(t testing.TB) *sqlite.Store {
	t.Helper()
	s, err := sqlite.Open(sqlite.Options{Path: filepath.Join(t.TempDir(), "it's 100% ours?#.db")})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	if err := s.Migrate(t.Context(), nil); err != nil {
		t.Fatal(err)
	}
	return s
}

func TestStore(t *testing.T) {
	storetest.Run(t, func(t *testing.T) store.Store { return open(t) })
}

// TestOwners: one process at a time writes a file.
func TestOwners(t *testing.T) {
	path := filepath.Join(t.TempDir(), "w.db")
	storetest.Owners(t, func(t *testing.T) store.Store { return at(t, path) }, true)
}
