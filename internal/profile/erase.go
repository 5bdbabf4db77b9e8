package profile

import (
	"errors"

	"wamble"
	"wamble/internal/intent"
)

var errNoRoom = errors.New("the journal has no room: nothing was changed")

// Erase deletes what belongs to an identity, and ends its sessions. Its games stay,
// as games of nobody. Sessions are those that the store has of the key: they may have
// predicted something without being in memory.
type Erase struct {
	Key      wamble.PublicKey
	Sessions []wamble.SessionID
}

func (in *Erase) take(p *Profile, out *Output) {
	if !p.deletes(out) {
		return
	}
	whose := map[wamble.SessionID]bool{}
	for _, id := range in.Sessions {
		whose[id] = true
	}
	for _, s := range p.sessions.Of(in.Key) {
		whose[s.ID()] = true
		p.endSession(s, "your data was deleted", out)
		p.stats.Host.Erased++
	}
	p.audience.gains = p.audience.book.Erase(p.clock.now, whose, p.audience.gains, &p.draft)
	p.sessions.Erase(p.clock.now, in.Key, &p.draft)
	p.forgetMerged(in.Key)
	p.seal(out)
	p.keepGainers()
	out.News = append(out.News, Change{What: Erased, Key: in.Key})
	p.sessions.Erased(in.Key, p.gates.last)
}

// Purge deletes anonymous sessions that were silent for longer than
// retention-days, with what they predicted and were shown.
type Purge struct{}

func (*Purge) take(p *Profile, out *Output) {
	days := p.cfg.Sessions.Retention
	if days == 0 || !p.deletes(out) {
		return
	}
	p.draft.Add(&intent.PurgeSessions{Before: p.clock.now.AddDate(0, 0, -days), At: p.clock.now})
	p.seal(out)
}

// deletes reports whether something of the store can be changed now. If the journal has no
// room, out says so.
func (p *Profile) deletes(out *Output) bool {
	if p.journalFull && p.stage != failed {
		out.Troubles = append(out.Troubles, errNoRoom)
	}
	return !p.journalFull && p.stage != failed
}
