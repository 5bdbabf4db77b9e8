package board

import (
	"errors"
	"time"

	"wamble"
	"wamble/internal/intent"
)

// Boards sleep when there are more than the players who are here can play on: they are kept, and not
// assigned. So a few games progress and end, instead of many that do not.

// sleeper is a sleeping board, with a copy of what its place in the heap depends on.
type sleeper struct {
	board *Board
	plies int32
}

// sleepers is a heap of the sleeping boards, the most advanced first. Ties are broken by the number of the
// board, so that the order is deterministic.
type sleepers []sleeper

func (s sleepers) less(i, j int) bool {
	return s[i].plies > s[j].plies || s[i].plies == s[j].plies && s[i].board.id < s[j].board.id
}

func (s sleepers) swap(i, j int) {
	s[i], s[j] = s[j], s[i]
	s[i].board.index, s[j].board.index = int32(i), int32(j)
}

func (s sleepers) up(i int) {
	for parent := (i - 1) / 2; i > 0 && s.less(i, parent); i, parent = parent, (parent-1)/2 {
		s.swap(i, parent)
	}
}

func (s sleepers) down(i int) {
	for child := 2*i + 1; child < len(s); child = 2*i + 1 {
		if child+1 < len(s) && s.less(child+1, child) {
			child++
		}
		if !s.less(child, i) {
			return
		}
		s.swap(i, child)
		i = child
	}
}

func (s *sleepers) add(b *Board) {
	b.asleep, b.index = true, int32(len(*s))
	*s = append(*s, sleeper{board: b, plies: int32(b.Plies())})
	s.up(int(b.index))
}

func (s *sleepers) remove(b *Board) {
	i, last := int(b.index), len(*s)-1
	if i != last {
		s.swap(i, last)
	}
	(*s)[last] = sleeper{}
	*s = (*s)[:last]
	if b.asleep = false; i < last {
		s.up(i)
		s.down(i)
	}
}

// addAsleep adds a new free board that sleeps.
func (p *Pool) addAsleep(b *Board) {
	p.boards[b.id] = b
	p.putToSleep(b)
}

// putToSleep puts a board that is in p.boards to sleep.
func (p *Pool) putToSleep(b *Board) {
	b.alarm.slot = none
	p.asleep.add(b)
	if b.status == wamble.Active {
		p.active++
	}
}

// sleep takes a free board out of play.
func (p *Pool) sleep(b *Board) {
	p.setHeld(b)
	p.exit(b)
	p.asleep.add(b)
	if b.status == wamble.Active {
		p.active++
	}
}

// wake brings a sleeping board into play.
func (p *Pool) wake(b *Board) {
	p.asleep.remove(b)
	if b.status == wamble.Active {
		p.active--
	}
	p.enter(b)
	p.setFree(b)
}

// first returns the board that wakes first; nil if none sleeps.
func (p *Pool) first() *Board {
	if len(p.asleep) == 0 {
		return nil
	}
	return p.asleep[0].board
}

// open brings one more board into play, and returns it: the most advanced sleeping one, or else a new one.
// Errors: ErrNoBoard, ErrNoID.
func (p *Pool) open(at int64, out intent.Intents) (*Board, error) {
	if b := p.first(); b != nil {
		p.wake(b)
		return b, nil
	}
	return p.create(at, out)
}

// leastAdvanced returns the free board with the fewest moves of a sample.
func (p *Pool) leastAdvanced() *Board {
	var least *Board
	for _, i := range p.sample.draw(p.rng, p.free) {
		if b := p.inPlay[i].board; least == nil || b.Plies() < least.Plies() {
			least = b
		}
	}
	return least
}

// missing returns how many boards are missing in play for a number of players; negative if there are too
// many. A few more than wanted are tolerated, so that boards do not sleep and wake with every player who
// comes and goes.
func (p *Pool) missing(players int) int {
	want, have := p.opts.wanted(players), len(p.inPlay)-p.awayCount
	if most := want + max(2, want/4); have > most && p.free > 0 {
		return most - have
	}
	return max(0, want-have)
}

// balance brings boards into play, or puts those with the fewest moves to sleep, until their number fits
// the players; at most most boards.
func (p *Pool) balance(at int64, players, most int, out intent.Intents) error {
	for range most {
		switch n := p.missing(players); {
		case n == 0:
			return nil
		case n < 0:
			p.sleep(p.leastAdvanced())
		default:
			if _, err := p.open(at, out); err != nil {
				return err
			}
		}
	}
	return nil
}

// balanceAtOnce is how many boards an assignment wakes, makes or puts to sleep.
const balanceAtOnce = 8

// Balanced reports whether the number of boards in play fits the players who are here, or no more can be
// had. Numbers says whether new ones can be made.
func (p *Pool) Balanced(numbers bool) bool {
	n := p.missing(p.Here())
	return n == 0 || n > 0 && p.Asleep() == 0 && (!numbers || p.Len() >= p.opts.MaxBoards)
}

// Balance brings boards into play, the most advanced first, or puts those with the fewest moves to sleep,
// at most most, until PerPlayer boards are in play for each player who is here. Errors: ErrNoID.
func (p *Pool) Balance(now time.Time, most int, out intent.Intents) error {
	err := p.balance(p.tick(now), p.Here(), most, out)
	if errors.Is(err, ErrNoBoard) {
		return nil
	}
	return err
}
