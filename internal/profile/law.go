package profile

import (
	"strings"

	"golang.org/x/crypto/blake2b"

	"wamble"
	"wamble/internal/config"
	"wamble/internal/policy"
	"wamble/internal/session"
	"wamble/wire"
)

// law is what players may do here: the policy, the terms that they must accept,
// who is kept out, what is off for now, and what is being cried.
type law struct {
	book     *policy.Book
	free     bool    // there are no rules, and all may do what is no privilege
	places   []place // profiles that players may be told about, by name
	own      place
	bans     bans
	brownout Brownout
	crier    crier
}

// place is a profile of the house.
type place struct {
	config.Neighbour
	policy.Place
	terms terms
}

// terms are the terms of service of a place.
type terms struct {
	text     string // "": there are none
	hash     [32]byte
	revision session.Revision
}

func termsOf(text string) terms {
	hash := blake2b.Sum256([]byte(text))
	return terms{text, hash, session.RevisionOf(hash)}
}

// TermsHash is the revision of the terms that players must accept, zero if there
// are none.
func (p *Profile) TermsHash() [32]byte {
	if t := &p.mode.law.own.terms; t.text != "" {
		return t.hash
	}
	return [32]byte{}
}

// enact takes the law out of a configuration. Bans and the like stay.
func (l *law) enact(c *config.Profile) {
	house := c.House
	if house == nil {
		house = &config.House{}
	}
	l.book = policy.New(house.Rules, house.Tags)
	l.places = l.places[:0]
	l.own = placeOf(c.Neighbour())
	for _, n := range house.Profiles {
		if n.Name == c.Name {
			l.own = placeOf(n)
		}
		l.places = append(l.places, placeOf(n))
	}
	l.free = l.book.Empty() && l.own.Place.Open
}

func placeOf(n config.Neighbour) place {
	return place{n, policy.Place{Profile: n.Name, Group: n.Group, Open: n.Open}, termsOf(n.Terms)}
}

// place returns the profile with a name, the own one for "", nil if there is
// none.
func (l *law) place(name []byte) *place {
	if len(name) == 0 || string(name) == l.own.Name {
		return &l.own
	}
	for i := range l.places {
		if string(name) == l.places[i].Name {
			return &l.places[i]
		}
	}
	return nil
}

// whoOf is who a session is to the policy; without an identity, nobody.
func whoOf(s *session.Session) policy.Who {
	if s == nil || s.Identity() == nil {
		return policy.Who{}
	}
	return policy.Who{ID: s.Identity().ID(), Key: s.Identity().Key()}
}

// decide asks the policy about an action of a session, nil for a guest. An
// action without a context has no key.
func (p *Profile) decide(s *session.Session, action, resource, key, value string) policy.Decision {
	return p.mode.law.book.Decide(p.clock.now.Unix(), policy.Question{
		Who: whoOf(s), Where: p.mode.law.own.Place, Action: action, Resource: resource, Key: key, Value: value,
	})
}

// tier is the trust in a session at a place: what a rule says, else what the
// store says.
func (p *Profile) tier(s *session.Session, at *place) int {
	d := p.mode.law.book.Decide(p.clock.now.Unix(), policy.Question{
		Who: whoOf(s), Where: at.Place, Action: "trust.tier", Resource: "tier",
	})
	switch {
	case d.Rule != nil:
		return d.Level
	case s == nil:
		return 0
	}
	return max(s.Trust(), 0)
}

// requestNames are the names of requests in the policy: client_hello.
var requestNames = func() (names [256]string) {
	for c := range names {
		names[c] = "unknown"
		if ctrl := wire.Control(c); ctrl.Known() {
			names[c] = strings.ToLower(ctrl.String())
		}
	}
	return names
}()

// allows asks the policy about a request of a session.
func (p *Profile) allows(s *session.Session, c wire.Control) bool {
	return p.mode.law.free || p.decide(s, "protocol.ctrl", requestNames[c], "", "").Allowed
}

// bypasses reports whether a request is not counted by the rate limits.
func (p *Profile) bypasses(_ wamble.Peer, h wire.Header) bool {
	return p.decide(p.sessions.Find(h.Token), "rate_limit.bypass", "request", "ctrl", requestNames[h.Ctrl]).Allowed
}
