package board

import (
	"time"

	"wamble"
	"wamble/chess"
	"wamble/internal/intent"
)

// create adds a new board, dormant and free. It fails with ErrNoBoard when the
// pool is full, and with ErrNoID.
func (p *Pool) create(at int64, out intent.Intents) (*Board, error) {
	if len(p.places) >= p.opts.MaxBoards {
		return nil, ErrNoBoard
	}
	b, err := p.next(at)
	if err != nil {
		return nil, err
	}
	p.nextID = 0
	p.insert(b)
	p.setFree(b)
	p.intents.create = intent.CreateBoard{Board: b.id, FEN: p.FEN(b), Status: b.status, Variant: b.variant, At: timeOf(at)}
	out.Add(&p.intents.create)
	return b, nil
}

// next returns the board that create would add, which is not in the pool.
func (p *Pool) next(at int64) (*Board, error) {
	if p.nextID == 0 {
		id, ok := p.newID()
		if !ok {
			return nil, ErrNoID
		}
		p.nextID = id
	}
	b := &Board{id: p.nextID, status: wamble.Dormant, variant: p.opts.variantOf(p.nextID)}
	b.times.created = at
	b.position = startOf(b.variant)
	b.remember()
	return b, nil
}

// startOf returns the position in which a game starts; variant is 0 to 959, or
// less for classical chess.
func startOf(variant int16) chess.Position {
	if p, err := chess.Chess960(int(variant)); err == nil {
		return p
	}
	return chess.Start()
}

// Grow adds boards until there are as many as wanted (Options.Target), never
// past MaxBoards, and returns how many it added. It fails with ErrNoID.
func (p *Pool) Grow(now time.Time, wanted int, out intent.Intents) (int, error) {
	t := p.tick(now)
	added := 0
	for len(p.places) < min(wanted, p.opts.MaxBoards) {
		if _, err := p.create(t, out); err != nil {
			return added, err
		}
		added++
	}
	return added, nil
}
