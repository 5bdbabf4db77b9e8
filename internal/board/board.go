package board

import (
	"iter"
	"time"

	"wamble"
	"wamble/chess"
	"wamble/internal/share"
)

// Board is one game in progress. Its methods do not change it.
type Board struct {
	id         wamble.BoardID
	position   chess.Position
	placement  placement
	plies      []ply
	players    []uint32    // of plies: Number, and ofProgram; 0: unknown; nil: all unknown
	movers     bloomFilter // the sessions of plies
	history    chess.History
	version    uint64
	holder     wamble.SessionID // 0: free
	former     wamble.SessionID // gets the free board back if they return; 0: none
	times      times
	alarm      boardAlarm
	share      share.Holding[Board] // of the holder's host
	index      int32                // index in Pool.inPlay, or in Pool.asleep
	variant    int16
	last       chess.Move // the last of plies, 0 if none: a copy, so that showing a board does not touch plies
	status     wamble.BoardStatus
	identity   bool // the holder has an identity, and keeps the board for IdentityAway
	asleep     bool // free and not assigned
	holderAway bool // the holder is not here; see Pool.Here
	reach      Reach
}

// times are microseconds since 1970, 0 for never.
type times struct {
	created  int64
	assigned int64 // last given to a player
	reserved int64 // given to the present holder
	lastSeen int64 // the holder's last sign of life
	moved    int64 // last move; 0 before the first
}

// since returns when the last move was made, or when the board was made if there is none.
func (b *Board) since() int64 {
	if b.times.moved == 0 {
		return b.times.created
	}
	return b.times.moved
}

func micros(t time.Time) int64      { return t.UnixMicro() }
func timeOf(us int64) time.Time     { return time.UnixMicro(us).UTC() }
func spanOf(us int64) time.Duration { return time.Duration(us) * time.Microsecond }

// orZero is timeOf, with the zero time for 0.
func orZero(us int64) time.Time {
	if us == 0 {
		return time.Time{}
	}
	return timeOf(us)
}

// ID returns the number of the board.
func (b *Board) ID() wamble.BoardID { return b.id }

// Position returns the position on the board.
func (b *Board) Position() chess.Position { return b.position }

// FEN returns the position in all six fields; see also Pool.FEN.
func (b *Board) FEN() string { return b.position.FEN() }

// Status returns the state of the board.
func (b *Board) Status() wamble.BoardStatus { return b.status }

// Version grows with every change of position or status.
func (b *Board) Version() uint64 { return b.version }

// Variant returns the Chess960 start position, 0 to 959, or -1.
func (b *Board) Variant() int16 { return b.variant }

// Holder returns the session that is to move, 0 if the board is free.
func (b *Board) Holder() wamble.SessionID { return b.holder }

// HolderAway reports whether the holder shows no sign of life, although the board is still reserved for them.
func (b *Board) HolderAway() bool { return b.holderAway }

// Plies returns how many moves have been made.
func (b *Board) Plies() int { return b.position.Ply() }

// Created returns when the board was made.
func (b *Board) Created() time.Time { return timeOf(b.times.created) }

// LastAssigned returns when the board was last assigned, the zero time if never.
func (b *Board) LastAssigned() time.Time { return orZero(b.times.assigned) }

// Reserved returns when the board was assigned to its present holder, the zero time if it is free.
func (b *Board) Reserved() time.Time {
	if b.holder == 0 {
		return time.Time{}
	}
	return timeOf(b.times.reserved)
}

// LastMoved returns when the last move was made, the zero time before the
// first.
func (b *Board) LastMoved() time.Time { return orZero(b.times.moved) }

// LastMove returns the last move, if one is known.
func (b *Board) LastMove() (Move, bool) {
	if len(b.plies) == 0 {
		return Move{}, false
	}
	m := b.move(len(b.plies) - 1)
	m.At = timeOf(b.times.moved)
	return m, true
}

// Last returns the last move, 0 if none is known.
func (b *Board) Last() chess.Move { return b.last }

// OwnMove returns a session's last move on the board in UCI; empty if it made none.
func (b *Board) OwnMove(s wamble.SessionID) string {
	m := b.lastBy(s)
	if m == 0 {
		return ""
	}
	return uciOf(m)
}

// Move is one move of a game. At is exact to the millisecond.
type Move struct {
	Move    chess.Move
	Session wamble.SessionID
	Ply     int  // 1 for White's first move
	Bot     bool // a program made it
	At      time.Time
}

func (b *Board) move(i int) Move {
	p := b.plies[i]
	return Move{
		Move: p.move(), Session: p.session(),
		Ply: b.position.Ply() - len(b.plies) + i + 1,
		Bot: p.strength() == byProgram || b.playerOf(i)&ofProgram != 0,
		At:  timeOf(b.times.created + p.millis()*1000),
	}
}

// Moves yields the moves from the first to the last.
func (b *Board) Moves() iter.Seq[Move] {
	return func(yield func(Move) bool) {
		for i := range b.plies {
			if !yield(b.move(i)) {
				return
			}
		}
	}
}

// Contributor is the moves of a session on a board, and its approximate rating at the last of them.
type Contributor struct {
	Session      wamble.SessionID
	White, Black int
	Rating       float64
	Rated        bool   // it had an identity, and so a rating
	Player       uint32 // Number of its identity; 0: unknown
}

// Contributors appends one entry for every session that has moved, in the order of their first moves, at
// most most of them, and returns dst.
func (b *Board) Contributors(dst []Contributor, most int) []Contributor {
	list := dst[len(dst):]
	index := map[wamble.SessionID]int(nil)
	if len(b.plies) > fewPlies {
		index = make(map[wamble.SessionID]int, min(len(b.plies), most))
	}
	ply := b.position.Ply() - len(b.plies)
	for at, p := range b.plies {
		ply++
		i, known := find(list, index, p.session())
		if !known {
			if i = len(list); i >= most {
				continue
			}
			list = append(list, Contributor{Session: p.session()})
			if index != nil {
				index[p.session()] = i
			}
		}
		list[i].count(p, ply)
		if player := b.playerOf(at) &^ ofProgram; player != 0 {
			list[i].Player = player
		}
	}
	return append(dst, list...)
}

// fewPlies is up to how many plies searching the list is faster than making a map.
const fewPlies = 128

func find(list []Contributor, index map[wamble.SessionID]int, s wamble.SessionID) (int, bool) {
	if index != nil {
		i, known := index[s]
		return i, known
	}
	for i := range list {
		if list[i].Session == s {
			return i, true
		}
	}
	return 0, false
}

// count adds a move.
func (c *Contributor) count(p ply, number int) {
	if number&1 == 1 {
		c.White++
	} else {
		c.Black++
	}
	c.Rating, c.Rated = p.strength().rating()
}

// Attraction returns how much a board attracts spectators: the multiplier of its phase for new players,
// divided by one plus the seconds since it was last assigned.
func (b *Board) Attraction(now time.Time, o *Options) float64 {
	seconds := float64(max(0, micros(now)-b.times.assigned)) / 1e6
	return o.New.of(phaseOf(&b.position)) / (seconds + 1)
}

// Watchable reports whether spectators may see the board: it is held or active.
func (b *Board) Watchable() bool {
	return b.status == wamble.Active || b.status == wamble.Reserved
}
