package intent

import (
	"fmt"
	"time"

	"wamble"
)

// Kind numbers an intent. The numbers are stored in journals: they are never
// reused, and 1 to 19 are those of the original. 12 and 13 (move and
// reservation columns of boards) have no role here: the rows of moves and
// reservations say the same.
type Kind uint8

// The closed list of kinds. Applying a batch goes through them in the order of
// Kinds, which is safe for what depends on what.
const (
	KindUpdateBoard               Kind = 1
	KindUpdateBoardAssignmentTime Kind = 2
	KindCreateReservation         Kind = 3
	KindRemoveReservation         Kind = 4
	KindRecordGameResult          Kind = 5
	KindUpdateSessionLastSeen     Kind = 6
	KindCreateSession             Kind = 7
	KindLinkSession               Kind = 8
	KindRecordPayout              Kind = 9
	KindCreateBoard               Kind = 10
	KindRecordMove                Kind = 11
	KindRecordPrediction          Kind = 14
	KindResolvePrediction         Kind = 15
	KindUnlinkSession             Kind = 16
	KindRecordRating              Kind = 17
	KindRecordLastMoveShown       Kind = 18
	KindRecordTermsAcceptance     Kind = 19
	KindPurgeSessions             Kind = 21
	KindErasePlayer               Kind = 22
)

// kinds is the one table of intents, in the order in which a batch is applied:
// who must exist before whom.
var kinds = []struct {
	kind Kind
	name string
	zero func() Intent
}{
	{KindCreateSession, "CREATE_SESSION", func() Intent { return new(CreateSession) }},
	{KindLinkSession, "LINK_SESSION_TO_PUBKEY", func() Intent { return new(LinkSession) }},
	{KindUnlinkSession, "UNLINK_SESSION_IDENTITY", func() Intent { return new(UnlinkSession) }},
	{KindRecordTermsAcceptance, "RECORD_PROFILE_TERMS_ACCEPTANCE", func() Intent { return new(RecordTermsAcceptance) }},
	{KindCreateBoard, "CREATE_BOARD", func() Intent { return new(CreateBoard) }},
	{KindUpdateBoard, "UPDATE_BOARD", func() Intent { return new(UpdateBoard) }},
	{KindUpdateBoardAssignmentTime, "UPDATE_BOARD_ASSIGNMENT_TIME", func() Intent { return new(UpdateBoardAssignmentTime) }},
	{KindRecordMove, "RECORD_MOVE", func() Intent { return new(RecordMove) }},
	{KindRecordGameResult, "RECORD_GAME_RESULT", func() Intent { return new(RecordGameResult) }},
	{KindRecordPayout, "RECORD_PAYOUT", func() Intent { return new(RecordPayout) }},
	{KindRecordRating, "UPDATE_PLAYER_RATING", func() Intent { return new(RecordRating) }},
	{KindRecordPrediction, "RECORD_PREDICTION", func() Intent { return new(RecordPrediction) }},
	{KindResolvePrediction, "RESOLVE_PREDICTION", func() Intent { return new(ResolvePrediction) }},
	{KindCreateReservation, "CREATE_RESERVATION", func() Intent { return new(CreateReservation) }},
	{KindRemoveReservation, "REMOVE_RESERVATION", func() Intent { return new(RemoveReservation) }},
	{KindRecordLastMoveShown, "RECORD_LAST_MOVE_SHOWN", func() Intent { return new(RecordLastMoveShown) }},
	{KindUpdateSessionLastSeen, "UPDATE_SESSION_LAST_SEEN", func() Intent { return new(UpdateSessionLastSeen) }},
	{KindErasePlayer, "ERASE_PLAYER", func() Intent { return new(ErasePlayer) }},
	{KindPurgeSessions, "PURGE_SESSIONS", func() Intent { return new(PurgeSessions) }},
}

// Kinds lists every kind in the order in which a batch is applied.
func Kinds() []Kind {
	all := make([]Kind, len(kinds))
	for i, row := range kinds {
		all[i] = row.kind
	}
	return all
}

// New returns an empty intent of this kind, or nil if there is no such kind.
func (k Kind) New() Intent {
	for _, row := range kinds {
		if row.kind == k {
			return row.zero()
		}
	}
	return nil
}

func (k Kind) String() string {
	for _, row := range kinds {
		if row.kind == k {
			return row.name
		}
	}
	return fmt.Sprintf("Kind(%d)", uint8(k))
}

// Intent is one durable effect of a request. It is complete when it is born:
// it carries its numbers and its time, so that writing it later, or once more,
// changes nothing. Its types are the pointers below and no others.
type Intent interface {
	Kind() Kind
}

// Intents takes what the rooms decide, in order. Add is done with the intent
// when it returns: the room that passed it uses its memory again.
type Intents interface {
	Add(Intent)
}

// Times in intents are when a thing happened, not when it was written; they
// are kept to the microsecond, as PostgreSQL keeps them.

// CreateSession adds a session, anonymous unless Player is set.
type CreateSession struct {
	Session wamble.SessionID
	Token   wamble.Token
	Player  wamble.PlayerID
	At      time.Time
}

// LinkSession gives a session an identity. The player is found by Key; if
// there is none it is created with the number, handle and rating given here.
type LinkSession struct {
	Session wamble.SessionID
	Key     wamble.PublicKey
	Player  wamble.PlayerID
	Handle  string // 4 to 63 of [a-z0-9_]
	Rating  float64
	At      time.Time
}

// UnlinkSession makes a session anonymous again.
type UnlinkSession struct {
	Session wamble.SessionID
	At      time.Time
}

