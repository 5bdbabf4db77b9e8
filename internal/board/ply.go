package board

import (
	"math"

	"wamble"
	"wamble/chess"
)

// ply is one move of a game in 12 bytes: its session, its time, and the strength of the mover. The number
// of the session and the milliseconds since the board was made have 36 bits each: 68 billion sessions, and
// two years.
//
//	head   bits 0–15 the move, 16–19 high bits of the session, 20–23 of the time,
//	       24–31 the rating (see strength)
//	who    low bits of the session
//	after  low bits of the time
type ply struct{ head, who, after uint32 }

// Mover is the player of a move.
type Mover struct {
	Session wamble.SessionID
	Player  wamble.PlayerID // of the identity; 0: none
	Rating  float64         // less than 0: none
	Program bool
}

// mover is a Mover in the form of a ply.
type mover struct {
	session  wamble.SessionID
	player   uint32 // see Board.players
	strength strength
}

func (m Mover) packed() mover {
	p := mover{m.Session, Number(m.Player), strengthOf(m.Rating)}
	switch {
	case m.Program && p.player != 0:
		p.player |= ofProgram
	case m.Program:
		p.strength = byProgram
	}
	return p
}

// ofProgram marks a player as a program.
const ofProgram = 1 << 31

// Number returns what a board stores of a player: enough to tell two of them apart.
func Number(p wamble.PlayerID) uint32 { return uint32(p) &^ ofProgram }

// maxSession is the largest number of a session that a ply can hold.
const maxSession = 1<<36 - 1

// maxAfter is the longest time after the board was made; later moves get it, too.
const maxAfter = 1<<36 - 1

func packPly(m chess.Move, by wamble.SessionID, after int64, s strength) ply {
	t := uint64(min(max(after, 0), maxAfter))
	return ply{
		head:  uint32(m) | uint32(by>>32)&0xf<<16 | uint32(t>>32)<<20 | uint32(s)<<24,
		who:   uint32(by),
		after: uint32(t),
	}
}

func (p ply) move() chess.Move { return chess.Move(p.head) }

func (p ply) session() wamble.SessionID {
	return wamble.SessionID(p.head>>16&0xf)<<32 | wamble.SessionID(p.who)
}

// millis returns how long after the board's creation the move was made.
func (p ply) millis() int64 { return int64(p.head>>20&0xf)<<32 | int64(p.after) }

func (p ply) strength() strength { return strength(p.head >> 24) }

// strength is a rating in a byte, in steps of 16 points from 0 to 4048. 0 and 255 mean none: 0 a player
// without identity, 255 a program without identity. The end of a game needs the ratings of all its players,
// also of those whose sessions have left memory.
type strength uint8

const (
	strengthStep          = 16
	byProgram    strength = 255
)

// strengthOf returns the strength of a rating; a negative rating is none.
func strengthOf(rating float64) strength {
	if !(rating >= 0) {
		return 0
	}
	return strength(1 + min(math.Round(rating/strengthStep), 253))
}

// rating returns the rating, and whether there is one.
func (s strength) rating() (float64, bool) {
	if s == byProgram {
		return 0, false
	}
	return max(0, float64(s)-1) * strengthStep, s > 0
}

// room returns the capacity to which a full list of a board grows: there are many boards, and doubling
// would waste half their memory.
func room(have int) int { return have + max(8, have/16) }

// add appends a move to the game.
func (b *Board) add(at int64, by mover, m chess.Move) {
	if len(b.plies) == cap(b.plies) {
		grown := make([]ply, len(b.plies), room(len(b.plies)))
		copy(grown, b.plies)
		b.plies = grown
	}
	b.plies = append(b.plies, packPly(m, by.session, (at-b.times.created)/1000, by.strength))
	b.addPlayer(by.player)
	b.movers.add(by.session)
	b.last = m
	b.position.Apply(m)
	b.placement.n = 0
	b.remember()
}

// addPlayer records the player of the last ply.
func (b *Board) addPlayer(player uint32) {
	if n := len(b.plies); player != 0 || b.players != nil {
		if n > cap(b.players) {
			b.players = append(make([]uint32, 0, cap(b.plies)), b.players...)
		}
		b.players = b.players[:n]
		b.players[n-1] = player
	}
}

// playerOf returns the player of a ply, 0 if unknown.
func (b *Board) playerOf(i int) uint32 {
	if b.players == nil {
		return 0
	}
	return b.players[i]
}

// remember adds the position to the history.
func (b *Board) remember() {
	if n := len(b.history); n == cap(b.history) {
		grown := make(chess.History, n, room(n))
		copy(grown, b.history)
		b.history = grown
	}
	b.history = b.history.Add(&b.position)
}

// bloomFilter is a Bloom filter of sessions: 256 bits, one hash function.
type bloomFilter [4]uint64

func bloomBit(s wamble.SessionID) (word int, bit uint64) {
	h := uint64(s) * 0x9e3779b97f4a7c15 >> 56
	return int(h >> 6), 1 << (h & 63)
}

func (f *bloomFilter) add(s wamble.SessionID) {
	word, bit := bloomBit(s)
	f[word&3] |= bit
}

func (f *bloomFilter) has(s wamble.SessionID) bool {
	word, bit := bloomBit(s)
	return f[word&3]&bit != 0
}

// lastBy returns the last move of a session in this game, 0 if there is none.
func (b *Board) lastBy(s wamble.SessionID) chess.Move {
	if !b.movers.has(s) {
		return 0
	}
	low := uint32(s)
	for i := len(b.plies) - 1; i >= 0; i-- {
		if p := &b.plies[i]; p.who == low && p.session() == s {
			return p.move()
		}
	}
	return 0
}
