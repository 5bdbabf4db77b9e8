package store

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"time"

	"wamble"
	"wamble/internal/intent"
)

// ErrNotFound is returned by a read when there is no such row.
var ErrNotFound = errors.New("not found")

// ErrTransient wraps every error of a store that may pass by itself: the
// connection is lost or refused, the transaction met another one, the server
// is read-only after a failover, the disk is full. The same call may succeed
// later. If the caller's context ended, the error is that of the context as
// well. Any other error of Apply is permanent: the rows themselves are wrong.
var ErrTransient = errors.New("the database cannot do it now")

// CursorMoved is returned by Store.Apply when the stored cursor is not where
// the batch expects it: the batch, or one that overlaps it, was applied before.
type CursorMoved struct {
	At uint64 // where the cursor stands
}

func (e *CursorMoved) Error() string {
	return fmt.Sprintf("the cursor stands at message %d", e.At)
}

// JournalID names a journal. A wiped or restored journal gets a new one.
type JournalID [16]byte

// Batch is what one transaction writes: the intents of a run of journal
// messages, and the step of the cursor that says so.
type Batch struct {
	Journal JournalID
	Profile string // or a shard of it, see ShardName
	// After and Through bound the run: messages After+1 … Through. The stored
	// cursor must stand at After, and stands at Through afterwards.
	After, Through uint64
	// Intents are in the order of Kinds, coalesced, so that equal kinds stand
	// together and can be written by one statement. Of a board there is at most
	// one of CREATE_RESERVATION and REMOVE_RESERVATION, the last; of a session
	// at most one of LINK_SESSION_TO_PUBKEY and UNLINK_SESSION_IDENTITY. A
	// message that erases, purges or changes an identity twice is a batch by
	// itself, in its own order.
	Intents []intent.Intent
}

// Cursor is the last message of a journal that was applied for a profile.
type Cursor struct {
	Journal JournalID
	Profile string
	Message uint64
}

// Rejection is one intent that a store will never take, and why.
type Rejection struct {
	Index int // in Batch.Intents
	Err   error
}

// Store keeps the games for good. Its two implementations, postgres and
// sqlite, pass the same suite (store/storetest). All methods may be called
// from several goroutines.
type Store interface {
	Queries

	// Apply writes a batch in one transaction, together with its cursor, and
	// all of it or nothing. It returns nil only when that is on disk.
	// Errors: *CursorMoved, *Owned, ErrTransient, or a permanent one. After
	// ErrTransient the batch may have been applied all the same (the answer to
	// COMMIT was lost): the cursor knows. After a permanent error Probe knows
	// which intents to leave out; if it finds none, another profile was in the
	// way, and the batch can be applied again.
	Apply(ctx context.Context, b Batch) error
	// Probe finds the intents of a batch that Apply will never take, by trying
	// each; it writes nothing. Errors: ErrTransient.
	Probe(ctx context.Context, b Batch) ([]Rejection, error)
	// Cursor returns the last message of a journal that was applied for a
	// profile, 0 if there is none.
	Cursor(ctx context.Context, j JournalID, profile string) (uint64, error)
	// Snapshot lets ask read, all in one state of the database, and returns the cursors
	// of that state: those that have moved in the last hour. A database of one process
	// has no need for that, and returns none. Error: that of ask, or ErrTransient.
	Snapshot(ctx context.Context, ask func(q Queries) error) ([]Cursor, error)
	// Own makes a process the owner of a profile. A profile that belongs to another
	// process is taken from it only if the beat of that one is still over. From then
	// on Apply writes the profile's batches only while it belongs to this process.
	// Errors: *Owned, ErrTransient.
	Own(ctx context.Context, profile string, o Owner, over int64) error
	// Beat says that the owner of a profile lives. Errors: *Owned if it is the owner
	// no more, ErrTransient.
	Beat(ctx context.Context, profile string, o Owner) error
	// Disown lets others own a profile. Errors: ErrTransient.
	Disown(ctx context.Context, profile string, o Owner) error
	// Enrol returns the player of a key. If there is none it makes him, with the key,
	// handle, rating and time of creation of first: where several machines may do so,
	// they all get the same one.
	Enrol(ctx context.Context, first wamble.Player) (wamble.Player, error)
	// Claim gives the player of a key a name, unless somebody else has it, without regard
	// to case, or he has chosen one after since. It returns the player as he is then: of
	// several machines that claim a name, for one his handle is the name. Errors:
	// ErrNotFound.
	Claim(ctx context.Context, key wamble.PublicKey, name string, at, since time.Time) (wamble.Player, error)
	// Lease takes n numbers (1 to 1,000,000) out of a table's sequence for
	// good, in as few blocks as it can.
	Lease(ctx context.Context, s wamble.Sequence, n int) ([]wamble.Block, error)
	// Return puts leased numbers that were never used back into a table's sequence, as
	// far as nobody has leased numbers behind them. Blocks are in the order in which
	// they were leased; afterwards they may be leased again, by anybody.
	Return(ctx context.Context, s wamble.Sequence, blocks []wamble.Block) error
	// SetShards says how many shards a profile has; no server may run it. Boards that
	// are held become free, because nobody knows which shard their holders belong to
	// then, and those of a shard that is no more go to another.
	SetShards(ctx context.Context, profile string, n int) error
	// Close gives up all connections. Calls under way fail with ErrTransient.
	Close() error
}

