package board

import (
	"cmp"
	"encoding/binary"
	"math"
	"slices"
	"sort"

	"wamble"
	"wamble/internal/pack"
)

// Most boards of a large profile are free, and change only when they are assigned. In a handoff an Ahead
// writes them while players are still served, and the next process serves players before it has read them:
// they are deferred, as if they slept, and are read some at a time, or when they are needed.
//
//	a := p.BeginAhead(keep)             on the goroutine of the pool, as the next lines
//	a.Sort()                            on any goroutine
//	p.WriteAhead(a, dst, n), repeated
//	p.Snapshot(dst), p.Outdated()          without what a has
//	a.End(dst)                          on any goroutine
//
// The bytes of deferred boards are, in little endian:
//
//	magic
//	the boards as in a snapshot, in the order in which they wake
//	for every board, by its number: number 8, where it begins 4
//	number of boards that are ACTIVE 4, number of boards 4
const (
	deferredMagic = "wamble shelf 1\n"
	deferredEntry = 12
)

// Ahead is free boards that are written before a snapshot is taken.
type Ahead struct {
	list     []sleeper
	at       int // index in list
	size     int // of the written boards, in bytes
	active   int // how many of them are ACTIVE
	index    []entry
	outdated []wamble.BoardID // have changed since they were written
}

// entry is where a board begins.
type entry struct {
	id wamble.BoardID
	at uint32
}

// BeginAhead begins to write the free boards except keep that are in play, which the next process can assign
// at once. It lasts until EndAhead.
func (p *Pool) BeginAhead(keep int) *Ahead {
	p.EndAhead()
	play := p.inPlay[min(keep, p.free):p.free]
	p.ahead = &Ahead{list: make([]sleeper, 0, len(play)+len(p.asleep))}
	for i := range play {
		p.ahead.list = append(p.ahead.list, sleeper{board: play[i].board, plies: math.MaxInt32})
	}
	p.ahead.list = append(p.ahead.list, p.asleep...)
	return p.ahead
}

// EndAhead drops what was written.
func (p *Pool) EndAhead() {
	if p.ahead == nil {
		return
	}
	p.ahead = nil
	for i := range p.inPlay {
		p.inPlay[i].tag &^= written
	}
	for i := range p.asleep {
		p.asleep[i].written = false
	}
}

// unwrite records that a free board that was written is about to change.
func (p *Pool) unwrite(b *Board) {
	switch {
	case p.ahead == nil:
		return
	case b.asleep && p.asleep[b.index].written:
		p.asleep[b.index].written = false
	case !b.asleep && p.inPlay[b.index].tag&written != 0:
		p.inPlay[b.index].tag &^= written
	default:
		return
	}
	p.ahead.outdated = append(p.ahead.outdated, b.id)
}

// Sort sorts the boards into the order in which they wake. The pool may be used meanwhile.
func (a *Ahead) Sort() {
	slices.SortFunc(a.list, func(x, y sleeper) int {
		return cmp.Or(cmp.Compare(y.plies, x.plies), cmp.Compare(x.board.id, y.board.id))
	})
}

// Ahead reports whether snapshots leave out what was written ahead.
func (p *Pool) Ahead() bool { return p.ahead != nil }

// WriteAhead writes at most n more boards, and reports whether there are others.
func (p *Pool) WriteAhead(a *Ahead, dst []byte, n int) ([]byte, bool) {
	if p.ahead != a {
		return dst, false // a belongs to an earlier BeginAhead
	}
	if a.size == 0 && a.at == 0 {
		dst = append(dst, deferredMagic...)
	}
	for end := min(a.at+n, len(a.list)); a.at < end; a.at++ {
		b := a.list[a.at].board
		if b.status == wamble.Archived || b.former != 0 || !b.asleep && !p.isFree(b) {
			continue
		}
		if b.status == wamble.Active {
			a.active++
		}
		a.index = append(a.index, entry{b.id, uint32(a.size)})
		before := len(dst)
		dst = b.snapshot(dst)
		a.size += len(dst) - before
		if b.asleep {
			p.asleep[b.index].written = true
		} else {
			p.inPlay[b.index].tag |= written
		}
	}
	return dst, a.at < len(a.list)
}

// Outdated returns the boards that have changed since they were written. A snapshot has those that are still
// in the pool.
func (p *Pool) Outdated() []wamble.BoardID {
	if p.ahead == nil {
		return nil
	}
	return p.ahead.outdated
}

// End writes what follows the boards.
func (a *Ahead) End(dst []byte) []byte {
	slices.SortFunc(a.index, func(x, y entry) int { return cmp.Compare(x.id, y.id) })
	w := binary.LittleEndian
	for _, e := range a.index {
		dst = w.AppendUint32(w.AppendUint64(dst, uint64(e.id)), e.at)
	}
	return w.AppendUint32(w.AppendUint32(dst, uint32(a.active)), uint32(len(a.index)))
}

// deferredBoards is free boards in the form of bytes.
type deferredBoards struct {
	boards []byte
	index  []byte
	next   int // where the first board begins that was not taken in its turn
	left   int
	active int                     // how many of them are ACTIVE
	gone   map[wamble.BoardID]bool // taken before their turn
	r      reader
}

