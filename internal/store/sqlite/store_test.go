package sqlite_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"sync"
	"testing"

	"wamble/internal/store"
	"wamble/internal/store/sqlite"
	"wamble/internal/store/storetest"
)

// migrated is an empty database with the newest schema. Under the race detector its steps
// take seconds, and every test of a store wants one.
var migrated = sync.OnceValues(func() ([]byte, error) {
	dir, err := os.MkdirTemp("", "wamble-sqlite-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	path := filepath.Join(dir, "empty.db")
	s, err := sqlite.Open(sqlite.Options{Path: path})
	if err == nil {
		err = errors.Join(s.Migrate(context.Background(), nil), s.Close()) // the last connection leaves no WAL when it is closed
	}
	if err != nil {
		return nil, err
	}
	return os.ReadFile(path)
})

// open returns a new, migrated store in a temporary folder.
func open(t testing.TB) *sqlite.Store {
	t.Helper()
	path := filepath.Join(t.TempDir(), "it's 100% ours?#.db")
	empty, err := migrated()
	if err == nil {
		err = os.WriteFile(path, empty, 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
	s, err := sqlite.Open(sqlite.Options{Path: path})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	if err := s.Migrate(t.Context(), nil); err != nil { // there is nothing to do
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
