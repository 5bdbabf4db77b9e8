package board

import (
	"iter"
	"maps"
	"time"

	"wamble"
	"wamble/internal/intent"
	"wamble/internal/pack"
)

// Walk yields every board, those that EndOver will end, and those that were finished last, in no order. The pool may change while the
// walk rests; a board that stays in it is yielded once.
func (p *Pool) Walk() iter.Seq[*Board] { return p.walk(maps.Values(p.boards)) }

// WalkInOrder is Walk with the boards in the order of All. The pool must not be changed meanwhile.
func (p *Pool) WalkInOrder() iter.Seq[*Board] { return p.walk(p.All()) }

func (p *Pool) walk(boards iter.Seq[*Board]) iter.Seq[*Board] {
	return func(yield func(*Board) bool) {
		for _, all := range []iter.Seq[*Board]{boards, p.EachOver()} {
			for b := range all {
				if !yield(b) {
					return
				}
			}
		}
		for _, b := range p.finished.byID {
			if b.status == wamble.Archived && !yield(b) { // not a board that was sent
				return
			}
		}
	}
}

// Resumption restores the boards of an earlier process into an empty pool, from states of different moments
// and the journal's tail.
type Resumption struct {
	p     *Pool
	order []*Board
	// lastSeqs are the last messages that the slices include. Until End the place of a board is the index of
	// its slice; 0 for boards without one.
	lastSeqs []uint64
	// recent are the two boards that were looked up last: a move concerns two.
	recent [2]*Board
	// HandedOver says that the states are those of WalkInOrder in a process that has ended, and that the
	// players go on: holders are here as before, and the same boards are in play. It is set before Load.
	HandedOver bool
}

// Resume begins to restore boards. The pool must be empty.
func (p *Pool) Resume() *Resumption { return &Resumption{p: p, lastSeqs: []uint64{0}} }

// maxExpected bounds the boards for which memory is allocated in advance.
const maxExpected = 1 << 22

// Expect allocates memory for about n boards.
func (r *Resumption) Expect(n uint64) {
	if n = min(n, maxExpected); len(r.order) == 0 {
		r.p.boards = make(map[wamble.BoardID]*Board, n)
		r.order = make([]*Board, 0, n)
	}
}

// Load takes in the states of boards, which include all messages of the journal up to mark. Later is added
// to their times. Errors: ErrState.
func (r *Resumption) Load(state []byte, lastSeq uint64, later time.Duration) error {
	in := &reader{Reader: pack.NewReader(state)}
	r.lastSeqs = append(r.lastSeqs, lastSeq)
	for in.Remaining() > 0 {
		b := in.board()
		if in.Bad() {
			return ErrState
		}
		if err := r.fits(b); err != nil {
			return err
		}
		if old := r.p.boards[b.id]; old != nil {
			if b.status == wamble.Archived {
				continue // it was finished during the walk; the journal has that
			}
			if int(old.index) == len(r.lastSeqs)-1 {
				return ErrState
			}
			r.drop(old) // it was sent away and came back
		}
		for _, at := range b.times.all() {
			if *at != 0 {
				*at += later.Microseconds()
			}
		}
		r.add(b, len(r.lastSeqs)-1)
	}
	return nil
}

// fits checks a board that was read, and prepares it for End. Errors: ErrState.
func (r *Resumption) fits(b *Board) error {
	held := b.status == wamble.Reserved
	switch {
	case b.id == 0, b.status > wamble.Archived, b.variant < -1, b.variant > 959, len(b.plies) > b.position.Ply():
		return ErrState
	case held && b.holder == 0, b.holder < 0, b.holder > maxSession:
		return ErrState
	case r.HandedOver:
		return nil
	}
	b.identity, b.holderAway, b.reach, b.asleep = false, false, Datagram, false // see End
	if !held {
		b.holder = 0 // claims of former holders end
	}
	return nil
}

func (r *Resumption) add(b *Board, slice int) {
	b.index = int32(slice)
	r.p.boards[b.id] = b
	r.order = append(r.order, b)
}

// CreateBoard replays a new board.
func (r *Resumption) CreateBoard(_ uint64, in *intent.CreateBoard) {
	if r.p.boards[in.Board] != nil {
		return
	}
	b := &Board{id: in.Board, status: in.Status, variant: in.Variant, position: startOf(in.Variant)}
	b.times.created = micros(in.At)
	b.remember()
	r.add(b, 0)
}

// board returns a board that does not include message seq yet, otherwise nil.
func (r *Resumption) board(id wamble.BoardID, seq uint64) *Board {
	b := r.find(id)
	if b != nil && r.lastSeqs[b.index] < seq {
		return b
	}
	return nil
}

// Variant returns the variant of a board, -1 if unknown.
func (r *Resumption) Variant(id wamble.BoardID) int16 {
	if b := r.find(id); b != nil {
		return b.variant
	}
	return -1
}

func (r *Resumption) find(id wamble.BoardID) *Board {
	for i, b := range r.recent {
		if b != nil && b.id == id {
			r.recent[0], r.recent[i] = b, r.recent[0]
			return b
		}
	}
	b := r.p.boards[id]
	if b != nil {
		r.recent[0], r.recent[1] = b, r.recent[0]
	}
	return b
}

