package intent

import (
	"math"
	"time"

	"wamble"
)

// CreateBoard adds a board.
type CreateBoard struct {
	Board   wamble.BoardID
	FEN     string
	Status  wamble.BoardStatus
	Variant int16 // Chess960 start position 0 to 959, or -1 for classical
	At      time.Time
}

func (*CreateBoard) Kind() Kind { return KindCreateBoard }

func (in *CreateBoard) code(c coder) coder {
	return c.board(&in.Board).text(&in.FEN).octet((*uint8)(&in.Status)).variant(&in.Variant).time(&in.At)
}

func (in *CreateBoard) check(c checker) checker {
	return c.board(in.Board).at(in.At).position(in.FEN, in.Status).number(in.Variant >= -1 && in.Variant <= maxVariant,
		"variant", int64(in.Variant))
}

// UpdateBoard writes the present state of a board. It has an effect only if Version is newer than the
// stored one, so that a late copy never reverts a board.
type UpdateBoard struct {
	Board   wamble.BoardID
	FEN     string
	Status  wamble.BoardStatus
	Version uint64
	At      time.Time
}

func (*UpdateBoard) Kind() Kind { return KindUpdateBoard }

func (in *UpdateBoard) code(c coder) coder {
	return c.board(&in.Board).text(&in.FEN).octet((*uint8)(&in.Status)).uint(&in.Version).time(&in.At)
}

func (in *UpdateBoard) check(c checker) checker {
	return c.board(in.Board).at(in.At).position(in.FEN, in.Status).that(in.Version <= math.MaxInt64,
		"the version has more than 63 bits")
}

func (in *UpdateBoard) locality() (major, minor uint64) { return uint64(in.Board), 0 }

// UpdateBoardAssignmentTime sets when a board was last assigned.
type UpdateBoardAssignmentTime struct {
	Board wamble.BoardID
	At    time.Time
}

func (*UpdateBoardAssignmentTime) Kind() Kind { return KindUpdateBoardAssignmentTime }

func (in *UpdateBoardAssignmentTime) code(c coder) coder      { return c.board(&in.Board).time(&in.At) }
func (in *UpdateBoardAssignmentTime) check(c checker) checker { return c.board(in.Board).at(in.At) }

func (in *UpdateBoardAssignmentTime) locality() (major, minor uint64) { return uint64(in.Board), 0 }
