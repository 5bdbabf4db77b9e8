package profile

import (
	"iter"
	"slices"
	"time"

	"wamble"
	"wamble/internal/link"
	"wamble/wire"
)

// announcements is the notices on their way to all linked sessions, and the announcements that stay. Notices
// are sent in portions, so that no burst of packets delays players.
type announcements struct {
	notices  []notice
	tokens   []wamble.Token // the notices are still to be sent to them
	next     time.Time      // when the next portion is due
	standing []Standing
}

// remaining yields the notices of the announcements that stay, without those that are over.
func (a *announcements) remaining(now time.Time) iter.Seq[notice] {
	return func(yield func(notice) bool) {
		for i := range a.standing {
			if s := &a.standing[i]; s.secondsLeft(now) > 0 && !yield(s.notice(now)) {
				return
			}
		}
	}
}

// replace replaces the announcements that stay, and returns the notices of those that are new or withdrawn.
func (a *announcements) replace(now time.Time, all []Standing) (changed []notice) {
	has := func(list []Standing, id int64) bool {
		return slices.ContainsFunc(list, func(s Standing) bool { return s.ID == id })
	}
	for i := range a.standing {
		if s := &a.standing[i]; !has(all, s.ID) && s.secondsLeft(now) > 0 {
			changed = append(changed, s.withdrawn())
		}
	}
	for i := range all {
		if s := &all[i]; !has(a.standing, s.ID) && s.secondsLeft(now) > 0 {
			changed = append(changed, s.notice(now))
		}
	}
	a.standing = slices.Clone(all[:min(len(all), MaxStanding)])
	return changed
}

// begin begins to send notices to sessions.
func (a *announcements) begin(now time.Time, tokens []wamble.Token, notices []notice) {
	a.tokens, a.next, a.notices = tokens, now, notices
}

// due returns the next portion: the sessions that are sent the notices now.
func (a *announcements) due(now time.Time) []wamble.Token {
	if len(a.tokens) == 0 || now.Before(a.next) {
		return nil
	}
	n := min(announcedAtOnce, len(a.tokens))
	portion := a.tokens[:n]
	a.tokens, a.next = a.tokens[n:], now.Add(announcedEvery)
	return portion
}

// notice is a notification with its fields.
type notice struct {
	wire.ServerNotification
	fields []wire.Field
}

// The size of a portion, and the time between two: 12,800 players a second.
const (
	announcedAtOnce = 128
	announcedEvery  = 10 * time.Millisecond
)

// Announce sends a notification to all linked sessions, in portions. It ends an announcement that is still
// under way: only the newest counts.
type Announce struct {
	Notice wire.NoticeType // NoticeMaintenance or NoticeAnnouncement
	Text   string          // cut to wire.TextLimit bytes
}

func (in *Announce) apply(p *Profile, _ *Output) {
	p.announceAll(notice{ServerNotification: wire.ServerNotification{
		Type: in.Notice, Text: wire.Text(wire.Limit(in.Text, wire.TextLimit)),
	}})
}

// Standing is an announcement that stays until a time: players who come before that get it.
type Standing struct {
	ID        int64 // unique
	Notice    wire.NoticeType
	Text      string
	Until     time.Time // by the wall clock
	Countdown bool      // the announced event happens at Until
}

// MaxStanding bounds how many announcements stay at once.
const MaxStanding = 8

// SetStanding replaces all announcements that stay. Linked sessions are notified of new and withdrawn
// ones, unless Quiet is set because they know already.
type SetStanding struct {
	All   []Standing
	Quiet bool `json:",omitempty"`
}

func (in *SetStanding) apply(p *Profile, _ *Output) {
	changed := p.announcements.replace(p.clock.wall(), in.All)
	if !in.Quiet && len(changed) > 0 {
		p.announceAll(changed...)
	}
}

// secondsLeft returns for how many more seconds the announcement stays, rounded up.
func (s *Standing) secondsLeft(now time.Time) int64 {
	return int64((s.Until.Sub(now) + time.Second - 1) / time.Second)
}

func (s *Standing) notice(now time.Time) notice {
	fields := []wire.Field{wire.Int(wire.KeyNoticeID, s.ID), wire.Int(wire.KeyNoticeSeconds, s.secondsLeft(now))}
	if s.Countdown {
		fields = append(fields, wire.Int(wire.KeyNoticeCountdown, 1))
	}
	return notice{wire.ServerNotification{Type: s.Notice, Text: wire.Text(wire.Limit(s.Text, wire.TextLimit))}, fields}
}

// withdrawn returns the notice that the announcement was withdrawn, also in words for clients that ignore
// fields.
func (s *Standing) withdrawn() notice {
	text := wire.Limit("withdrawn: "+s.Text, wire.TextLimit)
	return notice{wire.ServerNotification{Type: wire.NoticeAnnouncement, Text: wire.Text(text)},
		[]wire.Field{wire.Int(wire.KeyNoticeID, s.ID), wire.Int(wire.KeyNoticeSeconds, 0)}}
}

// addAnnouncements adds the announcements that stay to the answers of a hello. They are answers because a push
// would not find the session of a newcomer yet.
func (p *Profile) addAnnouncements(r *request, token wamble.Token) {
	for n := range p.announcements.remaining(p.clock.wall()) {
		link.Answer(p.link, r.id, wire.Header{Flags: wire.FlagUnreliable, Token: token}, n.ServerNotification,
			n.fields...)
	}
}

// pushAnnouncements sends the announcements that stay to a player who has accepted an offer.
func (p *Profile) pushAnnouncements(token wamble.Token, out *Output) {
	for n := range p.announcements.remaining(p.clock.wall()) {
		p.notice(token, n, out)
	}
}

// notice pushes a notification with its fields.
func (p *Profile) notice(token wamble.Token, n notice, out *Output) {
	h := wire.Header{Flags: wire.FlagUnreliable, Token: token}
	if packet, err := wire.Append(p.scratch.push[:0], h, n.ServerNotification, n.fields...); err == nil {
		p.push(token, packet, out)
	}
}

// announceAll begins to send notices to all linked sessions.
func (p *Profile) announceAll(notices ...notice) {
	if p.stage == failed {
		return
	}
	tokens := p.announcements.tokens[:0]
	for s := range p.sessions.All() {
		if p.link.Linked(s.Token()) {
			tokens = append(tokens, s.Token())
		}
	}
	p.announcements.begin(p.clock.now, tokens, notices)
}

// announce sends the next portion of the announcement if it is due.
func (p *Profile) announce(out *Output) {
	a := &p.announcements
	portion := a.due(p.clock.now)
	if len(portion) == 0 {
		return
	}
	for _, token := range portion {
		for _, notice := range a.notices {
			p.notice(token, notice, out)
		}
	}
	p.stats.Host.Announced += uint64(len(portion))
	if len(a.tokens) == 0 {
		a.tokens, a.notices = nil, nil
	}
}
