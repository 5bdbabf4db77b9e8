package server

import (
	"context"
	"time"

	"wamble"
)

// library is what readers read: the store, and for a board that is in memory
// what the profile knows, which is newer. Nothing undurable is shown.
type library struct {
	*Shared
	rt *runtime
}

// Board returns a board of the profile as it stands, or as the store has it. The
// store also knows the handles of players who are not in memory; while it is
// away they are missing.
func (l library) Board(ctx context.Context, id wamble.BoardID) (wamble.Board, error) {
	live, ok := l.rt.live(ctx, id)
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

// live returns a board that is in memory, when it may be shown; false if there
// is none, or it takes too long.
func (rt *runtime) live(ctx context.Context, id wamble.BoardID) (wamble.Board, bool) {
	loop := rt.loop.Load()
	if loop == nil {
		return wamble.Board{}, false
	}
	ctx, cancel := context.WithTimeout(ctx, lookTime)
	defer cancel()
	var b wamble.Board
	var gate uint64
	var life *life
	var known bool
	if !loop.do(ctx, func() {
		life = loop.life
		b, gate, known = life.profile.Peek(id)
	}) || !known {
		return wamble.Board{}, false
	}
	for pause := time.Millisecond; ; pause = min(2*pause, 16*time.Millisecond) {
		var same, durable bool
		if !loop.do(ctx, func() { same, durable = loop.life == life, life.profile.Durable() >= gate }) || !same {
			return wamble.Board{}, false
		}
		if durable {
			return b, true
		}
		wait(ctx, pause)
	}
}
