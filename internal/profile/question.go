package profile

import (
	"encoding/binary"

	"wamble"
)

// Subject is what a Load asks for.
type Subject uint8

// The closed list of subjects, with the fields of Load that each uses, and where
// the answer is in the input Loaded.
const (
	// SessionOf asks for the session of Token, in Session; with its identity, in
	// Answer.Player; and if Hash is set, whether it accepted these terms of
	// Profile, in Answer.Accepted.
	SessionOf Subject = iota
	// GameOf asks for the board Board with its moves, in Board.
	GameOf
	// PlayerOf asks for the identity of Key, in Answer.Player.
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
)

// Load is a question to the store.
type Load struct {
	ID      uint64
	Subject Subject
	Token   wamble.Token
	Board   wamble.BoardID
	Key     wamble.PublicKey
	Session wamble.SessionID
	Handle  string
	Page    wamble.LeaderboardQuery
	Profile string
	Hash    [32]byte
}

// append writes a load down, for a digest.
func (l *Load) append(b []byte) []byte {
	b = binary.AppendUvarint(append(binary.AppendUvarint(b, l.ID), byte(l.Subject)), uint64(l.Board))
	b = append(append(append(b, l.Token[:]...), l.Key[:]...), l.Hash[:]...)
	b = binary.AppendVarint(b, int64(l.Session))
	b = append(append(append(b, l.Handle...), 0), l.Profile...)
	if l.Page.ByRating {
		b = append(b, 1)
	}
	b = binary.AppendVarint(binary.AppendVarint(b, int64(l.Page.Offset)), int64(l.Page.Limit))
	return binary.AppendVarint(b, int64(l.Page.Self))
}

// Answer is what the store had, beside a session or a board.
type Answer struct {
	Player       *wamble.Player
	Ranks        *wamble.Leaderboard
	Reservations []wamble.Reservation
	Accepted     bool
}
