package profile

import (
	"time"

	"wamble"
	"wamble/wire"
)

// announcement is an Announce that is under way: it is sent a portion at a time,
// so that no burst of packets keeps players waiting.
type announcement struct {
	notice wire.ServerNotification
	tokens []wamble.Token // whom it is still to be sent to
	next   time.Time      // when the next portion is due
}

// The size of a portion, and the time between two: 12,800 players a second.
const (
	announcedAtOnce = 128
	announcedEvery  = 10 * time.Millisecond
)

// Announce says something to everybody who is here, a portion at a time. An
// announcement that is still under way is left unfinished: the newest counts.
type Announce struct {
	Notice wire.NoticeType // NoticeMaintenance or NoticeAnnouncement
	Text   string          // players keep wire.TextLimit bytes of it
}

func (in *Announce) take(p *Profile, _ *Output) {
	if p.stage == failed {
		return
	}
	a := &p.announcement
	a.notice = wire.ServerNotification{Type: in.Notice, Text: wire.Text(wire.Limit(in.Text, wire.TextLimit))}
	a.tokens, a.next = a.tokens[:0], p.clock.now
	for s := range p.sessions.All() {
		if p.link.Linked(s.Token()) {
			a.tokens = append(a.tokens, s.Token())
		}
	}
}

// announce sends the announcement that is under way to the next portion.
func (p *Profile) announce(out *Output) {
	a := &p.announcement
	if len(a.tokens) == 0 || p.clock.now.Before(a.next) {
		return
	}
	n := min(announcedAtOnce, len(a.tokens))
	for _, token := range a.tokens[:n] {
		p.notify(token, 0, a.notice, out)
	}
	p.stats.Host.Announced += uint64(n)
	a.tokens, a.next = a.tokens[n:], p.clock.now.Add(announcedEvery)
	if len(a.tokens) == 0 {
		*a = announcement{}
	}
}
