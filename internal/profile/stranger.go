package profile

import (
	"net/netip"
	"time"

	"wamble"
	"wamble/internal/lru"
	"wamble/wire"
)

// strangers is what is known of tokens that are not in memory: the last ones
// that the store was asked about in vain.
type strangers struct {
	unknown *lru.Table[wamble.Token, unknown]
}

// unknown is why a token names nobody, and until when that is believed.
type unknown struct {
	outcome Outcome
	until   time.Duration
}

const (
	maxUnknown = 256
	unknownTTL = 500 * time.Millisecond
)

func newStrangers() strangers {
	return strangers{unknown: lru.New[wamble.Token, unknown](maxUnknown)}
}

// missed takes down that the store had no session for a token, or failed.
func (s *strangers) missed(now time.Duration, token wamble.Token, o Outcome) {
	*s.unknown.Use(token) = unknown{o, now + unknownTTL}
}

// find returns what the store said of a token a moment ago; Found if nothing is
// known.
func (s *strangers) find(now time.Duration, token wamble.Token) Outcome {
	if u := s.unknown.Find(token); u != nil && now < u.until {
		return u.outcome
	}
	return Found
}

// reconsider forgets what the store has failed to say.
func (s *strangers) reconsider() { s.unknown = lru.New[wamble.Token, unknown](maxUnknown) }

// lookUp asks the store whose request r is, or denies the request if the store has
// failed to say so a moment ago.
func (p *Profile) lookUp(r *request, out *Output) verdict {
	switch p.strangers.find(p.clock.since, r.h.Token) {
	case Away:
		return p.deny(r, errAway)
	case Broken:
		return p.deny(r, brokenOf(SessionOf))
	}
	return p.ask(r, p.askSession(r), out)
}

// asker is who causes a load.
type asker struct {
	host   netip.Prefix
	hello  bool
	proven bool // the address receives what is sent to it
	known  bool // he has a session
}

func (p *Profile) askerOf(r *request) asker {
	from, _ := p.link.Peer(r.id)
	return asker{
		host: wamble.HostOf(from.IP()), hello: r.h.Ctrl == wire.CtrlClientHello,
		proven: p.link.Room(r.id) == wire.MaxPacket, known: r.session != nil,
	}
}

// admits reports whether there is room for one more load of an asker. A host may
// have as many as it leaves room for others, so that no host fills the room; and
// strangers leave some of it to players, strangers from unproven addresses to the
// others, and all to hellos.
func (ls *loads) admits(a asker) bool {
	reserve := ls.most * 3 / 4
	switch {
	case a.known, a.hello && a.proven:
		reserve = 0
	case a.hello, a.proven:
		reserve = ls.most / 4
	}
	return ls.byHost[a.host] < ls.most-reserve-len(ls.byID)
}
