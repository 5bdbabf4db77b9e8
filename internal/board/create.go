package board

import (
	"wamble"
	"wamble/chess"
	"wamble/internal/intent"
)

// create adds a new board, dormant and free. Errors: ErrNoBoard if the pool is full, ErrNoID.
func (p *Pool) create(at int64, out intent.Intents) (*Board, error) {
	if p.Len() >= p.opts.MaxBoards {
		return nil, ErrNoBoard
	}
	id, ok := p.newID()
	if n := len(p.drawn); !ok && n > 0 {
		id, ok = p.drawn[n-1], true
		p.drawn = p.drawn[:n-1]
	}
	if !ok {
		return nil, ErrNoID
	}
	return p.createAs(at, id, out), nil
}

// createAs adds a new board with a number.
func (p *Pool) createAs(at int64, id wamble.BoardID, out intent.Intents) *Board {
	b := p.blank(at, id)
	p.insert(b)
	p.setFree(b)
	p.intents.create = intent.CreateBoard{
		Board: b.id, FEN: p.FEN(b), Status: b.status, Variant: b.variant, At: timeOf(at),
	}
	out.Add(&p.intents.create)
	return b
}

// blank returns a new board that is not in the pool.
func (p *Pool) blank(at int64, id wamble.BoardID) *Board {
	b := &Board{id: id, status: wamble.Dormant, variant: p.opts.variantOf(id)}
	b.times.created = at
	b.position = startOf(b.variant)
	b.remember()
	return b
}

// startOf returns the start position of a game; variant is 0 to 959, or less for classical chess.
func startOf(variant int16) chess.Position {
	if p, err := chess.Chess960(int(variant)); err == nil {
		return p
	}
	return chess.Start()
}
