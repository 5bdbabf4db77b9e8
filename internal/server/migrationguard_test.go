package server

import (
	"context"
	"errors"
	"testing"

	"wamble/internal/store"
	"wamble/internal/store/schema"
)

// statusStore is a store that only returns the state of its schema.
type statusStore struct {
	Store
	wait   func(context.Context) error // before each read
	status schema.Status
}

func (s *statusStore) Guard(wait func(context.Context) error) { s.wait = wait }

func (s *statusStore) Status(context.Context) (schema.Status, error) { return s.status, nil }

func (s *statusStore) Cursor(context.Context, store.JournalID, string) (uint64, error) { return 7, nil }

// TestMigrationGuardStatus: a store with the newest schema can be asked as soon as that is
// known. One with an older or too new schema counts as away until a migration was tried.
func TestMigrationGuardStatus(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		status schema.Status
		opens  bool
	}{
		"the newest": {schema.Status{Version: 3, Latest: 3}, true},
		"older":      {schema.Status{Version: 2, Latest: 3, Pending: []string{"003"}}, false},
		"newer, by something that this program needs":  {schema.Status{Version: 4, Needs: 4, Latest: 3}, false},
		"newer, by something that it does not look at": {schema.Status{Version: 4, Needs: 3, Latest: 3}, true},
	} {
		t.Run(name, func(t *testing.T) {
			inner := &statusStore{status: tc.status}
			g := newMigrationGuard(inner)
			if _, err := g.Status(t.Context()); err != nil {
				t.Fatal(err)
			}
			ctx, cancel := context.WithCancel(t.Context())
			if !tc.opens {
				cancel()
			}
			defer cancel()
			if err := inner.wait(ctx); (err == nil) != tc.opens || err != nil && !errors.Is(err, store.ErrTransient) {
				t.Errorf("before a read: got %v", err)
			}
			at, err := g.Cursor(ctx, store.JournalID{}, "default")
			if opened := err == nil && at == 7; opened != tc.opens || err != nil &&
				!errors.Is(err, store.ErrTransient) {
				t.Errorf("got %d, %v", at, err)
			}
		})
	}
}
