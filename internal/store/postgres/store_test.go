package postgres_test

import (
	"encoding/json"
	"errors"
	"slices"
	"testing"
	"time"

	"wamble"
	"wamble/internal/intent"
	"wamble/internal/prooftest"
	"wamble/internal/store"
	"wamble/internal/store/postgres"
	"wamble/internal/store/postgres/pgtest"
	"wamble/internal/store/storetest"
	"wamble/internal/watchtest"
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

// patient returns the options of a new database whose timeouts no busy machine reaches.
func patient(t testing.TB) postgres.Options {
	o := pgtest.Migrated(t)
	o.ConnectTimeout, o.PingTimeout, o.StatementTimeout = watchtest.Patience, watchtest.Patience, watchtest.Patience
	return o
}

func TestStore(t *testing.T) {
	storetest.Run(t, func(t *testing.T) store.Store { return open(t, patient(t)) })
}

// TestKill kills the writing process and finds every move once.
func TestKill(t *testing.T) {
	t.Parallel()
	o := patient(t)
	address, err := json.Marshal(o)
	if err != nil {
		t.Fatal(err)
	}
	storetest.Kill(t, open(t, o), string(address), prooftest.Part(100), prooftest.Random(t))
}

// TestOwners: one process at a time writes a profile.
func TestOwners(t *testing.T) {
	o := patient(t)
	storetest.Owners(t, func(t *testing.T) store.Store { return open(t, o) }, false)
}

// TestSnapshot: what is read in a snapshot is what the cursors say, also when a batch is
// applied meanwhile.
func TestSnapshot(t *testing.T) {
	t.Parallel()
	s := open(t, patient(t))
	b := store.Batch{Journal: store.JournalID{7}, Profile: "alpha"}
	create := func(id wamble.SessionID) {
		b.After, b.Through = b.Through, b.Through+1
		b.Intents = []intent.Intent{&intent.CreateSession{Session: id, Token: wamble.Token{byte(id)}.Hash(),
			At: time.Now()}}
		if err := s.Apply(t.Context(), b); err != nil {
			t.Fatal(err)
		}
	}
	create(1)
	at, err := s.Snapshot(t.Context(), func(q store.Queries) error {
		create(2)
		if _, err := q.SessionByID(t.Context(), 2); !errors.Is(err, store.ErrNotFound) {
			t.Errorf("what came later: %v", err)
		}
		_, err := q.Session(t.Context(), wamble.Token{1})
		return err
	})
	if want := []store.Cursor{{Journal: b.Journal, Profile: "alpha", Message: 1}}; err != nil ||
		!slices.Equal(at, want) {
		t.Errorf("got %v, %v, want %v", at, err, want)
	}
	for range 20 { // more than there are connections
		_, err := s.Snapshot(t.Context(), func(q store.Queries) error {
			_, err := q.SessionByID(t.Context(), 9)
			return err
		})
		if !errors.Is(err, store.ErrNotFound) {
			t.Fatalf("got %v, want that there is no such session", err)
		}
	}
}
