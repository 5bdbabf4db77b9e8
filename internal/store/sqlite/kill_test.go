package sqlite_test

import (
	"path/filepath"
	"testing"

	"wamble/internal/prooftest"
	"wamble/internal/store"
	"wamble/internal/store/sqlite"
	"wamble/internal/store/storetest"
)

func TestMain(m *testing.M) {
	storetest.Writer(func(path string) (store.Store, error) { return sqlite.Open(sqlite.Options{Path: path}) })
	m.Run()
}

// TestKill kills the writing process and finds every move once.
func TestKill(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "w.db")
	s := at(t, path)
	if err := s.Migrate(t.Context(), nil); err != nil {
		t.Fatal(err)
	}
	storetest.Kill(t, s, path, prooftest.Part(100), prooftest.Random(t))
}
