package profile

import (
	"errors"
	"fmt"

	"wamble"
	"wamble/internal/board"
	"wamble/wire"
)

// hello greets a player: the one of the token, or a new one. A token that
// nobody knows is not adopted.
func (p *Profile) hello(r *request, out *Output) verdict {
	if v := r.h.ClientVersion(); v > wire.Version {
		reason := fmt.Sprintf("upgrade required (client=%d server=%d)", v, wire.Version)
		p.deny(r, &wamble.Denied{Code: wamble.UnsupportedVersion, Reason: reason, Blocking: true})
		return done
	}
	pl, fresh := r.player, false
	if pl == nil && !r.granted.IsZero() {
		pl = p.players.byToken[r.granted] // his answer got lost, and he asks again
	}
	if pl == nil {
		var denied *wamble.Denied
		if pl, denied = p.newPlayer(r.id); denied != nil {
			p.deny(r, denied)
			return done
		}
		fresh = true
	}
	b, taken, denied := p.seat(pl)
	if denied != nil {
		if fresh { // nobody was told of him
			p.draft.discard()
			p.players.forget(pl)
		}
		p.deny(r, denied)
		return done
	}
	p.stats.Hellos++
	if fresh {
		p.stats.NewPlayers++
	}
	p.answerHello(r, pl, b)
	p.sealFor(pl, out)
	p.lost(taken, out)
	return done
}

// seat makes sure that a player holds a board, and returns it, with what
// somebody else lost for it.
func (p *Profile) seat(pl *player) (*board.Board, board.Released, *wamble.Denied) {
	got, err := p.boards.Assign(p.clock.now, pl.wants(), &p.draft)
	switch {
	case errors.Is(err, board.ErrNoBoard):
		return nil, board.Released{}, errNoBoard
	case errors.Is(err, board.ErrNoID):
		return nil, board.Released{}, errNoID
	case err != nil:
		return nil, board.Released{}, &wamble.Denied{Code: wamble.Internal, Reason: err.Error()}
	}
	return got.Board, got.Taken, nil
}
