package storetest

import (
	"context"
	"errors"
	"testing"
	"time"

	"wamble"
	"wamble/internal/intent"
	"wamble/internal/store"
)

// Owners tests which process may write a profile. Each call of open acts as another process on
// the same database. Locked says that the database detects by itself whether an owner is alive.
func Owners(t *testing.T, open func(t *testing.T) store.Store, locked bool) {
	t.Parallel()
	ctx := context.Background()
	first, second := open(t), open(t)
	since := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	alice := store.Owner{Journal: store.JournalID{1}, Host: "alice", PID: 11, Since: since}
	bob := store.Owner{Journal: store.JournalID{2}, Host: "bob", PID: 22, Since: since.Add(time.Minute)}
	own := func(s store.Store, o store.Owner, over int64) *store.Owned {
		t.Helper()
		err := s.Own(ctx, Profile, o, over)
		var owned *store.Owned
		if err != nil && !errors.As(err, &owned) {
			t.Fatal(err)
		}
		return owned
	}
	if err := own(first, alice, 0); err != nil {
		t.Fatalf("a profile that nobody owns: %v", err)
	}
	refused := own(second, bob, 0)
	if refused == nil || !refused.By.Same(alice) {
		t.Fatalf("a second server: got %v, want that alice is there", refused)
	}
	if err := errors.Join(first.Beat(ctx, Profile, alice), first.Own(ctx, Profile, alice, 0)); err != nil {
		t.Fatalf("the owner again: %v", err)
	}
	if locked {
		if err := first.Close(); err != nil {
			t.Fatal(err)
		}
		if err := own(second, bob, 0); err != nil {
			t.Errorf("the owner is gone: %v", err)
		}
		return
	}
	if again := own(second, bob, refused.Beat); again == nil || again.Beat == refused.Beat {
		t.Fatalf("an owner that was heard since: got %v, want a refusal with another beat", again)
	}
	batch := func(j store.JournalID, board wamble.BoardID) store.Batch {
		return store.Batch{Journal: j, Profile: Profile, Through: uint64(board),
			Intents: []intent.Intent{newBoard(board)}}
	}
	if err := first.Apply(ctx, batch(alice.Journal, 3)); err != nil {
		t.Fatalf("the owner writes: %v", err)
	}
	// A later process on the same journal, after a crash or a handoff.
	later := alice
	later.PID, later.Since = 12, since.Add(time.Hour)
	third := open(t)
	if err := own(third, later, 0); err != nil {
		t.Fatalf("a later process on the same journal: %v", err)
	}
	var owned *store.Owned
	if err := first.Beat(ctx, Profile, alice); !errors.As(err, &owned) || !owned.By.Same(later) {
		t.Errorf("a copy of the journal goes on: got %v, want that the later one is there", err)
	}
	if err := first.Apply(ctx, batch(alice.Journal, 4)); !errors.As(err, &owned) || !owned.By.Same(later) ||
		errors.Is(err, store.ErrTransient) {
		t.Errorf("who lost the profile writes: got %v, want *store.Owned", err)
	}
	// Without a heartbeat of the owner since: it counts as crashed.
	silent := own(second, bob, 0)
	if silent == nil {
		t.Fatal("the profile was taken from its owner at once")
	}
	if err := own(second, bob, silent.Beat); err != nil {
		t.Errorf("a silent owner: %v", err)
	}
	if err := third.Apply(ctx, batch(alice.Journal, 5)); !errors.As(err, &owned) || !owned.By.Same(bob) {
		t.Errorf("the silent owner writes after all: got %v, want *store.Owned", err)
	}
	if err := second.Disown(ctx, Profile, bob); err != nil {
		t.Fatal(err)
	}
	if err := third.Beat(ctx, Profile, later); !errors.As(err, &owned) || owned.By != (store.Owner{}) {
		t.Errorf("it was another's meanwhile: got %v, want *store.Owned by nobody", err)
	}
	if err := own(third, later, 0); err != nil {
		t.Errorf("a profile that was let go: %v", err)
	}
	if err := second.Own(ctx, "other", bob, 0); err != nil {
		t.Errorf("another profile: %v", err)
	}
}
