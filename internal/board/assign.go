package board

import (
	"math/bits"
	"math/rand/v2"
	"slices"
	"time"

	"wamble/internal/intent"
	"wamble/internal/share"

	"wamble"
)

// Player is a player who needs a board.
type Player struct {
	Session  wamble.SessionID
	Identity bool // keeps the board for IdentityAway after leaving
	// Games is the number of boards on which the player has moved, Chess960Games that of the Chess960
	// boards among them.
	Games, Chess960Games   int
	LeftBoard, BoardBefore wamble.BoardID   // the board they left last, and the one before; 0: none
	Answered               wamble.SessionID // the session whose move they have just answered; 0: none
	Host                   share.Host       // 0: unknown
	Reach                  Reach
	Offered                wamble.BoardID // shown to the player, who gets it if it is free; 0: none
	// Claims lets the player take a board of the host that holds most, if no other is to be had.
	Claims bool
}

// Assigned is a board that a player has been given.
type Assigned struct {
	Board *Board
	// Known says that the player held the board already; nothing changed.
	Known bool
	// Own says that the last move is the player's own, Fresh that there is no move.
	Own, Fresh bool
	// Taken is the reservation that was revoked to free the board, or that of the former holder who loses
	// the claim to it, if any.
	Taken Released
}

// Assign gives a player a board. A player keeps the board they hold, and gets back the board they were gone
// from, if it was not assigned. Otherwise, in this order: the board that they were offered, every second time
// the board before the last, or one drawn from the free boards in play (see choose): not the one just left
// while there is another, and while others are here none with the player's own move as the last. If there is
// none, a board wakes or is made; if the pool is full, the player may get a board
// with their own move, or the one just left; if none is free, a player with Claims gets the idlest board of
// the host that holds most. Errors: ErrNoBoard, ErrNoID, ErrSession.
func (p *Pool) Assign(now time.Time, player Player, out intent.Intents) (Assigned, error) {
	t := p.tick(now)
	if player.Session <= 0 || player.Session > maxSession {
		return Assigned{}, ErrSession
	}
	if b := p.holders[player.Session]; b != nil {
		p.noteActivity(t, b, player.Reach)
		return Assigned{Board: b, Known: true}, nil
	}
	var a Assigned
	err := p.balance(t, p.Here()+1, balanceAtOnce, out) // its error is checked below, if there is no board
	alone := p.Here() == 0
	if a.Board = p.former[player.Session]; a.Board != nil && a.Board.asleep {
		p.wake(a.Board)
	}
	if a.Board == nil {
		a.Board = p.accept(t, player.Offered, out)
	}
	if a.Board == nil {
		a.Board = p.comeBack(t, &player)
	}
	if a.Board == nil {
		a.Board = p.choose(t, &player, alone)
	}
	if a.Board == nil {
		a.Board, err = p.openFor(t, &player, out)
	}
	if a.Board == nil && !alone {
		a.Board = p.choose(t, &player, true)
	}
	if a.Board == nil && p.Free() > 0 {
		a.Board = p.anyFree()
	}
	if a.Board == nil {
		if player.Claims {
			a.Taken, _ = p.reclaimShare(t, player.Host, out)
		}
		if a.Board = p.boards[a.Taken.Board]; a.Board == nil {
			return Assigned{}, err
		}
	}
	if s := a.Board.former; s != 0 && s != player.Session {
		a.Taken = Released{Board: a.Board.id, Session: s, Reason: HolderReplaced}
	}
	tag := p.inPlay[a.Board.index].tag
	a.Own, a.Fresh = tag.isBy(player.Session), tag&fresh != 0
	p.reserve(t, a.Board, player, out)
	return a, nil
}

// anyFree returns a free board: one that sleeps, or the one that the player has just left.
func (p *Pool) anyFree() *Board {
	if b := p.first(); b != nil {
		p.wake(b)
	}
	return p.inPlay[p.free-1].board
}

