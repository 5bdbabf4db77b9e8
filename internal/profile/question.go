package profile

import (
	"wamble"
)

// Subject is what a Load asks for.
type Subject uint8

// The closed list of subjects, with the fields of Load that each uses, and the fields of Loaded that have
// the answer.
const (
	// SessionOf asks for the session of Token, in Session; with its identity, in Answer.Player; and if Hash
	// is set, whether it has accepted these terms of Profile, in Answer.Accepted.
	SessionOf Subject = iota
	// GameOf asks for the board Board with its moves, in Board.
	GameOf
	// PlayerOf asks for the identity of Key, in Answer.Player. If there is none and First is set, First is
	// made that identity.
	PlayerOf
	// TargetOf asks for the session with the number Session, or the newest one of
	// the identity with Handle, in Session, with its identity in Answer.Player.
	TargetOf
	// RanksOf asks for a page of the leaderboard, Page, in Answer.Ranks.
	RanksOf
	// ReservationsOf asks for the boards that Key holds, in all stores, in
	// Answer.Reservations.
	ReservationsOf
	// TermsOf asks whether Session accepted the revision Hash of the terms of
	// Profile, in Answer.Accepted.
	TermsOf
	// SessionsOf asks for the newest sessions of Key, in Answer.Sessions.
	SessionsOf
	// NameOf asks which session has the name Handle, in Session, and for the identity of Key, in
	// Answer.Player. No other player in this process can get the name before the answer is decided. If
	// First.Renamed is set, the identity gets the name with that time, unless another player has it or the
	// identity must keep its own name; Answer.Player is the result.
	NameOf
	// OtherShardsOf asks the other shards of the profile about Ask, in Answer.Board.
	OtherShardsOf
)

// Load is a query to the store.
type Load struct {
	ID      uint64
	Subject Subject
	Token   wamble.Token
	Board   wamble.BoardID
	Key     wamble.PublicKey
	First   wamble.Player
	Session wamble.SessionID
	Handle  string
	Page    wamble.LeaderboardQuery
	Profile string
	Hash    [32]byte
	Ask     BoardRequest
}

// Answer is what the store has, besides a session or a board.
type Answer struct {
	Player       *wamble.Player
	Ranks        *wamble.Leaderboard
	Reservations []wamble.Reservation
	Accepted     bool
	Sessions     []wamble.Session
	Board        *BoardReply `json:"Told,omitempty"`
}
