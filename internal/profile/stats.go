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
	Repeats    uint64 // moves that had been played already
	Rejected   uint64 // moves that were refused
	Hellos     uint64 // greeted sessions
	NewPlayers uint64
	Offers     uint64 // hellos of unproven addresses
	NoBoard    uint64 // requests of players who got no board
	Finished   uint64 // games
	Scores     ScoreStats
	Deals      DealStats
	Released   uint64 // boards that were taken from their holder
	Loads      uint64
	Refused    uint64 // requests answered with an ERROR
	Damaged    uint64 // stored boards that could not be restored as they were
	Evicted    uint64 // sessions that were evicted from memory
	Sent       uint64 `json:",omitempty"` // boards sent to other shards
	Arrived    uint64 `json:",omitempty"` // boards received from other shards
	Host       HostStats
}

// DealStats counts assignments of boards, and the moves on them.
type DealStats struct {
	Given   uint64        // boards that players got
	Own     uint64        // of them, those with the player's own move as the last
	Fresh   uint64        // of them, those without a move
	Same    uint64        // of them, those on which the player made their last move
	Turns   uint64        // of them, those after a wait on the waitlist
	Answers uint64        // moves that followed a move
	Waited  time.Duration // total time that the boards had waited for these moves
	Visits  uint64        // ended visits of people
	SawEnd  uint64        // of them, those in which a game ended that the visitor had moved in
}

// ScoreStats counts results of finished games, and predictions.
type ScoreStats struct {
	Payouts     uint64 // shares of pots
	Ratings     uint64 // changes of ratings
	Predictions uint64 // accepted
}

// HostStats counts the effects of the host's commands.
type HostStats struct {
	Kicked    uint64 // sessions ended
	Banned    uint64 // requests of banned players
	Announced uint64 // notifications sent
	Revoked   uint64 // sessions whose token was voided
	Erased    uint64 // sessions whose identity was deleted
	Trusted   uint64 // sessions or identities whose trust was set
	Archived  uint64 // games ended
	Renamed   uint64 // identities renamed
	Merged    uint64 // identities merged into others
}

// Add adds the counts of another profile or shard.
func (h HostStats) Add(o HostStats) HostStats {
	return HostStats{
		h.Kicked + o.Kicked, h.Banned + o.Banned, h.Announced + o.Announced, h.Revoked + o.Revoked,
		h.Erased + o.Erased, h.Trusted + o.Trusted, h.Archived + o.Archived, h.Renamed + o.Renamed, h.Merged + o.Merged,
	}
}

// Gauges is the present size of a profile.
type Gauges struct {
	Boards, FreeBoards    int
	AsleepBoards, Here    int // Here: players who hold a board and are not gone
	Waiting               int // players on the waitlist who are here
	Players, LivePlayers  int
	Bots                  int // of LivePlayers, the programs
	Watchers              int
	Predictions           int
	Held                  int // answers behind the durable index
	Loading               int // loads under way
	BoardIDs, SessionIDs  int64
	Starting, Failed, Off bool // Off: the store is away
}

// Stats returns the counters.
func (p *Profile) Stats() Stats { return p.stats }

// LinkStats returns the counters of the reliable delivery.
func (p *Profile) LinkStats() link.Stats { return p.link.Stats() }

// Gauges returns the present size of the profile.
func (p *Profile) Gauges() Gauges {
	return Gauges{
		Boards: p.boards.Len(), FreeBoards: p.boards.Free(), AsleepBoards: p.boards.Asleep(), Here: p.boards.Here(),
		Waiting: p.waitlist.here(),
		Players: p.sessions.Len(), LivePlayers: p.sessions.Present(), Bots: p.sessions.Bots(),
		Watchers: p.audience.spectators.Len(), Predictions: p.audience.predictions.Len(), Held: p.link.Held(),
		Loading:  len(p.loads.byID),
		BoardIDs: p.leases.Remaining(wamble.BoardIDs), SessionIDs: p.leases.Remaining(wamble.SessionIDs),
		Starting: p.stage == starting, Failed: p.stage == failed, Off: p.storeAway,
	}
}

// Audiences returns at most most boards, those with the most spectators.
func (p *Profile) Audiences(most int) []spectate.BoardAudience {
	return p.audience.spectators.Audiences(most)
}

// Health returns the progress of games at a moment. It scans all boards.
func (p *Profile) Health(now time.Time) board.Health { return p.boards.Health(now) }

// Census counts the boards by status. Archived boards are not in memory.
func (p *Profile) Census() [wamble.Archived]int { return p.boards.Census() }
