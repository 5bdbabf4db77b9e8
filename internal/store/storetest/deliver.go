package storetest

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"wamble/internal/intent"
	"wamble/internal/store"

	"wamble"
)

// Deliver applies a batch as the drain does: after a transient error it reads the cursor and,
// unless the batch was applied, tries again. It returns the number of failures.
func Deliver(ctx context.Context, s store.Store, b store.Batch) (failures int, err error) {
	for {
		err := s.Apply(ctx, b)
		var moved *store.CursorMoved
		switch {
		case err == nil:
			return failures, nil
		case errors.As(err, &moved) && moved.At == b.Through:
			return failures, nil
		case !errors.Is(err, store.ErrTransient) || ctx.Err() != nil:
			return failures, err
		}
		failures++
		at, err := s.Cursor(ctx, b.Journal, b.Profile)
		for errors.Is(err, store.ErrTransient) && ctx.Err() == nil {
			select { // back-off
			case <-time.After(5 * time.Millisecond):
			case <-ctx.Done():
			}
			at, err = s.Cursor(ctx, b.Journal, b.Profile)
		}
		if err != nil {
			return failures, err
		}
		if at == b.Through {
			return failures, nil
		}
		if at != b.After {
			return failures, fmt.Errorf("the cursor stands at %d, neither at %d nor at %d", at, b.After, b.Through)
		}
	}
}

// Holds checks that a store has exactly the moves of these batches of Traffic, in order, each
// once.
func Holds(t *testing.T, s store.Store, batches []store.Batch) {
	t.Helper()
	want := map[wamble.BoardID][]wamble.Move{}
	moves := 0
	games := map[wamble.SessionID]int{}
	for _, b := range batches {
		for _, in := range b.Intents {
			if m, ok := in.(*intent.RecordMove); ok {
				want[m.Board] = append(want[m.Board],
					wamble.Move{Ply: m.Ply, UCI: m.UCI, Session: m.Session, At: m.At.Truncate(time.Microsecond)})
				moves++
				if m.First {
					games[m.Session]++
				}
			}
		}
	}
	w := newWorld(t, s)
	found := 0
	for _, b := range w.games(wamble.GameFilter{}) {
		found += len(b.Moves)
		if len(want[b.ID]) > 0 || len(b.Moves) > 0 {
			w.equal(fmt.Sprintf("moves of board %d", b.ID), b.Moves, want[b.ID])
		}
	}
	if found != moves {
		t.Errorf("moves: got %d, want %d", found, moves)
	}
	for id, n := range games {
		w.equal(fmt.Sprintf("games of session %d", id), w.session(id).Stats.Games, n)
	}
}
