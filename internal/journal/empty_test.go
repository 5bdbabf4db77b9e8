package journal

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"testing/synctest"
	"time"
)

// TestEmptyThoughPaused: messages in a paused queue are brought to the store, and later ones
// are not.
func TestEmptyThoughPaused(t *testing.T) {
	db := &fakeStore{}
	r, d := openDrain(t, db)
	if err := r.PauseQueue(t.Context(), fmt.Sprint(d.Worker())); err != nil {
		t.Fatal(err)
	}
	post(t, r, d, move(1, 1))
	rounds := 0
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	err := d.DrainAll(ctx, func(int) {
		if rounds++; rounds == 1000 {
			cancel()
		}
	})
	if err != nil {
		t.Fatalf("after %d rounds: %v", rounds, err)
	}
	post(t, r, d, move(1, 2))
	if n, err := d.tick(t.Context()); n != 0 || err != nil || !d.IsPaused() {
		t.Errorf("got %d, %v, paused %v, want the pause to go on", n, err, d.IsPaused())
	}
	if want := []string{"move 1/1"}; !slices.Equal(db.applied, want) {
		t.Errorf("got %q, want %q", db.applied, want)
	}
}

// TestEmptyWaits: a drain that may take nothing, as during a handoff, sleeps until it may or
// its time ends.
func TestEmptyWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r, d := openDrain(t, &fakeStore{})
		post(t, r, d, move(1, 1))
		if err := r.Quiesce(t.Context()); err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
		defer cancel()
		rounds := 0
		err := d.DrainAll(ctx, func(int) {
			if rounds++; rounds == 1000 {
				cancel()
			}
		})
		if !errors.Is(err, context.DeadlineExceeded) || rounds > 20 {
			t.Errorf("got %v after %d rounds, want a few in ten seconds", err, rounds)
		}
	})
}