// Offer returns a board that a player may be shown before it is theirs: one drawn from the free boards as
// by Assign, or else one that would wake, be made, or be taken from its holder. It is not reserved; but a
// free board is not drawn for others for offerTime while there are others. Errors: ErrNoBoard, ErrNoID.
func (p *Pool) Offer(now time.Time, player Player) (*Board, error) {
	t := p.tick(now)
	b := p.choose(t, &player, true)
	if b != nil && !p.inPlay[b.index].isOffered(t) {
		at := &p.inPlay[b.index]
		at.since, at.tag = t+offerTime.Microseconds(), at.tag|offered
		return b, nil
	}
	if b := p.first(); b != nil {
		return b, nil
	}
	if p.Len() < p.opts.MaxBoards {
		if id := p.draw(); id != 0 {
			return p.blank(t, id), nil
		}
	}
	if b == nil {
		b = p.shares.Yield(player.Host)
	}
	switch {
	case b != nil:
		return b, nil
	case p.Len() < p.opts.MaxBoards:
		return nil, ErrNoID
	}
	return nil, ErrNoBoard
}

// maxDrawn bounds the numbers of boards that were offered and are not made yet. Beyond it several players
// are offered the same one.
const maxDrawn = 256

// draw returns the number of a board that is not made yet, 0 if there is none.
func (p *Pool) draw() wamble.BoardID {
	if len(p.drawn) < maxDrawn {
		if id, ok := p.newID(); ok {
			p.drawn = append(p.drawn, id)
			return id
		}
	}
	if len(p.drawn) == 0 {
		return 0
	}
	p.turn = (p.turn + 1) % len(p.drawn)
	return p.drawn[p.turn]
}

// accept returns the offered board if it is free, or makes it if it is not made yet; otherwise nil.
func (p *Pool) accept(at int64, offered wamble.BoardID, out intent.Intents) *Board {
	if offered == 0 {
		return nil
	}
	if b := p.boards[offered]; b != nil {
		if b.asleep {
			p.wake(b)
		}
		if !p.isFree(b) {
			return nil
		}
		return b
	}
	i := slices.Index(p.drawn, offered)
	if i < 0 || p.Len() >= p.opts.MaxBoards {
		return nil
	}
	p.drawn = slices.Delete(p.drawn, i, i+1)
	return p.createAs(at, offered, out)
}

// offerTime is how long an offered board is not drawn for others while there are others.
const offerTime = time.Minute

// maxCandidates is the number of free boards up to which an assignment considers all; of more it considers
// sampleSize.
const (
	maxCandidates = 64
	sampleSize    = 24
)

// sample is the memory of one draw.
type sample struct {
	index   [maxCandidates]int
	weights [maxCandidates]float64
}

// choose draws one of the free boards in play whose last move is not the player's, with weights (see
// scale.weight) that favour long waits. Of more than maxCandidates free boards it first draws sampleSize
// uniformly. A board whose last move is by Answered is chosen only if no other board awaits an answer. If
// no such board exists and own is set, it returns the board that has waited longest among those with the
// player's own move as the last. It returns nil if there is none, or only the one the player left.
func (p *Pool) choose(now int64, player *Player, own bool) *Board {
	skip, n := p.free, p.free
	if b := p.boards[player.LeftBoard]; b != nil && p.isFree(b) {
		skip, n = int(b.index), n-1
	}
	if n == 0 {
		return nil
	}
	index := p.sample.draw(p.rng, n)
	weights := p.sample.weights[:len(index)]
	scale := p.opts.scaleFor(player)
	total, fit, others := 0.0, 0, 0
	var mine, again *candidate
	for _, at := range index {
		if at >= skip {
			at++
		}
		place := &p.inPlay[at]
		if place.tag.isBy(player.Session) {
			if mine == nil || place.since < mine.since {
				mine = place
			}
			continue
		}
		if place.tag.isBy(player.Answered) && !place.isOffered(now) {
			if again == nil || place.since < again.since {
				again = place
			}
			continue
		}
		if place.tag&fresh == 0 {
			others++
		}
		index[fit], weights[fit] = at, scale.weight(now, place)
		total += weights[fit]
		fit++
	}
	switch {
	case others == 0 && again != nil:
		return again.board
	case fit == 0 && mine != nil && own:
		return mine.board
	case fit == 0:
		return nil
	case total == 0:
		return p.inPlay[index[p.rng.IntN(fit)]].board
	}
	r := p.rng.Float64() * total
	chosen := 0
	for i, w := range weights[:fit] {
		if w == 0 {
			continue
		}
		chosen = i // if rounding leaves a remainder in r, the last board is chosen
		if r -= w; r < 0 {
			break
		}
	}
	return p.inPlay[index[chosen]].board
}

