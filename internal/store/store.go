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

// ErrTransient wraps every error of a store that may pass by itself: the connection is lost or
// refused, the transaction conflicts with another, the server is read-only after a failover,
// the disk is full. The same call may succeed later. If the caller's context ended, the error
// wraps the context's error too. Any other error of Apply is permanent: the rows themselves are
// invalid.
var ErrTransient = errors.New("the database cannot do it now")

// CursorMoved is returned by Store.Apply if the stored cursor is not where the batch begins:
// this batch, or one that overlaps it, was applied before.
type CursorMoved struct {
	At uint64 // position of the cursor
}

func (e *CursorMoved) Error() string {
	return fmt.Sprintf("the cursor stands at message %d", e.At)
}

// JournalID identifies a journal. A wiped or restored journal gets a new one.
type JournalID [16]byte

// Batch is what one transaction writes: the intents of a range of journal messages, and the new
// position of the cursor.
type Batch struct {
	Journal JournalID
	Profile string // name of a profile or shard, see ShardName
	// After and Through bound the range: messages After+1 … Through. The stored cursor must be
	// at After, and is at Through afterwards.
	After, Through uint64
	// Intents are in the order of kinds and coalesced, so that one statement can write adjacent
	// intents of equal kind. A board has at most one of CREATE_RESERVATION and
	// REMOVE_RESERVATION, the last; a session at most one of LINK_SESSION_TO_PUBKEY and
	// UNLINK_SESSION_IDENTITY. A message that erases, purges or changes an identity twice is a
	// batch by itself, in its own order.
	Intents []intent.Intent
}

// Cursor is the last message of a journal that was applied for a profile.
type Cursor struct {
	Journal JournalID
	Profile string
	Message uint64
}

// Rejection is an intent that a store can never write, and the reason.
type Rejection struct {
	Index int // index in Batch.Intents
	Err   error
}

// Store is the durable store of games and players. Its two implementations, postgres and
// sqlite, pass the same suite (store/storetest). All methods may be called from several
// goroutines.
type Store interface {
	Queries

	// Apply writes a batch and its cursor in one transaction. It returns nil only when that is
	// on disk. Errors: *CursorMoved, *Owned, ErrTransient, or a permanent one. After
	// ErrTransient the batch may nevertheless have been applied (the answer to COMMIT was
	// lost): Cursor tells. After a permanent error Probe finds the intents to leave out; if it
	// finds none, another profile interfered, and the batch can be applied again.
	Apply(ctx context.Context, b Batch) error
	// Probe finds the intents of a batch that Apply can never write, by trying them; it writes
	// nothing. Errors: ErrTransient.
	Probe(ctx context.Context, b Batch) ([]Rejection, error)
	// Cursor returns the last message of a journal that was applied for a profile, 0 if there
	// is none.
	Cursor(ctx context.Context, j JournalID, profile string) (uint64, error)
	// Snapshot calls ask with queries that all read the same state of the database, and returns
	// the cursors of that state that have moved in the last hour. A database of a single
	// process needs no cursors, and returns none. Errors: that of ask, or ErrTransient.
	Snapshot(ctx context.Context, ask func(q Queries) error) ([]Cursor, error)
	// Own makes a process the owner of a profile. A profile of another process is taken over
	// only if that process's beat is still over, or o follows it. From then on Apply writes the
	// profile's batches only while this process owns it. Errors: *Owned, ErrTransient.
	Own(ctx context.Context, profile string, o Owner, over int64) error
	// Beat records that the owner of a profile is alive. Errors: *Owned if o is not the owner
	// any more, ErrTransient.
	Beat(ctx context.Context, profile string, o Owner) error
	// Disown ends the ownership of a profile. Errors: ErrTransient.
	Disown(ctx context.Context, profile string, o Owner) error
	// Enrol returns the player of a key. If there is none it creates one with the key, handle,
	// rating and creation time of first. If several nodes do so at once, all get the same
	// player.
	Enrol(ctx context.Context, first wamble.Player) (wamble.Player, error)
	// Claim gives the player of a key a name, unless another player has it, regardless of case,
	// or the player has changed their name after since. It returns the player as stored then:
	// of several nodes that claim a name at once, one gets a player with that handle. Errors:
	// ErrNotFound.
	Claim(ctx context.Context, key wamble.PublicKey, name string, at, since time.Time) (wamble.Player, error)
	// Lease takes n numbers (1 to 1,000,000) from a table's sequence, in as few blocks as
	// possible.
	Lease(ctx context.Context, s wamble.Sequence, n int) ([]wamble.Block, error)
	// Return puts unused leased numbers back into a table's sequence, unless later numbers have
	// been leased. Blocks are in the order in which they were leased; the returned numbers may
	// be leased again.
	Return(ctx context.Context, s wamble.Sequence, blocks []wamble.Block) error
	// SetShards sets how many shards a profile has; no server may be running it. Held boards
	// become free, because the shards of their holders change, and boards of a removed shard
	// move to another.
	SetShards(ctx context.Context, profile string, n int) error
	// Close closes all connections. Calls in progress fail with ErrTransient.
	Close() error
}

// Holder is a session that holds a board.
type Holder struct {
	wamble.Session
	Player   *wamble.Player // the identity; nil if the session has none
	Accepted bool           // the session has accepted the terms
}

