package intent

import (
	"time"

	"wamble"
)

// Touched is the people whose stored facts an intent changes: who has them in memory and is not told
// what changed must read them again.
type Touched struct {
	Session wamble.SessionID    // 0 for none
	Keys    [2]wamble.PublicKey // identities; zero for none
	All     bool                // all sessions
}

func touchesNobody(Intent) Touched { return Touched{} }

// session is a Touched of one session, and of an identity if key is not zero.
func session(id wamble.SessionID, key wamble.PublicKey) Touched {
	return Touched{Session: id, Keys: [2]wamble.PublicKey{key}}
}

// A game that begins only adds to a count of the session, which its next reading corrects.
func (in *RecordPayout) touched() Touched  { return Touched{Session: in.Session} }
func (in *RecordRating) touched() Touched  { return session(in.Session, in.Key) }
func (in *RenewToken) touched() Touched    { return Touched{Session: in.Session} }
func (in *LinkSession) touched() Touched   { return session(in.Session, in.Key) }
func (in *UnlinkSession) touched() Touched { return Touched{Session: in.Session} }
func (in *MarkBot) touched() Touched       { return Touched{Session: in.Session} }
func (in *SetTrust) touched() Touched      { return session(in.Session, in.Key) }
func (in *SetName) touched() Touched       { return session(0, in.Key) }
func (in *ErasePlayer) touched() Touched   { return session(0, in.Key) }
func (in *MergePlayers) touched() Touched {
	return Touched{Keys: [2]wamble.PublicKey{in.From, in.Into}}
}
func (in *RevokeSessions) touched() Touched { return session(in.Session, in.Key) }
func (*PurgeSessions) touched() Touched     { return Touched{All: true} }
func (in *ResolvePrediction) touched() Touched {
	if in.Points == 0 {
		return Touched{}
	}
	return Touched{Session: in.Session}
}

func anyTime(Intent) time.Time { return time.Time{} }

func (in *CreateReservation) keptByTime() time.Time { return in.At }
func (in *RemoveReservation) keptByTime() time.Time { return in.At }
func (in *LinkSession) keptByTime() time.Time       { return in.At }
func (in *UnlinkSession) keptByTime() time.Time     { return in.At }
func (in *RenewToken) keptByTime() time.Time        { return in.At }
func (in *RevokeSessions) keptByTime() time.Time    { return in.At }
func (in *SetName) keptByTime() time.Time           { return in.At }
func (in *ErasePlayer) keptByTime() time.Time       { return in.At }
func (in *MergePlayers) keptByTime() time.Time      { return in.At }

// Locked is the rows of people that an intent changes in the store although other shards and profiles
// may change them at the same time.
type Locked struct {
	Session wamble.SessionID // 0 for none
	Player  bool             // the session's player, too, with all sessions of the player
	Key     wamble.PublicKey // a player; zero for none
}

// locksNothing is for kinds whose rows are changed by one shard alone, or are locked by their statement.
func locksNothing(Intent) Locked { return Locked{} }

func (in *RecordMove) locked() Locked {
	if !in.First {
		return Locked{}
	}
	return Locked{Session: in.Session}
}

func (in *ResolvePrediction) locked() Locked     { return Locked{Session: in.Session} }
func (in *UpdateSessionLastSeen) locked() Locked { return Locked{Session: in.Session} }
func (in *RecordPayout) locked() Locked          { return Locked{Session: in.Session, Player: true} }
func (in *RecordRating) locked() Locked {
	return Locked{Session: in.Session, Player: true, Key: in.Key}
}
