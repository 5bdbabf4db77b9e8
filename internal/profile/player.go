package profile

import (
	"time"

	"wamble"
	"wamble/internal/board"
)

// player is a session in memory.
type player struct {
	id    wamble.SessionID
	token wamble.Token
	key   wamble.PublicKey // zero: anonymous
	stats wamble.Stats
	left  wamble.BoardID // the board he left last
	gate  uint64         // of the last intent that concerned him
	heard time.Duration  // his last sign of life
	noted time.Duration  // the last one that was written down

	at         *roll // the list he is in
	prev, next *player
}

func playerOf(s *wamble.Session) *player {
	return &player{id: s.ID, token: s.Token, key: s.Key, stats: s.Stats}
}

// wants is the player as the pool of boards sees him.
func (pl *player) wants() board.Player {
	return board.Player{
		Session: pl.id, Identity: !pl.key.IsZero(),
		Games: pl.stats.Games, Chess960Games: pl.stats.Chess960Games,
		Left: pl.left,
	}
}

// roll is a list of players, the one who came last first.
type roll struct {
	first, last *player
	n           int
}

func (l *roll) add(pl *player) {
	pl.at, pl.prev, pl.next = l, nil, l.first
	if l.first != nil {
		l.first.prev = pl
	} else {
		l.last = pl
	}
	l.first = pl
	l.n++
}

func (l *roll) remove(pl *player) {
	if pl.prev != nil {
		pl.prev.next = pl.next
	} else {
		l.first = pl.next
	}
	if pl.next != nil {
		pl.next.prev = pl.prev
	} else {
		l.last = pl.prev
	}
	pl.at, pl.prev, pl.next = nil, nil, nil
	l.n--
}

// players is who is in memory. Each is in one of four lists; those but
// departing are in the order of their last signs of life.
type players struct {
	byToken map[wamble.Token]*player
	byID    map[wamble.SessionID]*player

	arrivals arrivals

	fresh     roll // never heard again since the first hello
	live      roll // heard within session-timeout
	idle      roll // silent, but they hold a board
	departing roll // silent, and waiting for the store; in the order of gate
}

func newPlayers() players {
	return players{byToken: map[wamble.Token]*player{}, byID: map[wamble.SessionID]*player{}}
}

func (ps *players) len() int { return len(ps.byToken) }

// present returns how many are there now: max-players bounds them.
func (ps *players) present() int { return ps.fresh.n + ps.live.n }

func (ps *players) add(pl *player, l *roll) {
	ps.byToken[pl.token], ps.byID[pl.id] = pl, pl
	l.add(pl)
}

// move puts a player into another list, first.
func (ps *players) move(pl *player, l *roll) {
	pl.at.remove(pl)
	l.add(pl)
}

func (ps *players) forget(pl *player) {
	pl.at.remove(pl)
	delete(ps.byToken, pl.token)
	delete(ps.byID, pl.id)
}
