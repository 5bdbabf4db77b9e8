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

// Policy is what players may do in a profile.
type Policy struct {
	Own      Place   // the profile itself
	Places   []Place // profiles that players may be told of, by name
	Bans     Bans
	rules    *RuleSet
	allowAll bool             // there are no rules, and the profile is open
	caps     wire.SessionCaps // of all players, if there are no rules
}

// SetConfig replaces the rules and places by those of a configuration. Bans stay.
func (p *Policy) SetConfig(c *config.Profile) {
	cfg := c.Shared
	if cfg == nil {
		cfg = &config.Shared{}
	}
	p.rules = NewRuleSet(cfg.Rules, cfg.Tags)
	p.Places = p.Places[:0]
	p.Own = placeOf(c.Neighbour())
	for _, n := range cfg.Profiles {
		if n.Name == c.Name {
			p.Own = placeOf(n)
		}
		p.Places = append(p.Places, placeOf(n))
	}
	p.allowAll = p.rules.Empty() && p.Own.Open
	p.caps = p.askCaps(time.Time{}, Who{})
}

// Rules reports whether there is a rule for an action.
func (p *Policy) Rules(action string) bool { return p.rules.Rules(action) }

// Decide decides about a right of an identity in this profile.
func (p *Policy) Decide(now time.Time, who Who, right Right) Decision {
	return p.rules.Decide(now.Unix(), Question{Who: who, Where: p.Own.scope(), Right: right})
}

// Allows decides about a request.
func (p *Policy) Allows(now time.Time, who Who, c wire.Control) bool {
	return p.allowAll || p.AllowsAt(now, who, &p.Own, c)
}

// AllowsAt decides about a request at a place.
func (p *Policy) AllowsAt(now time.Time, who Who, at *Place, c wire.Control) bool {
	return p.rules.Decide(now.Unix(), Question{
		Who: who, Where: at.scope(), Right: Right{Action: "protocol.ctrl", Resource: RequestName(c)},
	}).Allowed
}

// DenyAnybody returns why a request is refused before its session is looked up, so that it costs no load: if
// the policy denies it to all players.
func (p *Policy) DenyAnybody(now time.Time, c wire.Control) *wamble.Denied {
	if !p.rules.Personal() && !p.Allows(now, Who{}, c) {
		return ErrDenied
	}
	return nil
}

// DenyPlayer returns why the policy refuses a request of an identity, or nil: it checks the request, and the
// right that the request needs besides, if any.
func (p *Policy) DenyPlayer(now time.Time, who Who, c wire.Control, needs Right) *wamble.Denied {
	switch {
	case p.rules.Personal() && !p.Allows(now, who, c):
		return ErrDenied
	case needs.Action != "" && !p.allowAll && !p.Decide(now, who, needs).Allowed:
		return ErrDenied
	}
	return nil
}

// Tier returns the trust tier of an identity at a place: by a rule, or else the stored one.
func (p *Policy) Tier(now time.Time, who Who, stored int, at *Place) int {
	d := p.rules.Decide(now.Unix(),
		Question{Who: who, Where: at.scope(), Right: Right{Action: "trust.tier", Resource: "tier"}})
	if d.Rule != nil {
		return d.Level
	}
	return max(stored, 0)
}

// Discovers reports whether an identity may know of a profile: a rule says so, or the profile is advertised
// and the identity has the tier.
func (p *Policy) Discovers(now time.Time, who Who, stored int, at *Place) bool {
	q := Question{Who: who, Where: at.scope(), Right: Right{Action: "profile.discover.override"}, Exact: true}
	if p.rules.Rules(q.Action) {
		for _, resource := range []string{"profile:" + at.Name, "profile_selector:" + at.Group, "*"} {
			q.Resource = resource
			if d := p.rules.Decide(now.Unix(), q); d.Rule != nil {
				return d.Allowed
			}
		}
	}
	return at.Advertise && p.Tier(now, who, stored, at) >= at.Visibility
}

// MayReadStats decides whether who may read the stats of another player. A rule for one of the other's tags
// precedes one without a tag.
func (p *Policy) MayReadStats(now time.Time, who, of Who) bool {
	tags := p.rules.Tags(of)
	if len(tags) == 0 {
		tags = []string{"none"}
	}
	right := Right{Action: "stats.read", Resource: "player", Key: "target.identity_tag"}
	for _, right.Value = range tags {
		if d := p.Decide(now, who, right); d.Rule != nil && d.Rule.ContextKey != "" {
			return d.Allowed
		}
	}
	return p.Decide(now, who, Right{Action: "stats.read", Resource: "player"}).Allowed
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
