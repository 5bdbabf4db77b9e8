package profile

import (
	"wamble"
	"wamble/internal/config"
	"wamble/internal/journal"
	"wamble/internal/session"
)

// Lease asks for Count numbers of a sequence.
type Lease struct {
	Sequence wamble.Sequence
	Count    int
}

// Leased is the answer to a Lease. Without blocks the lease has failed, and will be repeated.
type Leased struct {
	Sequence wamble.Sequence
	Blocks   []wamble.Block
}

func (in *Leased) apply(p *Profile, _ *Output) {
	if int(in.Sequence) < len(wamble.Sequences()) { // a damaged recording may hold any number
		p.leases.Add(in.Sequence, in.Blocks)
	}
}

// leased lists the sequences of which a profile needs numbers.
var leased = [...]wamble.Sequence{wamble.BoardIDs, wamble.SessionIDs, wamble.PlayerIDs, wamble.PredictionIDs}

// smallProfile is the largest max-players with which leases begin small. With more, all players may come at
// once.
const smallProfile = 1024

// beginSmall makes the first leases of boards and sessions small, since people read these numbers and a
// crash wastes the rest of a lease.
func beginSmall(l *journal.Leases, c *config.Profile) {
	players := 0
	if c.Sessions.MaxPlayers > smallProfile {
		players = c.Sessions.MaxPlayers
	}
	l.BeginSmall(wamble.BoardIDs, max(c.Boards.MinBoards, players))
	l.BeginSmall(wamble.SessionIDs, players)
}

// requestLeases asks for numbers of sequences that run out.
func (p *Profile) requestLeases(out *Output) {
	if p.stage == failed {
		return
	}
	for _, s := range leased {
		if s == wamble.PredictionIDs && !p.audience.predictions.Open() {
			continue
		}
		if n := p.leases.Want(s, p.clock.since); n > 0 {
			out.Leases = append(out.Leases, Lease{s, n})
		}
	}
}

// Numbers returns the leased unused numbers of a sequence, in the order of their leases.
func (p *Profile) Numbers(s wamble.Sequence) []wamble.Block { return p.leases.Blocks(s) }

// numbers returns a function that takes the next leased number of a sequence.
func numbers[ID ~int64 | ~uint64](p *Profile, s wamble.Sequence) func() (ID, bool) {
	return func() (ID, bool) {
		n, ok := p.leases.Next(s)
		return ID(n), ok
	}
}

func (p *Profile) sessionIDs() session.IDs {
	return session.IDs{
		Session: numbers[wamble.SessionID](p, wamble.SessionIDs),
		Player:  numbers[wamble.PlayerID](p, wamble.PlayerIDs),
	}
}
