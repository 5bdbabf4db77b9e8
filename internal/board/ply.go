package board

import (
	"wamble"
	"wamble/chess"
)

// ply is one move of a game in 12 bytes: who made it, and when. Numbers of
// sessions and milliseconds since the board was created have 40 bits each.
//
//	head   bits 0–15 the move, 16–23 high byte of the session, 24–31 of the time
//	who    low bits of the session
//	after  low bits of the time
type ply struct{ head, who, after uint32 }

// maxSession is the largest number of a session that a ply can hold.
const maxSession = 1<<40 - 1

func packPly(m chess.Move, by wamble.SessionID, after int64) ply {
	t := uint64(min(max(after, 0), 1<<40-1))
	return ply{
		head:  uint32(m) | uint32(by>>32)&0xff<<16 | uint32(t>>32)<<24,
		who:   uint32(by),
		after: uint32(t),
	}
}

func (p ply) move() chess.Move { return chess.Move(p.head) }

func (p ply) session() wamble.SessionID {
	return wamble.SessionID(p.head>>16&0xff)<<32 | wamble.SessionID(p.who)
}

// millis returns how long after the board's creation the move was made.
func (p ply) millis() int64 { return int64(p.head>>24)<<32 | int64(p.after) }

// room is by how many entries the lists of a board grow: boards are many, and
// doubling would waste half their memory.
func room(have int) int { return have + max(8, have/16) }

// add appends a move to the game. The FEN is left as it was.
func (b *Board) add(at int64, by wamble.SessionID, m chess.Move) {
	if len(b.plies) == cap(b.plies) {
		grown := make([]ply, len(b.plies), room(len(b.plies)))
		copy(grown, b.plies)
		b.plies = grown
	}
	b.plies = append(b.plies, packPly(m, by, (at-b.times.created)/1000))
	b.position = b.position.Play(m)
	b.remember()
}

// remember adds the position to the history.
func (b *Board) remember() {
	if n := len(b.history); n == cap(b.history) {
		grown := make(chess.History, n, room(n))
		copy(grown, b.history)
		b.history = grown
	}
	b.history = b.history.Add(b.position)
}

// lastBy returns the last move of a session in this game, 0 if there is none.
func (b *Board) lastBy(s wamble.SessionID) chess.Move {
	for i := len(b.plies) - 1; i >= 0; i-- {
		if b.plies[i].session() == s {
			return b.plies[i].move()
		}
	}
	return 0
}
