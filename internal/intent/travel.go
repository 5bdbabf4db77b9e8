package intent

import (
	"math"
	"time"

	"wamble"
)

// MoveBoard sends a free board from one shard of its profile to another, which finds it among its arrivals.
// It is the shard's last intent about the board. It has an effect only if the board was not sent with a
// newer version, so that a store which gets the messages of each shard again, independently of other
// shards, ends in the same state.
type MoveBoard struct {
	Board    wamble.BoardID
	Version  uint64 // of the board as it leaves
	From, To int
	At       time.Time
}

func (*MoveBoard) Kind() Kind { return KindMoveBoard }

func (in *MoveBoard) code(c coder) coder {
	return c.board(&in.Board).uint(&in.Version).small(&in.From).small(&in.To).time(&in.At)
}

func (in *MoveBoard) check(c checker) checker {
	return c.board(in.Board).that(in.Version > 0 && in.Version <= math.MaxInt64,
		"the version is 0 or has more than 63 bits").shard(in.From).shard(in.To).that(in.From != in.To,
		"the board stays where it is").at(in.At)
}

// ArriveBoard says that a shard has taken in a board that was sent to it. State is the board in the form of
// a restart file, for a start that does not read the store.
type ArriveBoard struct {
	Board   wamble.BoardID
	Shard   int
	Version uint64 // of the board; a later version is another arrival
	State   string
	At      time.Time
}

func (*ArriveBoard) Kind() Kind { return KindArriveBoard }

func (in *ArriveBoard) code(c coder) coder {
	return c.board(&in.Board).small(&in.Shard).uint(&in.Version).text(&in.State).time(&in.At)
}

func (in *ArriveBoard) check(c checker) checker {
	return c.board(in.Board).shard(in.Shard).that(in.Version <= math.MaxInt64,
		"the version has more than 63 bits").at(in.At)
}