// Holder is a session that holds a board.
type Holder struct {
	wamble.Session
	Player   *wamble.Player // its identity; nil: it has none
	Accepted bool           // the terms
}

// Queries are the reads. None of them writes. Each fails with ErrNotFound,
// ErrTransient or an error that names bad data.
type Queries interface {
	// Session returns what is stored of a token.
	Session(ctx context.Context, t wamble.Token) (wamble.Session, error)
	// SessionByID and SessionByHandle find the target of a stats request: the
	// session itself, or the newest session of the identity with that handle. If
	// an identity has no session now, what is returned has no ID, but says whose
	// handle it is.
	SessionByID(ctx context.Context, id wamble.SessionID) (wamble.Session, error)
	SessionByHandle(ctx context.Context, handle string) (wamble.Session, error)
	// Holders returns sessions by their numbers, as far as they are stored, with what
	// goes with each: its identity, and whether it has accepted the terms with a hash.
	Holders(ctx context.Context, sessions []wamble.SessionID, profile string, terms [32]byte) ([]Holder, error)
	// Sessions returns the newest sessions of an identity that can be resumed, by
	// when they were last seen, at most a number of 1 to 1,000.
	Sessions(ctx context.Context, key wamble.PublicKey, most int) ([]wamble.Session, error)
	// TrustChanges returns the sessions whose trust level was changed since a mark,
	// by a batch or by hand, newest first and at most 10,000, and the next mark. A
	// change may be returned again. The first mark is 0: all changes that are known.
	TrustChanges(ctx context.Context, since int64) (changed []wamble.TrustLevel, mark int64, err error)
	// People returns players and guests, those who were seen last first. Of a name it
	// looks at the shortest handles that have it.
	People(ctx context.Context, q wamble.PeopleQuery) ([]wamble.Person, error)
	// Player returns an identity with the stats of all its sessions together.
	// The key of somebody who was merged into another one is his.
	Player(ctx context.Context, key wamble.PublicKey) (wamble.Player, error)
	// MergedKeys returns the keys of whoever was merged into an identity.
	MergedKeys(ctx context.Context, key wamble.PublicKey) ([]wamble.PublicKey, error)
	// FormerNames returns the names that an identity had before, and those of whoever was
	// merged into it, the last first, at most 1,000.
	FormerNames(ctx context.Context, key wamble.PublicKey) ([]wamble.FormerName, error)

	// LiveBoards yields every board of a shard of a profile that is not archived,
	// with its holder and its moves, in the order of creation.
	LiveBoards(ctx context.Context, profile string, shard int) iter.Seq2[wamble.Board, error]
	// Arrivals returns boards that were sent to a shard and that it has not taken in,
	// at most so many, by their numbers.
	Arrivals(ctx context.Context, profile string, shard, most int) ([]wamble.Board, error)
	// Shards returns how many shards a profile has, 1 if it was never said.
	Shards(ctx context.Context, profile string) (int, error)
	// Board returns one board of any profile and status, with its moves.
	Board(ctx context.Context, id wamble.BoardID) (wamble.Board, error)
	// Games yields boards with their moves in the order of their number, after
	// the given one; profile "" means all.
	Games(ctx context.Context, f wamble.GameFilter) iter.Seq2[wamble.Board, error]
	// Past returns one page of the boards of a profile that were there between two
	// times: made by then, and not over before. Of boards that were made at the same
	// time the higher number is first. A page may have fewer boards than asked for, or
	// none, and still have a next one: it looks at 16,384 boards at most.
	Past(ctx context.Context, q wamble.PastQuery) (wamble.Past, error)
	// Began returns when the first board of a profile was made. Errors: ErrNotFound.
	Began(ctx context.Context, profile string) (time.Time, error)

	// Scores returns what finished boards brought a player, newest first.
	Scores(ctx context.Context, q wamble.ScoreQuery) ([]wamble.Score, error)
	// Trail returns the boards that a session, and the other ones of its player, have
	// moved on last. An unknown session has none.
	Trail(ctx context.Context, id wamble.SessionID) (wamble.Trail, error)
	// Leaderboard returns one page, and the row of the asking session.
	Leaderboard(ctx context.Context, q wamble.LeaderboardQuery) (wamble.Leaderboard, error)
	// Reservations returns the boards that an identity holds now, by the time
	// at which they expire, then by number.
	Reservations(ctx context.Context, key wamble.PublicKey, now time.Time) ([]wamble.Reservation, error)
	// Predictions returns the pending predictions of some boards with all their
	// ancestors, parents before children.
	Predictions(ctx context.Context, boards ...wamble.BoardID) ([]wamble.Prediction, error)
	// PredictionsOf returns predictions of an identity in the order of their numbers,
	// after the given one, at most a number of 1 to 1,000. Their depth is not told.
	PredictionsOf(ctx context.Context, key wamble.PublicKey, after wamble.PredictionID, most int) ([]wamble.Prediction, error)
	// TermsOf returns which terms the sessions of an identity have accepted, the newest
	// first, at most 1,000.
	TermsOf(ctx context.Context, key wamble.PublicKey) ([]wamble.Acceptance, error)
	// TermsAccepted reports whether a session accepted this revision of a
	// profile's terms.
	TermsAccepted(ctx context.Context, id wamble.SessionID, profile string, hash [32]byte) (bool, error)
}
