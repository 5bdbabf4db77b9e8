package intent

import (
	"encoding/binary"
	"time"

	"wamble"
)

// RecordRating changes the rating of a player once for a finished board. The player is found by Key, or by
// Session if the key is zero because the session is not in memory.
type RecordRating struct {
	Board   wamble.BoardID
	Session wamble.SessionID
	Key     wamble.PublicKey
	Delta   float64 // with four decimals
	At      time.Time
}

func (*RecordRating) Kind() Kind { return KindRecordRating }

func (in *RecordRating) code(c coder) coder {
	return c.board(&in.Board).session(&in.Session).bytes(in.Key[:]).float(&in.Delta).time(&in.At)
}

func (in *RecordRating) check(c checker) checker {
	return c.board(in.Board).at(in.At).that(!in.Key.IsZero() || in.Session > 0,
		"neither a key nor a session is given").decimal("delta", in.Delta)
}

func (in *RecordRating) locality() (major, minor uint64) {
	if in.Key.IsZero() {
		return 0, uint64(in.Session)
	}
	return binary.BigEndian.Uint64(in.Key[:]), binary.BigEndian.Uint64(in.Key[8:])
}

// SetName sets the handle of an identity, unless another has it regardless of case, or a newer one was set.
type SetName struct {
	Key  wamble.PublicKey
	Name string
	At   time.Time
}

func (*SetName) Kind() Kind { return KindSetName }

func (in *SetName) code(c coder) coder      { return c.bytes(in.Key[:]).text(&in.Name).time(&in.At) }
func (in *SetName) check(c checker) checker { return c.key(in.Key).handle(in.Name).at(in.At) }

// ErasePlayer deletes the data of an identity: its key, handle and rating, and the tokens, predictions,
// acceptances of terms and reservations of its sessions. The games stay, and with them the numbers of the
// sessions; later intents about such a session are ignored. Another identity of the same key stays, too:
// one with another number than Player, or one created after At if Player is 0.
type ErasePlayer struct {
	Key    wamble.PublicKey
	At     time.Time
	Player wamble.PlayerID // the subject of the command; 0: unknown
}

func (*ErasePlayer) Kind() Kind { return KindErasePlayer }

func (in *ErasePlayer) code(c coder) coder {
	return c.bytes(in.Key[:]).time(&in.At).addedPlayer(&in.Player)
}

func (in *ErasePlayer) check(c checker) checker {
	return c.key(in.Key).at(in.At).number(in.Player >= 0, "player", int64(in.Player))
}

// MergePlayers makes one identity of two: Into gets what belongs to From, and From's key as another key.
// The rating is the mean, weighted by games. It does nothing if From or Into does not exist, or From was
// created after At.
type MergePlayers struct {
	From, Into wamble.PublicKey
	At         time.Time
}

func (*MergePlayers) Kind() Kind { return KindMergePlayers }

func (in *MergePlayers) code(c coder) coder {
	return c.bytes(in.From[:]).bytes(in.Into[:]).time(&in.At)
}
func (in *MergePlayers) check(c checker) checker {
	return c.key(in.From).key(in.Into).that(in.From != in.Into, "a player cannot be merged into themselves").at(in.At)
}
