package profile

import (
	"errors"

	"wamble"
	"wamble/internal/intent"
	"wamble/internal/session"
	"wamble/wire"
)

// kick ends sessions, and tells whoever listens for them. Their boards are free.
func (p *Profile) kick(w *Word, out *Output) {
	text := "the host has ended your session"
	if w.Text != "" {
		text += ": " + w.Text
	}
	for _, s := range p.whom(w.Whom) {
		p.notify(s.Token(), 0, wire.ServerNotification{
			Type: wire.NoticeSessionExpired, Text: wire.Text(wire.Limit(text, wire.TextLimit)),
		}, out)
		if !p.mode.readOnly {
			p.boards.Release(p.clock.now, s.ID(), &p.draft)
			p.sealFor(s, out)
		}
		p.audience.hall.Leave(s.ID())
		p.sessions.Kick(p.clock.now, s)
		p.stats.Host.Kicked++
	}
}

// ban keeps somebody out, and ends what he has.
func (p *Profile) ban(w *Word, out *Output) {
	if err := p.mode.law.bans.add(p.clock.now, w); err != nil {
		out.Troubles = append(out.Troubles, err)
	}
	if w.Until.IsZero() || p.clock.now.Before(w.Until) {
		p.kick(w, out)
	}
}

// whom returns the sessions in memory that a word is about.
func (p *Profile) whom(w Whom) []*session.Session {
	var found []*session.Session
	switch {
	case !w.Token.IsZero():
		if s := p.sessions.Find(w.Token); s != nil {
			found = append(found, s)
		}
	case !w.Key.IsZero():
		found = p.sessions.Of(w.Key)
	case w.Net.IsValid():
		network := unmapped(w.Net)
		for s := range p.sessions.All() {
			if p.link.At(s.Token(), network) {
				found = append(found, s)
			}
		}
	}
	return found
}

var errNoRoom = errors.New("the journal has no room: nothing was deleted")

// erase deletes an identity. Its sessions go on as those of nobody.
func (p *Profile) erase(key wamble.PublicKey, out *Output) {
	if p.mode.readOnly {
		out.Troubles = append(out.Troubles, errNoRoom)
		return
	}
	for _, s := range p.sessions.Of(key) {
		p.boards.Identify(s.ID(), false)
		p.stats.Host.Erased++
	}
	p.sessions.Erase(p.clock.now, key, &p.draft)
	p.seal(out)
	p.sessions.Erased(key, p.gates.last)
}

// purge deletes the sessions of which nobody has heard for retention-days.
func (p *Profile) purge(out *Output) {
	days := p.cfg.Sessions.Retention
	if days == 0 {
		return
	}
	if p.mode.readOnly {
		out.Troubles = append(out.Troubles, errNoRoom)
		return
	}
	p.draft.Add(&intent.PurgeSessions{Before: p.clock.now.AddDate(0, 0, -days), At: p.clock.now})
	p.seal(out)
}
