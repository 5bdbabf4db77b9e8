package board

import (
	"errors"
	"time"

	"wamble"
	"wamble/internal/intent"
	"wamble/internal/pack"
)

// The shards of a profile have pools of their own, between which free boards move, so that players meet the
// boards of all shards. A board leaves its pool when it is sent. The store has all intents of its pool
// before the other pool reads it there.

// sentAway is the status of a board in a Resumption that was sent away.
const sentAway = wamble.Archived + 1

// SendTo sends the board that has waited longest, of a sample of the free ones, to another shard. Stays
// says which boards must not be sent. It returns nil if there is none.
func (p *Pool) SendTo(now time.Time, from, to int, stays func(*Board) bool, out intent.Intents) *Board {
	t := p.tick(now)
	var best *candidate
	for _, i := range p.sample.draw(p.rng, p.free) {
		at := &p.inPlay[i]
		if (best == nil || at.since < best.since) && !at.isOffered(t) && at.board.former == 0 && !stays(at.board) {
			best = at
		}
	}
	if best == nil {
		return nil
	}
	return p.send(t, best.board, from, to, out)
}

// SendAnyTo sends any free board to another shard. It returns nil if there is none that may be sent.
func (p *Pool) SendAnyTo(now time.Time, from, to int, stays func(*Board) bool, out intent.Intents) *Board {
	t := p.tick(now)
	for i := p.free - 1; i >= 0; i-- {
		if b := p.inPlay[i].board; !p.inPlay[i].isOffered(t) && b.former == 0 && !stays(b) {
			return p.send(t, b, from, to, out)
		}
	}
	for i := len(p.asleep) - 1; i >= 0; i-- {
		if b := p.asleep[i].board; b.former == 0 && !stays(b) {
			return p.send(t, b, from, to, out)
		}
	}
	return nil
}

// send removes a free board from the pool, which remembers it for a while like a finished one.
func (p *Pool) send(at int64, b *Board, from, to int, out intent.Intents) *Board {
	if b.asleep {
		p.wake(b)
	}
	p.setHeld(b)
	p.remove(b)
	p.finished.add(b)
	p.write(at, b, out)
	p.intents.send = intent.MoveBoard{Board: b.id, Version: b.version, From: from, To: to, At: p.intents.now.of(at)}
	out.Add(&p.intents.send)
	return b
}

// Receive takes in a stored board that was sent to this shard. Later is how far the wall clock is ahead. A
// board that is here already, or whose game is over, is only acknowledged; so is a damaged one, with an
// error.
func (p *Pool) Receive(now time.Time, stored *wamble.Board, shard int, later time.Duration, out intent.Intents) error {
	in := intent.ArriveBoard{Board: stored.ID, Shard: shard, Version: stored.Version, At: now}
	var err error
	if p.Board(stored.ID) == nil && stored.Status != wamble.Archived {
		err = p.Restore(now, stored, out)
		var damaged *Damaged
		if errors.As(err, &damaged) && len(stored.Moves) > 0 {
			bare := *stored
			bare.Moves = nil
			if bare := p.Restore(now, &bare, out); bare != nil {
				err = bare
			}
		}
	}
	if b := p.boards[stored.ID]; b != nil {
		if b.asleep && p.Here() > 0 {
			p.wake(b)
		}
		in.State = string(b.stateLater(later))
		if p.observer != nil {
			p.observer(b)
		}
	}
	out.Add(&in)
	return err
}

// stateLater returns the state of a board with its times moved by d.
func (b *Board) stateLater(d time.Duration) []byte {
	moved := *b
	for _, at := range moved.times.all() {
		if *at != 0 {
			*at += d.Microseconds()
		}
	}
	moved.asleep = false
	return moved.AppendState(nil)
}

func (t *times) all() [5]*int64 {
	return [...]*int64{&t.created, &t.assigned, &t.reserved, &t.lastSeen, &t.moved}
}

// ArriveBoard replays that a board was taken in.
func (r *Resumption) ArriveBoard(_ uint64, in *intent.ArriveBoard) {
	if r.p.boards[in.Board] != nil || in.State == "" {
		return
	}
	state := &reader{Reader: pack.NewReader([]byte(in.State))}
	b := state.board()
	if !state.Ended() || r.fits(b) != nil || b.id != in.Board || b.status > wamble.Dormant {
		return
	}
	r.add(b, 0)
}

// MoveBoard replays that a board was sent to another shard.
func (r *Resumption) MoveBoard(seq uint64, in *intent.MoveBoard) {
	if b := r.board(in.Board, seq); b != nil {
		r.drop(b)
	}
}

// drop removes a board that is not here any more.
func (r *Resumption) drop(b *Board) {
	delete(r.p.boards, b.id)
	b.status, b.holder = sentAway, 0
	r.recent = [2]*Board{}
}