// LoadDeferred gives the pool the boards of an Ahead of another pool, except the outdated ones. The bytes are
// read until Deferred returns 0. Errors: ErrState.
func (p *Pool) LoadDeferred(state []byte, outdated []wamble.BoardID) error {
	end := len(state) - 8
	if end < len(deferredMagic) || string(state[:len(deferredMagic)]) != deferredMagic || p.deferred != nil {
		return ErrState
	}
	active, n := int(binary.LittleEndian.Uint32(state[end:])), int(binary.LittleEndian.Uint32(state[end+4:]))
	body := state[len(deferredMagic):end]
	if n > len(body)/(deferredEntry+boardSize) {
		return ErrState
	}
	at := len(body) - n*deferredEntry
	s := &deferredBoards{boards: body[:at], index: body[at:], left: n, active: active, gone: map[wamble.BoardID]bool{}}
	for _, id := range slices.Sorted(slices.Values(outdated)) { // sorted, so that neighbours share cache lines
		b := s.peek(id)
		if b == nil {
			return ErrState
		}
		s.uncount(b)
		s.gone[id] = true
	}
	if s.left > 0 {
		p.deferred = s
	}
	return nil
}

// LacksDeferred reports whether the pool was loaded from a snapshot that left out what was written ahead.
func (p *Pool) LacksDeferred() bool { return p.lacksDeferred }

// Deferred returns how many boards are deferred.
func (p *Pool) Deferred() int {
	if p.deferred == nil {
		return 0
	}
	return p.deferred.left
}

// find returns where a board begins, if it is deferred.
func (s *deferredBoards) find(id wamble.BoardID) (at int, there bool) {
	number := func(i int) wamble.BoardID {
		return wamble.BoardID(binary.LittleEndian.Uint64(s.index[i*deferredEntry:]))
	}
	n := len(s.index) / deferredEntry
	i := sort.Search(n, func(i int) bool { return number(i) >= id })
	if i == n || number(i) != id || s.gone[id] {
		return 0, false
	}
	at = int(binary.LittleEndian.Uint32(s.index[i*deferredEntry+8:]))
	return at, at >= s.next && at < len(s.boards)
}

// peek returns a deferred board without taking it; nil if it is not deferred.
func (s *deferredBoards) peek(id wamble.BoardID) *Board {
	at, there := s.find(id)
	if !there {
		return nil
	}
	s.r.Reader = pack.NewReader(s.boards[at:]) // keeps the slabs: new ones for each board would be 16 KB
	b := s.r.board()
	if s.r.Bad() || b.id != id {
		return nil
	}
	b.asleep = true
	return b
}

// uncount subtracts a board that is not deferred any more from the counts.
func (s *deferredBoards) uncount(b *Board) {
	s.left--
	if b.status == wamble.Active {
		s.active--
	}
}

// fetch returns a board of the pool, which it reads if it is deferred; nil if the pool does not have it.
func (p *Pool) fetch(id wamble.BoardID) *Board {
	if b := p.boards[id]; b != nil || p.deferred == nil {
		return b
	}
	b := p.deferred.peek(id)
	if b == nil || !p.addDeferred(b) {
		return nil
	}
	p.deferred.gone[id] = true
	p.removeDeferred(b)
	return b
}

// ReadDeferred reads at most n deferred boards, in the order in which they wake. If their bytes are damaged, it
// returns ErrState once, and no board is deferred any more.
func (p *Pool) ReadDeferred(n int) error {
	p.readDeferred(n)
	if p.corrupt {
		p.corrupt = false
		return ErrState
	}
	return nil
}

func (p *Pool) readDeferred(n int) {
	for n > 0 && p.deferred != nil {
		s := p.deferred
		s.r.Reader = pack.NewReader(s.boards[s.next:])
		b := s.r.board()
		s.next = len(s.boards) - s.r.Remaining()
		switch {
		case s.r.Bad() || !s.gone[b.id] && !p.addDeferred(b):
			p.deferred, p.corrupt = nil, true
		case s.gone[b.id]:
			delete(s.gone, b.id)
		default:
			p.removeDeferred(b)
			n--
		}
	}
}

// removeDeferred uncounts a board that was read, and drops the bytes after the last one.
func (p *Pool) removeDeferred(b *Board) {
	if p.deferred.uncount(b); p.deferred.left == 0 {
		p.deferred = nil
	}
}

// addDeferred puts a board that was read to sleep, and reports false if its state is invalid.
func (p *Pool) addDeferred(b *Board) bool {
	if b.holder != 0 || p.boards[b.id] != nil {
		return false
	}
	b.asleep = false
	if !p.adopt(b, true, false) {
		return false
	}
	if p.observer != nil && b.Watchable() {
		p.observer(b)
	}
	return true
}

// first returns the board that wakes first; nil if none sleeps.
func (p *Pool) first() *Board {
	if p.readDeferred(1); len(p.asleep) == 0 {
		return nil
	}
	return p.asleep[0].board
}
