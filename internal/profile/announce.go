package profile

import (
	"time"

	"wamble"
	"wamble/wire"
)

// crier says something to everybody, a portion at a time, so that no burst of
// it keeps players waiting.
type crier struct {
	notice wire.ServerNotification
	tokens []wamble.Token // who is still to hear it
	next   time.Time      // when the next portion is due
}

// A portion, and the time between two: 12,800 a second.
const (
	criedAtOnce = 128
	criedEvery  = 10 * time.Millisecond
)

// Announce says something to everybody who is here, a portion at a time. An
// announcement that is still under way is left unfinished: the newest counts.
type Announce struct {
	Notice wire.NoticeType // NoticeMaintenance or NoticeAnnouncement
	Text   string          // players keep wire.TextLimit bytes of it
}

func (in *Announce) take(p *Profile, _ *Output) {
	if p.mode.stage == failed {
		return
	}
	c := &p.mode.law.crier
	c.notice = wire.ServerNotification{Type: in.Notice, Text: wire.Text(wire.Limit(in.Text, wire.TextLimit))}
	c.tokens, c.next = c.tokens[:0], p.clock.now
	for s := range p.sessions.All() {
		if p.link.Linked(s.Token()) {
			c.tokens = append(c.tokens, s.Token())
		}
	}
}

// cry says it to the next portion.
func (p *Profile) cry(out *Output) {
	c := &p.mode.law.crier
	if len(c.tokens) == 0 || p.clock.now.Before(c.next) {
		return
	}
	n := min(criedAtOnce, len(c.tokens))
	for _, token := range c.tokens[:n] {
		p.notify(token, 0, c.notice, out)
	}
	p.stats.Host.Announced += uint64(n)
	c.tokens, c.next = c.tokens[n:], p.clock.now.Add(criedEvery)
	if len(c.tokens) == 0 {
		*c = crier{}
	}
}
