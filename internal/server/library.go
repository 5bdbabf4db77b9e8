package server

import (
	"context"

	"wamble/internal/loop"

	"wamble"
)

// library is what readers read: the store, and for a board that is in memory
// what the profile knows, which is newer. Nothing undurable is shown.
type library struct {
	*Shared
	rt *loop.Runtime
}

// Board returns a board of the profile as it stands, or as the store has it. The
// store also knows the handles of players who are not in memory; while it is
// away they are missing.
func (l library) Board(ctx context.Context, id wamble.BoardID) (wamble.Board, error) {
	live, ok := l.rt.Board(ctx, id)
	stored, err := l.Shared.Board(ctx, id)
	if !ok {
		return stored, err
	}
	handles := map[wamble.SessionID]string{}
	for _, m := range stored.Moves {
		handles[m.Session] = m.Handle
	}
	for i := range live.Moves {
		if m := &live.Moves[i]; m.Handle == "" {
			m.Handle = handles[m.Session]
		}
	}
	return live, nil
}