// comeBack returns, every second time, the board that a player left before their last one, if another
// player has moved there since and it is free; otherwise nil. With many boards the player would hardly ever
// see the answer to their move otherwise.
func (p *Pool) comeBack(now int64, player *Player) *Board {
	b := p.boards[player.BoardBefore]
	if b == nil || !p.isFree(b) || b.id == player.LeftBoard {
		return nil
	}
	if at := &p.inPlay[b.index]; at.tag.isBy(player.Session) || at.tag.isBy(player.Answered) || at.isOffered(now) ||
		p.rng.Uint64()&1 == 0 {
		return nil
	}
	return b
}

// openFor wakes or makes a board for a player, as open (sleep.go) does: among the first maxCandidates
// sleeping boards it avoids those with the player's own move as the last.
func (p *Pool) openFor(at int64, player *Player, out intent.Intents) (*Board, error) {
	var best *Board
	for i := range p.asleep[:min(len(p.asleep), maxCandidates)] {
		b := p.asleep[i].board
		if !tagOf(b).isBy(player.Session) && b.id != player.LeftBoard &&
			(best == nil || p.asleep.less(i, int(best.index))) {
			best = b
		}
	}
	if best == nil {
		return p.create(at, out)
	}
	p.wake(best)
	return best, nil
}

// scale is the multipliers of a player, by the class of a board.
type scale [8]float64

// tag is what the index knows of a board: in its lowest bits the class (phase of the game, and whether it
// is Chess960), then the flags, then the session of the last move.
type tag uint64

const (
	chess960 tag = 4
	classes  tag = 7
	fresh    tag = 8  // without a move
	offered  tag = 16 // it was offered, perhaps long ago
	byShift      = 8
)

func tagOf(b *Board) tag {
	t := tag(phaseOf(&b.position))
	if b.variant >= 0 {
		t |= chess960
	}
	if b.Plies() == 0 {
		t |= fresh
	}
	if n := len(b.plies); n > 0 {
		t |= tag(b.plies[n-1].session()) << byShift
	}
	return t
}

// isBy reports whether a session made the last move.
func (t tag) isBy(s wamble.SessionID) bool { return s != 0 && t>>byShift == tag(s) }

// multipliers returns those for a player with a number of games.
func (o *Options) multipliers(games int) *Multipliers {
	if games < experience {
		return &o.New
	}
	return &o.Experienced
}

func (o *Options) scaleFor(player *Player) (s scale) {
	for p := early; p <= end; p++ {
		s[p] = o.multipliers(player.Games).of(p)
		s[tag(p)|chess960] = o.multipliers(player.Chess960Games).of(p)
	}
	return s
}

// minWait is added to the seconds that a board has waited. A board without moves weighs as much as one that
// was moved on just now.
const minWait = 0.5

// weight returns the weight of a free board for a player: their multiplier for the phase of the game, times
// the square of the seconds since the last move; 0 if it was offered within offerTime.
func (s *scale) weight(now int64, at *candidate) float64 {
	since := at.since
	if at.tag&offered != 0 {
		if at.isOffered(now) {
			return 0
		}
		since = at.board.since()
	}
	wait := minWait
	if at.tag&fresh == 0 {
		wait += float64(now-since) * 1e-6
	}
	return s[at.tag&classes] * wait * wait
}

// draw returns distinct numbers below n: all if n is at most maxCandidates, otherwise sampleSize of them.
// For these the numbers form a ring that is cut at a random place into sampleSize arcs, and one number is
// drawn from each: all numbers have the same chance, and none can come twice.
func (s *sample) draw(rng *rand.Rand, n int) []int {
	if n <= maxCandidates {
		for i := range n {
			s.index[i] = i
		}
		return s.index[:n]
	}
	state, size := rng.Uint64(), uint64(n)
	start, arc := below(&state, size), uint64(0)
	for i := range s.index[:sampleSize] {
		end := size * uint64(i+1) / sampleSize
		at := start + arc + below(&state, end-arc)
		if at >= size {
			at -= size
		}
		s.index[i], arc = int(at), end
	}
	return s.index[:sampleSize]
}

// below returns a random number below n (wyrand, by Wang Yi). The first state of a sample comes from the
// pool's own generator.
func below(state *uint64, n uint64) uint64 {
	*state += 0xa0761d6478bd642f
	high, low := bits.Mul64(*state, *state^0xe7037ed1a0b428db)
	high, _ = bits.Mul64(high^low, n)
	return high
}
