package intent

import (
	"fmt"
	"time"
)

// Kind numbers an intent. The numbers are stored in journals: they are never reused, and 1 to 19 are those
// of the original. Its 12 and 13 (move and reservation columns of boards) are not used: the rows of moves
// and reservations have the same data.
type Kind uint8

// The closed list of kinds.
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
	KindRenewToken                Kind = 23
	KindRevokeSessions            Kind = 24
	KindSetTrust                  Kind = 25
	KindSetName                   Kind = 26
	KindMarkBot                   Kind = 27
	KindMoveBoard                 Kind = 28
	KindArriveBoard               Kind = 29
	KindMergePlayers              Kind = 30
)

// table is the one table of kinds, in the order in which a batch is applied: rows come before rows that
// refer to them.
var table = []Row{
	// number, name, New, what it overwrites, barrier, locality, size,
	// whose facts it changes, by which time it is kept, whose rows it locks,
	// what it does to memory
	{KindCreateSession, "CREATE_SESSION", zero[CreateSession], KeepsAll, Joins, asItCame, fixed(34),
		touchesNobody, anyTime, locksNothing, on(Memory.CreateSession)},
	{KindLinkSession, "LINK_SESSION_TO_PUBKEY", zero[LinkSession], KeepsAll, ChangesIdentity, asItCame, fixed(50),
		of((*LinkSession).touched), of((*LinkSession).keptByTime), locksNothing, on(Memory.LinkSession)},
	{KindUnlinkSession, "UNLINK_SESSION_IDENTITY", zero[UnlinkSession], KeepsAll, ChangesIdentity, asItCame, fixed(34),
		of((*UnlinkSession).touched), of((*UnlinkSession).keptByTime), locksNothing, on(Memory.UnlinkSession)},
	{KindMarkBot, "MARK_SESSION_AS_BOT", zero[MarkBot], KeepsAll, ChangesIdentity, asItCame, fixed(34),
		of((*MarkBot).touched), anyTime, locksNothing, on(Memory.MarkBot)},
	{KindRenewToken, "RENEW_SESSION_TOKEN", zero[RenewToken], KeepsAll, Joins, asItCame, fixed(50),
		of((*RenewToken).touched), of((*RenewToken).keptByTime), locksNothing, on(Memory.RenewToken)},
	{KindSetTrust, "SET_SESSION_TRUST", zero[SetTrust], KeepsAll, Joins, asItCame, fixed(34),
		of((*SetTrust).touched), anyTime, locksNothing, on(Memory.SetTrust)},
	{KindSetName, "SET_PLAYER_NAME", zero[SetName], KeepsAll, Joins, asItCame, fixed(50),
		of((*SetName).touched), of((*SetName).keptByTime), locksNothing, on(Memory.SetName)},
	{KindRecordTermsAcceptance, "RECORD_PROFILE_TERMS_ACCEPTANCE", zero[RecordTermsAcceptance], KeepsAll, Joins,
		asItCame, growing(160),
		touchesNobody, anyTime, locksNothing, on(Memory.RecordTermsAcceptance)},
	{KindArriveBoard, "ARRIVE_BOARD", zero[ArriveBoard], KeepsAll, Joins, asItCame, growing(34),
		touchesNobody, anyTime, locksNothing, on(Memory.ArriveBoard)},
	{KindCreateBoard, "CREATE_BOARD", zero[CreateBoard], KeepsAll, Joins, asItCame, fixed(119),
		touchesNobody, anyTime, locksNothing, on(Memory.CreateBoard)},
	{KindUpdateBoard, "UPDATE_BOARD", zero[UpdateBoard], position, Joins, by((*UpdateBoard).locality), fixed(119),
		touchesNobody, anyTime, locksNothing, on(Memory.UpdateBoard)},
	{KindUpdateBoardAssignmentTime, "UPDATE_BOARD_ASSIGNMENT_TIME", zero[UpdateBoardAssignmentTime], assignmentTime,
		Joins, by((*UpdateBoardAssignmentTime).locality), fixed(34),
		touchesNobody, anyTime, locksNothing, on(Memory.UpdateBoardAssignmentTime)},
	{KindRecordMove, "RECORD_MOVE", zero[RecordMove], KeepsAll, Joins, by((*RecordMove).locality), fixed(34),
		touchesNobody, anyTime, of((*RecordMove).locked), on(Memory.RecordMove)},
	{KindRecordGameResult, "RECORD_GAME_RESULT", zero[RecordGameResult], KeepsAll, Joins, asItCame, fixed(50),
		touchesNobody, anyTime, locksNothing, changesNoMemory},
	{KindRecordPayout, "RECORD_PAYOUT", zero[RecordPayout], KeepsAll, Joins, by((*RecordPayout).locality), fixed(34),
		touchesNobody, anyTime, of((*RecordPayout).locked), changesNoMemory},
	{KindRecordRating, "UPDATE_PLAYER_RATING", zero[RecordRating], KeepsAll, Joins, by((*RecordRating).locality),
		fixed(34),
		touchesNobody, anyTime, of((*RecordRating).locked), on(Memory.RecordRating)},
	{KindRecordPrediction, "RECORD_PREDICTION", zero[RecordPrediction], KeepsAll, Joins, asItCame, fixed(50),
		touchesNobody, anyTime, locksNothing, on(Memory.RecordPrediction)},
	{KindResolvePrediction, "RESOLVE_PREDICTION", zero[ResolvePrediction], KeepsAll, Joins, asItCame, fixed(50),
		touchesNobody, anyTime, of((*ResolvePrediction).locked), on(Memory.ResolvePrediction)},
	{KindCreateReservation, "CREATE_RESERVATION", zero[CreateReservation], holder, Joins, asItCame, fixed(34),
		touchesNobody, of((*CreateReservation).keptByTime), locksNothing, on(Memory.CreateReservation)},
	{KindRemoveReservation, "REMOVE_RESERVATION", zero[RemoveReservation], holder, Joins, asItCame, fixed(34),
		touchesNobody, of((*RemoveReservation).keptByTime), locksNothing, on(Memory.RemoveReservation)},
	{KindMoveBoard, "MOVE_BOARD", zero[MoveBoard], KeepsAll, Joins, asItCame, fixed(34),
		touchesNobody, anyTime, locksNothing, on(Memory.MoveBoard)},
	{KindRecordLastMoveShown, "RECORD_LAST_MOVE_SHOWN", zero[RecordLastMoveShown], KeepsAll, Joins, asItCame, fixed(34),
		touchesNobody, anyTime, locksNothing, changesNoMemory},
	{KindUpdateSessionLastSeen, "UPDATE_SESSION_LAST_SEEN", zero[UpdateSessionLastSeen], lastSeen, Joins,
		by((*UpdateSessionLastSeen).locality), fixed(34),
		touchesNobody, anyTime, of((*UpdateSessionLastSeen).locked), on(Memory.UpdateSessionLastSeen)},
	{KindErasePlayer, "ERASE_PLAYER", zero[ErasePlayer], KeepsAll, Alone, asItCame, fixed(34),
		of((*ErasePlayer).touched), of((*ErasePlayer).keptByTime), locksNothing, on(Memory.ErasePlayer)},
	{KindMergePlayers, "MERGE_PLAYERS", zero[MergePlayers], KeepsAll, Alone, asItCame, fixed(66),
		of((*MergePlayers).touched), of((*MergePlayers).keptByTime), locksNothing, on(Memory.MergePlayers)},
	{KindRevokeSessions, "REVOKE_SESSIONS", zero[RevokeSessions], KeepsAll, Alone, asItCame, fixed(50),
		of((*RevokeSessions).touched), of((*RevokeSessions).keptByTime), locksNothing, on(Memory.RevokeSessions)},
	{KindPurgeSessions, "PURGE_SESSIONS", zero[PurgeSessions], KeepsAll, Alone, asItCame, fixed(34),
		of((*PurgeSessions).touched), anyTime, locksNothing, on(Memory.PurgeSessions)},
}

