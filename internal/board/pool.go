package board

import (
	"errors"
	"iter"
	"math/rand/v2"
	"time"

	"wamble"
	"wamble/internal/share"
)

var (
	// ErrUnknownBoard is returned if no board of the pool has the number.
	ErrUnknownBoard = errors.New("unknown board")
	// ErrNoBoard is returned if every board is held and the pool has MaxBoards.
	ErrNoBoard = errors.New("no board available for assignment")
	// ErrNoID is returned if a board is needed and no number is left for it.
	ErrNoID = errors.New("no number is left for a new board")
	// ErrSession is returned for a number that no session can have.
	ErrSession = errors.New("a session has a number from 1 to 68719476735")
)

// NewID returns the number of a new board, each once; false if none is left for now.
type NewID func() (wamble.BoardID, bool)

// Pool is all boards of a profile that are not archived. It is used by one goroutine.
type Pool struct {
	opts      Options
	newID     NewID
	drawn     []wamble.BoardID // offered, and not made yet
	turn      int              // index in drawn of the last offer
	rng       *rand.Rand
	now       int64
	boards    map[wamble.BoardID]*Board
	holders   map[wamble.SessionID]*Board
	former    map[wamble.SessionID]*Board // free boards, by the session that gets them back
	awayCount int                         // holders who are not here
	// inPlay are the boards in play; inPlay[:free] are the free ones.
	inPlay    []candidate
	free      int
	asleep    sleepers // free boards that are not in play
	active    int      // ACTIVE boards; the other free ones are DORMANT
	deadlines alarms
	shares    share.Table[Board]
	finished  recent
	over      []*Board // restored, and to be ended by EndOver
	intents   intents
	sample    sample
	observer  func(*Board) // nil: none
}

// candidate is a board in the index, with a copy of what its weight depends on, so that weighing a board does
// not touch it.
type candidate struct {
	board *Board
	since int64 // Board.since; for an offered board, the end of offerTime
	tag   tag
}

// isOffered reports whether the board was offered within offerTime.
func (at *candidate) isOffered(now int64) bool { return at.tag&offered != 0 && at.since > now }

// New returns an empty pool. Balance or Restore adds boards.
func New(opts Options, newID NewID, rng *rand.Rand) *Pool {
	return &Pool{
		opts: opts, newID: newID, rng: rng,
		boards:  map[wamble.BoardID]*Board{},
		holders: map[wamble.SessionID]*Board{},
		former:  map[wamble.SessionID]*Board{},
	}
}

// Options returns the pool's options.
func (p *Pool) Options() *Options { return &p.opts }

// Reconfigure changes the options. Boards that are late by the new timeouts are released by the next Due.
func (p *Pool) Reconfigure(opts Options) {
	p.opts = opts
	for b := range p.All() {
		if at, ok := p.deadline(b); ok {
			p.deadlines.sooner(b, at)
		}
	}
}

// Observe makes the pool call f with every board after it has changed, until Observe is called with nil. F
// must not change the pool.
func (p *Pool) Observe(f func(*Board)) { p.observer = f }

// tick returns now in microseconds; it never goes back.
func (p *Pool) tick(now time.Time) int64 {
	p.now = max(p.now, micros(now))
	return p.now
}

// Len returns the number of boards, Free how many of them are free, and Asleep how many of these are not
// assigned.
func (p *Pool) Len() int    { return len(p.inPlay) + p.Asleep() }
func (p *Pool) Free() int   { return p.free + p.Asleep() }
func (p *Pool) Asleep() int { return len(p.asleep) }

// heldCount returns how many boards have a holder, Here how many holders are here.
func (p *Pool) heldCount() int { return len(p.inPlay) - p.free }
func (p *Pool) Here() int      { return p.heldCount() - p.awayCount }

// Census counts the boards by status. Archived ones are not in the pool.
func (p *Pool) Census() (boards [wamble.Archived]int) {
	boards[wamble.Active] = p.active
	boards[wamble.Dormant] = p.Free() - boards[wamble.Active]
	boards[wamble.Reserved] = p.heldCount()
	return boards
}

// Board returns a board by its number, nil if it is not in the pool.
func (p *Pool) Board(id wamble.BoardID) *Board { return p.boards[id] }

// Held returns the board that a session holds, or nil.
func (p *Pool) Held(s wamble.SessionID) *Board { return p.holders[s] }

// All yields every board, in a deterministic order. The pool must not be changed meanwhile.
func (p *Pool) All() iter.Seq[*Board] {
	return func(yield func(*Board) bool) {
		for i := range p.inPlay {
			if !yield(p.inPlay[i].board) {
				return
			}
		}
		for i := range p.asleep {
			if !yield(p.asleep[i].board) {
				return
			}
		}
	}
}

// insert adds a board, in play and not free.
func (p *Pool) insert(b *Board) {
	b.alarm.slot = none
	p.boards[b.id] = b
	p.enter(b)
}

// enter brings a board into play, not free.
func (p *Pool) enter(b *Board) {
	b.index = int32(len(p.inPlay))
	p.inPlay = append(p.inPlay, candidate{board: b})
}

// setFree moves a board in play to the free ones.
func (p *Pool) setFree(b *Board) {
	p.swap(int(b.index), p.free)
	p.inPlay[p.free] = candidate{b, b.since(), tagOf(b)}
	p.free++
	if b.status == wamble.Active {
		p.active++
	}
}

// setHeld removes a board from the free ones. It does not change its status.
func (p *Pool) setHeld(b *Board) {
	if b.status == wamble.Active {
		p.active--
	}
	p.free--
	p.swap(int(b.index), p.free)
}

// isFree reports whether b is among the free boards in play.
func (p *Pool) isFree(b *Board) bool { return !b.asleep && int(b.index) < p.free }

func (p *Pool) swap(i, j int) {
	if i != j {
		p.inPlay[i], p.inPlay[j] = p.inPlay[j], p.inPlay[i]
		p.inPlay[i].board.index, p.inPlay[j].board.index = int32(i), int32(j)
	}
}

// exit takes a board that is not free out of play.
func (p *Pool) exit(b *Board) {
	last := len(p.inPlay) - 1
	p.swap(int(b.index), last)
	p.inPlay[last] = candidate{}
	p.inPlay = p.inPlay[:last]
}

// remove removes a board that is in play and not free from the pool.
func (p *Pool) remove(b *Board) {
	p.exit(b)
	p.deadlines.remove(b)
	p.forgetFormer(b)
	delete(p.boards, b.id)
}
