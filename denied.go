package wamble

import "fmt"

// Code is the reason of a refusal, as it travels in ERROR and LOGIN_FAILED.
type Code uint16

// The closed list of codes.
const (
	UnsupportedVersion   Code = 1000 // the client speaks a newer protocol
	AccessDenied         Code = 1001 // policy, rate limit, terms or login
	SpectateDenied       Code = 1002 // the session's trust is too low to watch
	SpectateBusy         Code = 1003 // no room for one more spectator record
	SpectateFull         Code = 1004 // max-spectators is reached
	SpectateUnavailable  Code = 1005 // no such board, or not one to be watched
	Internal             Code = 1006 // the server's fault, or its database is away
	UnknownPlayer        Code = 1007 // the token names no session
	UnknownBoard         Code = 1008 // the board is unknown, or none is free
	MoveRejected         Code = 1009 // not the holder, not the turn, bad or illegal move
	LegalMovesInvalid    Code = 1010 // the square does not exist
	PredictionReadFailed Code = 1011 // the tree cannot be read
	LeaderboardFailed    Code = 1012 // the leaderboard cannot be read
	ReservationsFailed   Code = 1013 // the reservations cannot be read
	StatsFailed          Code = 1014 // the stats cannot be read
)

// Denied is a refusal that a player may read: it becomes an ERROR packet.
type Denied struct {
	Code Code
	// Reason is at most 89 bytes, the length that old clients keep.
	Reason string
	// Blocking tells the client that it cannot go on as it is (ask for a new
	// session, choose another profile) instead of trying again.
	Blocking bool
}

func (d *Denied) Error() string { return fmt.Sprintf("denied (%d): %s", d.Code, d.Reason) }