// Row is what is known of a kind besides its fields. No field may be empty.
type Row struct {
	Kind Kind
	Name string
	// New returns an empty intent.
	New func() Intent
	// Overwrites is the column that the intent sets, of the board or session in its first field. Of all
	// intents that set the same column of a row, only the newest is written.
	Overwrites Column
	// Barrier says what may be in the same batch.
	Barrier Barrier
	// Locality orders the intents of a kind within a batch by the rows that they touch: adjacent rows are
	// written together, and all writers take row locks in one order.
	Locality func(Intent) (major, minor uint64)
	// Size returns the payload of the intent for the database in bytes, as the original counted it, given
	// the size of its fields in the journal.
	Size func(fields int) int
	// Touches returns whose facts the intent changes.
	Touches func(Intent) Touched
	// KeptByTime returns the time of an intent that the store ignores if it has a later one, zero if the
	// store keeps the intent whatever its time is.
	KeptByTime func(Intent) time.Time
	// Locks returns whose rows a batch with the intent locks, before it changes any.
	Locks func(Intent) Locked
	// Apply does to the memory of a profile that is restored what the intent, of message seq, did to it when
	// it was decided.
	Apply func(m Memory, seq uint64, in Intent)
}

// Memory is the memory of a profile while it is restored from a file and the journal's tail. Message seq is not
// applied to what includes it already. Memory does not retain the intent.
type Memory interface {
	CreateSession(seq uint64, in *CreateSession)
	LinkSession(seq uint64, in *LinkSession)
	UnlinkSession(seq uint64, in *UnlinkSession)
	MarkBot(seq uint64, in *MarkBot)
	RenewToken(seq uint64, in *RenewToken)
	SetTrust(seq uint64, in *SetTrust)
	SetName(seq uint64, in *SetName)
	RecordTermsAcceptance(seq uint64, in *RecordTermsAcceptance)
	ArriveBoard(seq uint64, in *ArriveBoard)
	CreateBoard(seq uint64, in *CreateBoard)
	UpdateBoard(seq uint64, in *UpdateBoard)
	UpdateBoardAssignmentTime(seq uint64, in *UpdateBoardAssignmentTime)
	RecordMove(seq uint64, in *RecordMove)
	RecordRating(seq uint64, in *RecordRating)
	RecordPrediction(seq uint64, in *RecordPrediction)
	ResolvePrediction(seq uint64, in *ResolvePrediction)
	CreateReservation(seq uint64, in *CreateReservation)
	RemoveReservation(seq uint64, in *RemoveReservation)
	MoveBoard(seq uint64, in *MoveBoard)
	UpdateSessionLastSeen(seq uint64, in *UpdateSessionLastSeen)
	ErasePlayer(seq uint64, in *ErasePlayer)
	MergePlayers(seq uint64, in *MergePlayers)
	RevokeSessions(seq uint64, in *RevokeSessions)
	PurgeSessions(seq uint64, in *PurgeSessions)
}

