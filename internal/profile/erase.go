package profile

import (
	"slices"

	"wamble"
	"wamble/internal/intent"
	"wamble/internal/session"
)

// Erase deletes the data of an identity, and ends its sessions. Its games stay, without a name. Sessions
// are the stored sessions of the key: they may have predictions without being in memory.
type Erase struct {
	Key      wamble.PublicKey
	Sessions []wamble.SessionID
	// Player is the number of the identity when the command was given, 0 if unknown. An identity with
	// another number was made with the key since, and stays.
	Player wamble.PlayerID `json:",omitempty"`
}

func (in *Erase) apply(p *Profile, out *Output) {
	if p.stage == failed {
		return
	}
	whose := map[wamble.SessionID]bool{}
	for _, id := range in.Sessions {
		whose[id] = true
	}
	of, player := p.sessions.Of(in.Key), in.Player
	if p.isAnother(in.Key, player) && slices.ContainsFunc(of, func(s *session.Session) bool { return whose[s.ID()] }) {
		player = 0 // the same identity: the store has it under another number than memory
	}
	if p.isAnother(in.Key, player) {
		p.audience.predictions.Erase(p.clock.now, whose, &p.frame)
		p.sessions.EraseStored(p.clock.now, in.Key, player, &p.frame)
		p.seal(out)
		return
	}
	for _, s := range of {
		whose[s.ID()] = true
		p.endSession(s, "your data was deleted", out)
		p.stats.Host.Erased += one(!s.Stale()) // others were told first, and have counted
	}
	p.audience.predictions.Erase(p.clock.now, whose, &p.frame)
	p.sessions.Erase(p.clock.now, in.Key, player, &p.frame)
	p.forgetMerged(in.Key)
	p.seal(out)
	p.sessions.Erased(in.Key, p.watermarks.newest)
}

// isAnother reports whether the identity in memory with a key has another number than player. Player 0
// matches any number.
func (p *people) isAnother(key wamble.PublicKey, player wamble.PlayerID) bool {
	i := p.sessions.Identity(key)
	return i != nil && player != 0 && i.ID() != player
}

// Purge deletes anonymous sessions that were silent for longer than retention-days, with their predictions
// and reservations.
type Purge struct{}

func (*Purge) apply(p *Profile, out *Output) {
	days := p.cfg.Sessions.Retention
	if days == 0 || p.stage == failed {
		return
	}
	p.frame.Add(&intent.PurgeSessions{Before: p.clock.now.AddDate(0, 0, -days), At: p.clock.now})
	p.seal(out)
}
