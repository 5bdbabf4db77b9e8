package board

import (
	"iter"
	"time"

	"wamble"
	"wamble/chess"
	"wamble/internal/share"
)

// Board is one game in progress. Its methods only look.
type Board struct {
	id        wamble.BoardID
	position  chess.Position
	placement placement
	plies     []ply
	players   []uint32    // the Number of whose the plies are, and ofProgram; 0: not known; nil: of none
	movers    bloomFilter // the sessions of plies
	history   chess.History
	version   uint64
	holder    wamble.SessionID // 0: free
	former    wamble.SessionID // who gets the free board back if he returns; 0: nobody
	times     times
	alarm     boardAlarm
	share     share.Holding[Board] // of the holder's host
	place     int32                // index in Pool.places, or in Pool.asleep
	variant   int16
	last      chess.Move // the last of plies, 0 if there is none: showing a board does not touch plies
	status    wamble.BoardStatus
	identity  bool // the holder has an identity: he keeps the board when he leaves
	asleep    bool // it is free, and not dealt
	gone      bool // the holder is not here; see Pool.here
	reach     Reach
}

// times are microseconds since 1970, 0 for never.
type times struct {
	created  int64
	assigned int64 // last given to a player
	reserved int64 // given to the present holder
	heard    int64 // the holder's last sign of life
	moved    int64 // last move; 0 before the first
}

// since returns when the last move was made, or when the board was made.
func (b *Board) since() int64 {
	if b.times.moved == 0 {
		return b.times.created
	}
	return b.times.moved
}

func micros(t time.Time) int64      { return t.UnixMicro() }
func timeOf(us int64) time.Time     { return time.UnixMicro(us).UTC() }
func spanOf(us int64) time.Duration { return time.Duration(us) * time.Microsecond }

// orZero is timeOf, with the zero time for never.
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

// Gone reports whether the holder shows no sign of life, though the board is still his.
func (b *Board) Gone() bool { return b.gone }

// Plies returns how many moves have been made.
func (b *Board) Plies() int { return b.position.Ply() }

// Created returns when the board was made.
func (b *Board) Created() time.Time { return timeOf(b.times.created) }

// LastAssigned returns when the board was last given to a player, the zero
// time if never.
func (b *Board) LastAssigned() time.Time { return orZero(b.times.assigned) }

// Reserved returns since when the present holder has the board, the zero time
// if it is free.
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

// Last returns the last move without who made it, 0 if none is known.
func (b *Board) Last() chess.Move { return b.last }

// OwnMove returns the last move that a session made on the board, in UCI; empty if it
// made none.
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

// Contributor is how many moves a session made for either side of a board, and
// about how strong it was when it made the last of them.
type Contributor struct {
	Session      wamble.SessionID
	White, Black int
	Rating       float64
	Rated        bool   // it had an identity, and so a rating
	Player       uint32 // Number of its identity; 0: not known
}

// Contributors appends one entry for every session that moved, in the order
// of their first moves, and returns dst; of more than most the later ones are
// left out.
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

// fewPlies is up to how many plies a list is searched faster than a map is made.
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

// Attraction says how much a board invites spectators: new players' multiplier
// of its phase, divided by the seconds since it was last assigned, plus 1.
func (b *Board) Attraction(now time.Time, o *Options) float64 {
	seconds := float64(max(0, micros(now)-b.times.assigned)) / 1e6
	return o.New.of(phaseOf(&b.position)) / (seconds + 1)
}

// Watchable reports whether spectators may look: somebody plays, or has just
// played.
func (b *Board) Watchable() bool {
	return b.status == wamble.Active || b.status == wamble.Reserved
}