// Column is what an intent overwrites.
type Column uint8

const (
	KeepsAll       Column = iota + 1 // nothing: each intent of the kind is written
	position                         // of a board, with its status and version
	assignmentTime                   // of a board
	holder                           // of a board: decided by the last of creating and removing a reservation
	lastSeen                         // of a session
)

// Barrier is a constraint that the order of kinds in a batch cannot satisfy.
type Barrier uint8

const (
	Joins           Barrier = iota + 1 // nothing: the intent joins any batch
	ChangesIdentity                    // of the session that is the first field, or what it brings its identity: once in a batch
	Alone                              // a deletion: its message is a batch by itself, in its own order
)

func zero[T any, P interface {
	*T
	Intent
}]() Intent {
	return P(new(T))
}

// asItCame is the locality of kinds that keep their order.
func asItCame(Intent) (major, minor uint64) { return 0, 0 }

// by is a locality that is read from the fields.
func by[T Intent](f func(T) (major, minor uint64)) func(Intent) (major, minor uint64) {
	return func(in Intent) (major, minor uint64) { return f(in.(T)) }
}

// of is a cell that is read from the fields.
func of[T Intent, V any](f func(T) V) func(Intent) V { return func(in Intent) V { return f(in.(T)) } }

// on is a method of Memory for one type.
func on[T Intent](apply func(Memory, uint64, T)) func(Memory, uint64, Intent) {
	return func(m Memory, seq uint64, in Intent) { apply(m, seq, in.(T)) }
}

// changesNoMemory is for what only the store has.
func changesNoMemory(Memory, uint64, Intent) {}

// fixed is a size that does not depend on the fields.
func fixed(n int) func(int) int { return func(int) int { return n } }

// growing is a size that grows with the fields.
func growing(n int) func(int) int { return func(fields int) int { return n + fields } }

// indexes are the indexes of the kinds in the table, from 1; 0: unknown kind.
var indexes = func() (at [256]uint8) {
	for i := range table {
		at[table[i].Kind] = uint8(i + 1)
	}
	return at
}()

// Kinds lists every kind in the order in which a batch is applied.
func Kinds() []Kind {
	all := make([]Kind, len(table))
	for i := range table {
		all[i] = table[i].Kind
	}
	return all
}

// Place returns the place of the kind in Kinds, from 1, or 0 for an unknown kind.
func (k Kind) Place() int { return int(indexes[k]) }

// Row returns the row of the kind, or nil for an unknown kind.
func (k Kind) Row() *Row {
	if indexes[k] == 0 {
		return nil
	}
	return &table[indexes[k]-1]
}

// New returns an empty intent of the kind, or nil for an unknown kind.
func (k Kind) New() Intent {
	if row := k.Row(); row != nil {
		return row.New()
	}
	return nil
}

func (k Kind) String() string {
	if row := k.Row(); row != nil {
		return row.Name
	}
	return fmt.Sprintf("Kind(%d)", uint8(k))
}
