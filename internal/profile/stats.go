package profile

import (
	"time"

	"wamble"
	"wamble/internal/board"
	"wamble/internal/link"
	"wamble/internal/spectate"
)

// Stats counts what a profile has done since it began.
type Stats struct {
	Steps      uint64
	Moves      uint64 // accepted
	Repeats    uint64 // moves that were known already
	Rejected   uint64 // moves that were refused
	Hellos     uint64 // sessions that were greeted
	NewPlayers uint64
	Offers     uint64 // hellos of addresses that were not proven
	NoBoard    uint64 // requests of players for whom there was no board
	Finished   uint64 // games
	Scores     ScoreStats
	Deals      DealStats
	Released   uint64 // boards that were taken from their holder
	Loads      uint64
	Refused    uint64 // requests answered with an ERROR
	Damaged    uint64 // stored boards that could not be restored as they were
	Evicted    uint64 // players who went to the store
	Sent       uint64 `json:",omitempty"` // boards, to other shards
	Arrived    uint64 `json:",omitempty"` // boards, of other shards
	Host       HostStats
}

// DealStats counts how boards were dealt, and answered.
type DealStats struct {
	Given   uint64        // boards that players got
	Own     uint64        // of them, those on which the player moved last himself
	Fresh   uint64        // of them, those on which nobody had moved
	Same    uint64        // of them, those on which the player made his last move: he was not switched
	Turns   uint64        // of them, those for which the player had to wait
	Answers uint64        // moves that followed another one
	Waited  time.Duration // how long their boards had waited for them, together
	Visits  uint64        // of people, that have ended
	SawEnd  uint64        // of them, those in which a game ended that the visitor had moved in
}

// ScoreStats counts what came of finished games, and what was predicted.
type ScoreStats struct {
	Payouts     uint64 // shares of their pots
	Ratings     uint64 // changes of ratings
	Predictions uint64 // accepted
}

// HostStats counts what came of the host's commands.
type HostStats struct {
	Kicked    uint64 // sessions that the host has ended
	Banned    uint64 // requests of banned players
	Announced uint64 // notifications that were sent
	Revoked   uint64 // sessions whose token was voided
	Erased    uint64 // sessions whose identity was deleted
	Trusted   uint64 // sessions, or identities, whose trust the host has set
	Archived  uint64 // games that the host has ended
	Renamed   uint64 // identities that the host has given a name
	Merged    uint64 // identities that the host has merged into others
}

// Plus adds what came of commands elsewhere.
func (h HostStats) Plus(o HostStats) HostStats {
	return HostStats{
		h.Kicked + o.Kicked, h.Banned + o.Banned, h.Announced + o.Announced, h.Revoked + o.Revoked,
		h.Erased + o.Erased, h.Trusted + o.Trusted, h.Archived + o.Archived, h.Renamed + o.Renamed, h.Merged + o.Merged,
	}
}

// Gauges is what a profile holds now.
type Gauges struct {
	Boards, FreeBoards    int
	AsleepBoards, Here    int // Here: players who hold a board and are not gone
	Waiting               int // players for whom there is no board
	Players, LivePlayers  int
	Bots                  int // of LivePlayers, those who are programs
	Watchers              int
	Predictions           int
	Held                  int // answers behind the gate
	Loading               int // loads under way
	UnsettledGates        int // durable, but not yet in the store
	BoardIDs, SessionIDs  int64
	Starting, Failed, Off bool // Off: the store is away
}

// Stats returns the counters.
func (p *Profile) Stats() Stats { return p.stats }

// LinkStats returns the counters of the reliable delivery.
func (p *Profile) LinkStats() link.Stats { return p.link.Stats() }

// Gauges returns what the profile holds now.
func (p *Profile) Gauges() Gauges {
	return Gauges{
		Boards: p.boards.Len(), FreeBoards: p.boards.Free(), AsleepBoards: p.boards.Asleep(), Here: p.boards.Here(), Waiting: p.waitlist.here(),
		Players: p.sessions.Len(), LivePlayers: p.sessions.Present(), Bots: p.sessions.Bots(),
		Watchers: p.audience.hall.Len(), Predictions: p.audience.book.Len(), Held: p.link.Held(), Loading: len(p.loads.byID),
		UnsettledGates: len(p.gates.pending) - p.gates.first,
		BoardIDs:       p.leases.Left(wamble.BoardIDs), SessionIDs: p.leases.Left(wamble.SessionIDs),
		Starting: p.stage == starting, Failed: p.stage == failed, Off: p.storeAway,
	}
}

// Crowds returns the boards that most watch, at most so many.
func (p *Profile) Crowds(most int) []spectate.Crowd { return p.audience.hall.Crowds(most) }

// Health is how games get on at a moment. It looks at every board.
func (p *Profile) Health(now time.Time) board.Health { return p.boards.Health(now) }

// Census counts the boards by status; an archived one is no longer here.
func (p *Profile) Census() [wamble.Archived]int { return p.boards.Census() }
