package server

import (
	"context"
	"errors"

	"wamble/internal/profile"
)

// archive ends the game of a board, in whichever profile has it.
func (s *Server) archive(ctx context.Context, o Order) (Obeyed, error) {
	if o.Board == 0 {
		return nil, errors.New("name a board by its number")
	}
	s.log.Info("the host ends a game", "board", o.Board)
	return s.each(o.Profile, func(k *keeper) (uint64, error) {
		before, after, err := k.Tell(ctx, &profile.Archive{Board: o.Board})
		return after.Archived - before.Archived, err
	})
}
