package access

import (
	"strings"
	"time"

	"wamble"
	"wamble/internal/config"
	"wamble/wire"
)

var (
	// ErrDenied is returned when the policy denies a right.
	ErrDenied = &wamble.Denied{Code: wamble.AccessDenied}
	// ErrTerms is returned when a player has not accepted the terms.
	ErrTerms = &wamble.Denied{Code: wamble.AccessDenied, Reason: "terms acceptance required"}
)

// Law is what players may do in a profile.
type Law struct {
	Own    Place   // the profile itself
	Places []Place // profiles that players may be told of, by name
	Bans   Bans
	book   *Book
	free   bool             // there are no rules, and the profile is open
	caps   wire.SessionCaps // of all players, if there are no rules
}

// Enact replaces the rules and places by those of a configuration. Bans stay.
func (l *Law) Enact(c *config.Profile) {
	house := c.House
	if house == nil {
		house = &config.House{}
	}
	l.book = NewBook(house.Rules, house.Tags)
	l.Places = l.Places[:0]
	l.Own = placeOf(c.Neighbour())
	for _, n := range house.Profiles {
		if n.Name == c.Name {
			l.Own = placeOf(n)
		}
		l.Places = append(l.Places, placeOf(n))
	}
	l.free = l.book.Empty() && l.Own.Open
	l.caps = l.askCaps(time.Time{}, Who{})
}

// Rules reports whether there is a rule for an action.
func (l *Law) Rules(action string) bool { return l.book.Rules(action) }

// Decide decides about a right of an identity in this profile.
func (l *Law) Decide(now time.Time, who Who, right Right) Decision {
	return l.book.Decide(now.Unix(), Question{Who: who, Where: l.Own.scope(), Right: right})
}

// Allows decides about a request.
func (l *Law) Allows(now time.Time, who Who, c wire.Control) bool {
	return l.free || l.AllowsAt(now, who, &l.Own, c)
}

// AllowsAt decides about a request at a place.
func (l *Law) AllowsAt(now time.Time, who Who, at *Place, c wire.Control) bool {
	return l.book.Decide(now.Unix(), Question{
		Who: who, Where: at.scope(), Right: Right{Action: "protocol.ctrl", Resource: RequestName(c)},
	}).Allowed
}

// Outside returns why a request is refused before its session is looked up, so that it costs no load: if
// the policy denies it to all players.
func (l *Law) Outside(now time.Time, c wire.Control) *wamble.Denied {
	if !l.book.Personal() && !l.Allows(now, Who{}, c) {
		return ErrDenied
	}
	return nil
}

// Inside returns why the policy refuses a request of an identity, or nil: it checks the request, and the
// right that the request needs besides, if any.
func (l *Law) Inside(now time.Time, who Who, c wire.Control, needs Right) *wamble.Denied {
	switch {
	case l.book.Personal() && !l.Allows(now, who, c):
		return ErrDenied
	case needs.Action != "" && !l.free && !l.Decide(now, who, needs).Allowed:
		return ErrDenied
	}
	return nil
}

// Tier returns the trust tier of an identity at a place: by a rule, or else the stored one.
func (l *Law) Tier(now time.Time, who Who, stored int, at *Place) int {
	d := l.book.Decide(now.Unix(), Question{Who: who, Where: at.scope(), Right: Right{Action: "trust.tier", Resource: "tier"}})
	if d.Rule != nil {
		return d.Level
	}
	return max(stored, 0)
}

// Discovers reports whether an identity may know of a profile: a rule says so, or the profile is advertised
// and the identity has the tier.
func (l *Law) Discovers(now time.Time, who Who, stored int, at *Place) bool {
	q := Question{Who: who, Where: at.scope(), Right: Right{Action: "profile.discover.override"}, Exact: true}
	if l.book.Rules(q.Action) {
		for _, resource := range []string{"profile:" + at.Name, "profile_selector:" + at.Group, "*"} {
			q.Resource = resource
			if d := l.book.Decide(now.Unix(), q); d.Rule != nil {
				return d.Allowed
			}
		}
	}
	return at.Advertise && l.Tier(now, who, stored, at) >= at.Visibility
}

// MayReadStats decides whether who may read the stats of another player. A rule for one of the other's tags
// precedes one without a tag.
func (l *Law) MayReadStats(now time.Time, who, of Who) bool {
	tags := l.book.Tags(of)
	if len(tags) == 0 {
		tags = []string{"none"}
	}
	right := Right{Action: "stats.read", Resource: "player", Key: "target.identity_tag"}
	for _, right.Value = range tags {
		if d := l.Decide(now, who, right); d.Rule != nil && d.Rule.ContextKey != "" {
			return d.Allowed
		}
	}
	return l.Decide(now, who, Right{Action: "stats.read", Resource: "player"}).Allowed
}

// RequestName returns the name of a request in the policy, such as client_hello.
func RequestName(c wire.Control) string { return requestNames[c] }

var requestNames = func() (names [256]string) {
	for c := range names {
		names[c] = "unknown"
		if ctrl := wire.Control(c); ctrl.Known() {
			names[c] = strings.ToLower(ctrl.String())
		}
	}
	return names
}()
