package intent

import (
	"time"

	"wamble"
)

// Touched is the people whose facts an intent changes: who has them in memory and did not decide it must read
// them again. Totals are no facts.
type Touched struct {
	Session wamble.SessionID    // 0 for none
	Keys    [2]wamble.PublicKey // identities, with all of their sessions; zero for none
	All     bool                // all sessions
	// Urgent says that a session or an identity ends or is renamed: no player is answered before all others
	// who share the store can find it.
	Urgent bool
}

func touchesNobody(Intent) Touched { return Touched{} }

func (in *LinkSession) touched() Touched   { return Touched{Session: in.Session} }
func (in *RenewToken) touched() Touched    { return Touched{Session: in.Session} }
func (in *MarkBot) touched() Touched       { return Touched{Session: in.Session} }
func (in *UnlinkSession) touched() Touched { return Touched{Session: in.Session, Urgent: true} }
func (in *SetTrust) touched() Touched {
	return Touched{Session: in.Session, Keys: [2]wamble.PublicKey{in.Key}}
}
func (in *SetName) touched() Touched {
	return Touched{Keys: [2]wamble.PublicKey{in.Key}, Urgent: true}
}
func (in *ErasePlayer) touched() Touched {
	return Touched{Keys: [2]wamble.PublicKey{in.Key}, Urgent: true}
}
func (in *MergePlayers) touched() Touched {
	return Touched{Keys: [2]wamble.PublicKey{in.From, in.Into}, Urgent: true}
}
func (in *RevokeSessions) touched() Touched {
	if in.Others {
		return Touched{Keys: [2]wamble.PublicKey{in.Key}, Urgent: true}
	}
	return Touched{Session: in.Session, Urgent: true}
}
func (*PurgeSessions) touched() Touched { return Touched{All: true} }

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