// Queries are the reads. Errors: ErrNotFound, ErrTransient, or one that describes invalid data.
type Queries interface {
	// Session returns the session of a token.
	Session(ctx context.Context, t wamble.Token) (wamble.Session, error)
	// SessionByID and SessionByHandle find the target of a stats request: the session itself,
	// or the newest session of the identity with that handle. If the identity has no session,
	// the result has no ID, but has the player.
	SessionByID(ctx context.Context, id wamble.SessionID) (wamble.Session, error)
	SessionByHandle(ctx context.Context, handle string) (wamble.Session, error)
	// Holders returns the stored sessions among the given ones, each with its identity and
	// whether it has accepted the terms with a hash.
	Holders(ctx context.Context, sessions []wamble.SessionID, profile string, terms [32]byte) ([]Holder, error)
	// Sessions returns the sessions of an identity that can be resumed, the last seen first, at
	// most most (1 to 1,000).
	Sessions(ctx context.Context, key wamble.PublicKey, most int) ([]wamble.Session, error)
	// TrustChanges returns the sessions whose trust level was changed since a mark, by a batch
	// or by hand, newest first and at most 10,000, and the next mark. A change may be returned
	// again. Mark 0 returns all recorded changes.
	TrustChanges(ctx context.Context, since int64) (changed []wamble.TrustLevel, mark int64, err error)
	// People returns players and guests, the last seen first. A search by name returns the
	// players with the shortest matching handles.
	People(ctx context.Context, q wamble.PeopleQuery) ([]wamble.Person, error)
	// Player returns an identity with the stats of all its sessions together. The key of a
	// merged player returns the player they were merged into.
	Player(ctx context.Context, key wamble.PublicKey) (wamble.Player, error)
	// MergedKeys returns the keys of the players that were merged into an identity.
	MergedKeys(ctx context.Context, key wamble.PublicKey) ([]wamble.PublicKey, error)
	// FormerNames returns the earlier names of an identity and of the players that were merged
	// into it, the latest first, at most 1,000.
	FormerNames(ctx context.Context, key wamble.PublicKey) ([]wamble.FormerName, error)

	// LiveBoards yields every board of a shard of a profile that is not archived, with its
	// holder and its moves, in the order of creation.
	LiveBoards(ctx context.Context, profile string, shard int) iter.Seq2[wamble.Board, error]
	// Arrivals returns at most most boards that were sent to a shard and not taken in by it, by
	// number.
	Arrivals(ctx context.Context, profile string, shard, most int) ([]wamble.Board, error)
	// Shards returns how many shards a profile has, 1 if that was never set.
	Shards(ctx context.Context, profile string) (int, error)
	// Board returns one board of any profile and status, with its moves.
	Board(ctx context.Context, id wamble.BoardID) (wamble.Board, error)
	// Games yields boards with their moves by number, after f.After; f.Profile "" means all
	// profiles.
	Games(ctx context.Context, f wamble.GameFilter) iter.Seq2[wamble.Board, error]
	// Past returns one page of the boards of a profile that existed between two times: made
	// before the end, and not finished before the begin. They are sorted by creation, the
	// newest first, then by number, the highest first. A page may have fewer boards than its
	// limit, or none, and still have a next page: it examines 16,384 boards at most.
	Past(ctx context.Context, q wamble.PastQuery) (wamble.Past, error)
	// Began returns when the first board of a profile was made. Errors: ErrNotFound.
	Began(ctx context.Context, profile string) (time.Time, error)

	// Scores returns the points and rating changes of a player by finished board, newest first.
	Scores(ctx context.Context, q wamble.ScoreQuery) ([]wamble.Score, error)
	// Trail returns the boards of the latest moves of a session and of its player's other
	// sessions. The trail of an unknown session is empty.
	Trail(ctx context.Context, id wamble.SessionID) (wamble.Trail, error)
	// Leaderboard returns one page, and the row of the asking session.
	Leaderboard(ctx context.Context, q wamble.LeaderboardQuery) (wamble.Leaderboard, error)
	// Reservations returns the boards that an identity holds at a time, by the end of the
	// reservation, then by number.
	Reservations(ctx context.Context, key wamble.PublicKey, now time.Time) ([]wamble.Reservation, error)
	// Predictions returns the pending predictions of some boards with all their ancestors,
	// parents before children.
	Predictions(ctx context.Context, boards ...wamble.BoardID) ([]wamble.Prediction, error)
	// PredictionsOf returns the predictions of an identity with numbers above after, in the
	// order of their numbers, at most most (1 to 1,000), without their depth.
	PredictionsOf(ctx context.Context, key wamble.PublicKey, after wamble.PredictionID, most int) ([]wamble.Prediction,
		error)
	// TermsOf returns the acceptances of terms by the sessions of an identity, the newest
	// first, at most 1,000.
	TermsOf(ctx context.Context, key wamble.PublicKey) ([]wamble.Acceptance, error)
	// TermsAccepted reports whether a session accepted this revision of a profile's terms.
	TermsAccepted(ctx context.Context, id wamble.SessionID, profile string, hash [32]byte) (bool, error)
}

// Unusable is an error that does not pass by itself: someone must repair the database or the
// configuration. It wraps ErrTransient, because the same call succeeds afterwards.
type Unusable struct {
	Advice string // what to do, as a sentence without a full stop
	Err    error
}

func (e *Unusable) Error() string { return fmt.Sprintf("%v. %s", e.Err, e.Advice) }
func (e *Unusable) Unwrap() error { return e.Err }