// RecordMove replays a move.
func (r *Resumption) RecordMove(seq uint64, in *intent.RecordMove) {
	b := r.board(in.Board, seq)
	if b == nil || in.Ply != b.position.Ply()+1 || in.Session <= 0 || in.Session > maxSession {
		return
	}
	m, err := b.position.ParseUCI(in.UCI)
	if err != nil {
		return
	}
	b.times.moved = micros(in.At)
	b.add(b.times.moved, mover{session: in.Session, strength: strength(in.Strength)}, m)
}

// UpdateBoard replays a change of a board's status.
func (r *Resumption) UpdateBoard(seq uint64, in *intent.UpdateBoard) {
	if b := r.board(in.Board, seq); b != nil && in.Version > b.version {
		b.version, b.status = in.Version, in.Status
	}
}

// UpdateBoardAssignmentTime replays an assignment.
func (r *Resumption) UpdateBoardAssignmentTime(seq uint64, in *intent.UpdateBoardAssignmentTime) {
	if b := r.board(in.Board, seq); b != nil {
		b.times.assigned = micros(in.At)
	}
}

// CreateReservation replays a reservation.
func (r *Resumption) CreateReservation(seq uint64, in *intent.CreateReservation) {
	if b := r.board(in.Board, seq); b != nil && in.Session > 0 && in.Session <= maxSession {
		b.holder, b.times.reserved = in.Session, micros(in.At)
	}
}

// RemoveReservation replays the end of a reservation.
func (r *Resumption) RemoveReservation(seq uint64, in *intent.RemoveReservation) {
	if b := r.board(in.Board, seq); b != nil {
		b.holder, b.times.reserved, b.times.lastSeen = 0, 0, 0
	}
}

// Holds returns the sessions that hold a board after the last message.
func (r *Resumption) Holds() map[wamble.SessionID]bool {
	holds := map[wamble.SessionID]bool{}
	for _, b := range r.order {
		if b.status == wamble.Reserved {
			holds[b.holder] = true
		}
	}
	return holds
}

// Newest returns when the latest reservation began.
func (r *Resumption) Newest() time.Time {
	newest := int64(0)
	for _, b := range r.order {
		newest = max(newest, b.times.reserved)
	}
	return orZero(newest)
}

// End puts the boards into the pool, as Restore does. Identity reports whether a session has an identity.
func (r *Resumption) End(now time.Time, identity func(wamble.SessionID) bool, out intent.Intents) {
	p, t := r.p, r.p.tick(now)
	p.asleep = make(sleepers, 0, len(r.order))
	for _, b := range r.order {
		asleep := b.asleep
		b.asleep = false
		if b.status == sentAway {
			b.status = wamble.Dormant
			p.finished.add(b)
			continue
		}
		if b.status == wamble.Archived {
			delete(p.boards, b.id)
			b.holder = 0
			p.finished.add(b)
			continue
		}
		// A holder whose board is above a lower limit of moves keeps it for their move, as when the limit changes
		// in a process.
		if p.ending(b) != nil && !(r.HandedOver && b.status == wamble.Reserved) {
			delete(p.boards, b.id)
			b.status, b.holder = wamble.Dormant, 0
			p.over = append(p.over, b)
			continue
		}
		reserved := b.status == wamble.Reserved
		if r.HandedOver && p.holders[b.holder] == nil && p.former[b.holder] == nil {
			p.handOver(b, asleep)
			continue
		}
		b.times.reserved = min(b.times.reserved, t) // the wall clock may have been set back
		if b.times.lastSeen = t; reserved && b.holder != 0 && p.holders[b.holder] == nil &&
			b.times.reserved+p.opts.Reservation.Microseconds() > t {
			p.insert(b)
			p.setHolder(b, b.holder, identity(b.holder))
			p.setHolderAway(b, true) // no holder could be heard while the server was down
			p.setAlarm(b)
			continue
		}
		b.holder, b.times.reserved, b.times.lastSeen = 0, 0, 0
		if reserved {
			b.status = wamble.Dormant
		}
		p.putToSleep(b)
		if reserved {
			p.update(t, b, out)
			p.removeReservation(t, b, out)
		}
		if at, ok := p.deadline(b); ok {
			p.deadlines.sooner(b, at)
		}
	}
}

// handOver puts a board into the pool as it was in the process that has ended.
func (p *Pool) handOver(b *Board, asleep bool) {
	if b.status == wamble.Reserved {
		p.insert(b)
		p.setHolder(b, b.holder, b.identity)
		if b.holderAway {
			p.awayCount++
		}
		p.setAlarm(b)
		return
	}
	b.identity, b.holderAway, b.reach = false, false, Datagram
	if b.holder != 0 {
		b.former, b.holder = b.holder, 0
		p.former[b.former] = b
	}
	if asleep {
		p.putToSleep(b)
	} else {
		p.insert(b)
		p.setFree(b)
	}
	if at, ok := p.deadline(b); ok {
		p.deadlines.sooner(b, at)
	}
}

// EachOver yields the boards that EndOver will end.
func (p *Pool) EachOver() iter.Seq[*Board] {
	return func(yield func(*Board) bool) {
		for _, b := range p.over {
			if !yield(b) {
				return
			}
		}
	}
}