// RecordTermsAcceptance says that a session accepted the terms of a profile.
// The text is kept once per hash.
type RecordTermsAcceptance struct {
	Session wamble.SessionID
	Profile string
	Hash    [32]byte // BLAKE2b-256 of Text
	Text    string
	At      time.Time
}

// CreateBoard adds a board.
type CreateBoard struct {
	Board   wamble.BoardID
	FEN     string
	Status  wamble.BoardStatus
	Variant int16 // Chess960 start position 0 to 959, or -1 for classical
	At      time.Time
}

// UpdateBoard writes a board as it stands. It has an effect only if Version is
// newer than what is stored, so that a late copy never reverts a board.
type UpdateBoard struct {
	Board   wamble.BoardID
	FEN     string
	Status  wamble.BoardStatus
	Version uint64
	At      time.Time
}

// UpdateBoardAssignmentTime says when a board was last given to a player.
type UpdateBoardAssignmentTime struct {
	Board wamble.BoardID
	At    time.Time
}

// RecordMove adds a move to a game. Another move for the same ply is refused.
type RecordMove struct {
	Board   wamble.BoardID
	Session wamble.SessionID
	UCI     string
	Ply     int  // 1 for White's first move, 2 for Black's answer
	First   bool // the session's first move on this board
	At      time.Time
}

// RecordGameResult ends a game.
type RecordGameResult struct {
	Board    wamble.BoardID
	Result   wamble.Result
	Plies    int
	Duration time.Duration
	Reason   string // at most 31 bytes, for instance "checkmate"
	At       time.Time
}

// RecordPayout gives a session its share of a pot.
type RecordPayout struct {
	Board     wamble.BoardID
	Session   wamble.SessionID
	Points    float64 // four decimals are kept
	Canonical float64 // the share before any adjustment
	At        time.Time
}

// RecordRating changes the rating of a player once for a finished board. He is
// known by his Key; if that is zero, because his session is not in memory, he is
// the player of Session, if it has one.
type RecordRating struct {
	Board   wamble.BoardID
	Session wamble.SessionID
	Key     wamble.PublicKey
	Delta   float64 // four decimals are kept
	At      time.Time
}

// RecordPrediction adds a prediction of a move.
type RecordPrediction struct {
	ID      wamble.PredictionID
	Board   wamble.BoardID
	Session wamble.SessionID
	Parent  wamble.PredictionID
	UCI     string
	Ply     int
	Streak  int
	At      time.Time
}

// ResolvePrediction says what became of a prediction.
type ResolvePrediction struct {
	ID      wamble.PredictionID
	Session wamble.SessionID
	Status  wamble.PredictionStatus
	Points  float64
	At      time.Time
}

// CreateReservation makes a session the holder of a board, unless somebody else
// became it after At.
type CreateReservation struct {
	Board   wamble.BoardID
	Session wamble.SessionID
	White   bool // the holder is to move for White
	At      time.Time
	Expires time.Time
}

// RemoveReservation leaves a board without a holder, unless somebody became it
// after At.
type RemoveReservation struct {
	Board wamble.BoardID
	At    time.Time
}

// RecordLastMoveShown says that a session was shown the last move of a board.
type RecordLastMoveShown struct {
	Board   wamble.BoardID
	Session wamble.SessionID
	UCI     string
	At      time.Time
}

// UpdateSessionLastSeen says when a session was last heard of. It is droppable:
// no answer waits for it.
type UpdateSessionLastSeen struct {
	Session wamble.SessionID
	At      time.Time
}

// ErasePlayer deletes what belongs to an identity: its key, handle and rating,
// and the link of its sessions. The games stay. An identity that was created
// after At is another one and stays, too.
type ErasePlayer struct {
	Key wamble.PublicKey
	At  time.Time
}

// PurgeSessions deletes the anonymous sessions that were last seen before
// Before, with their predictions and shown moves. Those that moved keep their
// row, because games name them, but lose their token. Those that hold a board
// are left alone.
type PurgeSessions struct {
	Before time.Time
	At     time.Time
}

func (*CreateSession) Kind() Kind             { return KindCreateSession }
func (*LinkSession) Kind() Kind               { return KindLinkSession }
func (*UnlinkSession) Kind() Kind             { return KindUnlinkSession }
func (*RecordTermsAcceptance) Kind() Kind     { return KindRecordTermsAcceptance }
func (*CreateBoard) Kind() Kind               { return KindCreateBoard }
func (*UpdateBoard) Kind() Kind               { return KindUpdateBoard }
func (*UpdateBoardAssignmentTime) Kind() Kind { return KindUpdateBoardAssignmentTime }
func (*RecordMove) Kind() Kind                { return KindRecordMove }
func (*RecordGameResult) Kind() Kind          { return KindRecordGameResult }
func (*RecordPayout) Kind() Kind              { return KindRecordPayout }
func (*RecordRating) Kind() Kind              { return KindRecordRating }
func (*RecordPrediction) Kind() Kind          { return KindRecordPrediction }
func (*ResolvePrediction) Kind() Kind         { return KindResolvePrediction }
func (*CreateReservation) Kind() Kind         { return KindCreateReservation }
func (*RemoveReservation) Kind() Kind         { return KindRemoveReservation }
func (*RecordLastMoveShown) Kind() Kind       { return KindRecordLastMoveShown }
func (*UpdateSessionLastSeen) Kind() Kind     { return KindUpdateSessionLastSeen }
func (*ErasePlayer) Kind() Kind               { return KindErasePlayer }
func (*PurgeSessions) Kind() Kind             { return KindPurgeSessions }
