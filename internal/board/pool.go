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
	// ErrUnknownBoard is returned when no board of the pool has that number.
	ErrUnknownBoard = errors.New("unknown board")
	// ErrNoBoard is returned when every board is held, and the pool is as large as
	// it may be.
	ErrNoBoard = errors.New("no board available for assignment")
	// ErrNoID is returned when a board is wanted and no number is left for it.
	ErrNoID = errors.New("no number is left for a new board")
	// ErrSession is returned for a number that no session can have.
	ErrSession = errors.New("a session has a number from 1 to 68719476735")
)

// NewID hands out the number of a new board, each only once; false when none
// is left for now.
type NewID func() (wamble.BoardID, bool)

// Pool is all boards of a profile that are not archived. It belongs to one
// goroutine.
type Pool struct {
	opts    Options
	newID   NewID
	drawn   []wamble.BoardID // of boards that were offered, and are not made yet
	turn    int              // in drawn, of the last offer
	rng     *rand.Rand
	now     int64
	boards  map[wamble.BoardID]*Board
	holders map[wamble.SessionID]*Board
	former  map[wamble.SessionID]*Board // free boards, by who gets them back
	gone    int                         // how many holders are not here
	// places are the boards in play; those that are free are places[:free].
	places    []place
	free      int
	asleep    sleepers // the free boards that are not in play
	active    int      // how many boards are ACTIVE; free ones that are not are DORMANT
	deadlines alarms
	shares    share.Table[Board]
	finished  recent
	over      []*Board // restored, and to be ended by EndOver
	intents   intents
	sample    sample
	observer  func(*Board) // nil: none
	shelf     *shelf       // boards that sleep, and are not read yet; nil: none
	torn      bool         // the shelf was damaged, which nobody was told
	rest      bool         // it was loaded of a snapshot without what belongs on the shelf
	ahead     *Ahead       // what is written for the next image; nil: nothing
}

// place is a board in the index, with a copy of what its weight depends on, so
// that weighing a board does not touch the board.
type place struct {
	board *Board
	since int64 // Board.since; if it was offered, until when it is kept for somebody
	tag   tag
}

// isOffered reports whether the board was offered to somebody a moment ago.
func (at *place) isOffered(now int64) bool { return at.tag&offered != 0 && at.since > now }

// New returns an empty pool. Grow it, or Restore boards into it.
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

// Reconfigure changes the options. Boards that are late by the new timeouts
// are released by the next Due.
func (p *Pool) Reconfigure(opts Options) {
	p.opts = opts
	for b := range p.All() {
		if at, ok := p.deadline(b); ok {
			p.deadlines.sooner(b, at)
		}
	}
}

// Observe lets f see every board that changes, as it is afterwards, until Observe
// is called with nil. F must not change the pool.
func (p *Pool) Observe(f func(*Board)) { p.observer = f }

// tick returns now in microseconds; it never goes back.
func (p *Pool) tick(now time.Time) int64 {
	p.now = max(p.now, micros(now))
	return p.now
}

// Len returns the number of boards, Free how many of them nobody holds, and Asleep
// how many of these are not dealt.
func (p *Pool) Len() int    { return len(p.places) + p.Asleep() }
func (p *Pool) Free() int   { return p.free + p.Asleep() }
func (p *Pool) Asleep() int { return len(p.asleep) + p.Shelved() }

// held returns how many boards have a holder, Here how many holders are here.
func (p *Pool) held() int { return len(p.places) - p.free }
func (p *Pool) Here() int { return p.held() - p.gone }

// Census counts the boards by status. Archived ones are not in the pool.
func (p *Pool) Census() (boards [wamble.Archived]int) {
	boards[wamble.Active] = p.active
	if p.shelf != nil {
		boards[wamble.Active] += p.shelf.active
	}
	boards[wamble.Dormant] = p.Free() - boards[wamble.Active]
	boards[wamble.Reserved] = p.held()
	return boards
}

// Board returns a board by its number, nil if it is not in the pool.
func (p *Pool) Board(id wamble.BoardID) *Board {
	b := p.boards[id]
	if b == nil && p.shelf != nil {
		b = p.shelf.look(id)
	}
	return b
}

// Held returns the board that a session holds, or nil.
func (p *Pool) Held(s wamble.SessionID) *Board { return p.holders[s] }

// All yields every board, in no particular but always the same order, but for those on
// the shelf: whoever observes the pool sees them when they are taken from there. The
// pool must not be changed meanwhile.
func (p *Pool) All() iter.Seq[*Board] {
	return func(yield func(*Board) bool) {
		for i := range p.places {
			if !yield(p.places[i].board) {
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
	b.place = int32(len(p.places))
	p.places = append(p.places, place{board: b})
}

// setFree puts a board in play among the free ones.
func (p *Pool) setFree(b *Board) {
	p.swap(int(b.place), p.free)
	p.places[p.free] = place{b, b.since(), tagOf(b)}
	p.free++
	if b.status == wamble.Active {
		p.active++
	}
}

// setHeld takes a board from among the free ones. It does not change its status.
func (p *Pool) setHeld(b *Board) {
	p.unwrite(b)
	if b.status == wamble.Active {
		p.active--
	}
	p.free--
	p.swap(int(b.place), p.free)
}

// isFree reports whether the index has b among the free ones in play.
func (p *Pool) isFree(b *Board) bool { return !b.asleep && int(b.place) < p.free }

func (p *Pool) swap(i, j int) {
	if i != j {
		p.places[i], p.places[j] = p.places[j], p.places[i]
		p.places[i].board.place, p.places[j].board.place = int32(i), int32(j)
	}
}

// exit takes a board that is not free out of play.
func (p *Pool) exit(b *Board) {
	last := len(p.places) - 1
	p.swap(int(b.place), last)
	p.places[last] = place{}
	p.places = p.places[:last]
}

// remove takes a board that is in play and not free out of the pool.
func (p *Pool) remove(b *Board) {
	p.exit(b)
	p.deadlines.remove(b)
	p.forgetFormer(b)
	delete(p.boards, b.id)
}
