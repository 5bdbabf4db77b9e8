package access

import (
	"cmp"
	"math"
	"slices"

	"wamble"
)

// RuleSet is the rules of a configuration. It is used by one goroutine.
type RuleSet struct {
	byAction map[string]*actionRules // by action
	byID     map[wamble.PlayerID][]string
	byKey    map[wamble.PublicKey][]string
	personal bool
	cache    map[Question]cachedDecision
}

// actionRules is the rules of one action, in the order in which they decide.
type actionRules struct {
	rules []wamble.PolicyRule
	// switchTimes are the Unix seconds at which a rule begins or ceases to be in force, in order.
	switchTimes []int64
}

// cachedDecision is a cached decision, and the Unix second from which it is invalid.
type cachedDecision struct {
	decision Decision
	until    int64
}

const (
	// maxUncached is the number of rules up to which decisions are not cached.
	maxUncached = 8
	// maxCached bounds the cache of decisions. A full cache is emptied.
	maxCached = 4096
)

// NewRuleSet returns the rule set of rules, in the order of the configuration, and of the tags of identities.
func NewRuleSet(rules []wamble.PolicyRule, tags []wamble.PolicyTag) *RuleSet {
	b := &RuleSet{
		byAction: map[string]*actionRules{}, byID: map[wamble.PlayerID][]string{},
		byKey: map[wamble.PublicKey][]string{},
		cache: map[Question]cachedDecision{},
	}
	for i := range rules {
		c := b.byAction[rules[i].Action]
		if c == nil {
			c = &actionRules{}
			b.byAction[rules[i].Action] = c
		}
		c.rules = append(c.rules, rules[i])
		b.personal = b.personal || !rules[i].Who.IsZero()
	}
	for _, c := range b.byAction {
		c.sort()
	}
	for _, t := range tags {
		if t.Who.ID != 0 {
			id := wamble.PlayerID(t.Who.ID)
			b.byID[id] = append(b.byID[id], t.Tag)
		} else {
			b.byKey[t.Who.Key] = append(b.byKey[t.Who.Key], t.Tag)
		}
	}
	return b
}

// sort sorts the rules in the order of the package comment.
func (c *actionRules) sort() {
	slices.Reverse(c.rules) // the later one first; the sort is stable
	slices.SortStableFunc(c.rules, func(a, b wamble.PolicyRule) int {
		return cmp.Or(
			before(!a.Who.IsZero(), !b.Who.IsZero()),
			before(a.Scope.Profile != "", b.Scope.Profile != ""),
			before(a.Scope.Group != "", b.Scope.Group != ""),
			before(a.Resource != "*", b.Resource != "*"),
			before(a.ContextKey != "", b.ContextKey != ""),
			before(!a.Allow, !b.Allow),
		)
	})
	for _, r := range c.rules {
		if r.NotBefore != 0 {
			c.switchTimes = append(c.switchTimes, r.NotBefore)
		}
		if r.NotAfter != 0 {
			c.switchTimes = append(c.switchTimes, r.NotAfter+1)
		}
	}
	slices.Sort(c.switchTimes)
}

// before orders true before false.
func before(a, b bool) int {
	switch {
	case a == b:
		return 0
	case a:
		return -1
	}
	return 1
}

// Empty reports whether there are no rules, so that every decision is the default.
func (s *RuleSet) Empty() bool { return len(s.byAction) == 0 }

// Personal reports whether a rule names identities, so that decisions depend on the player.
func (s *RuleSet) Personal() bool { return s.personal }

// Rules reports whether there is a rule for an action.
func (s *RuleSet) Rules(action string) bool { return s.byAction[action] != nil }

// Decide answers a question at a time in Unix seconds. Times must not go back.
func (s *RuleSet) Decide(now int64, q Question) Decision {
	c := s.byAction[q.Action]
	if c == nil {
		return byDefault(&q)
	}
	if len(c.rules) <= maxUncached {
		return s.firstMatch(c, now, &q)
	}
	if k, ok := s.cache[q]; ok && now < k.until {
		return k.decision
	}
	d := s.firstMatch(c, now, &q)
	if len(s.cache) >= maxCached {
		clear(s.cache)
	}
	s.cache[q] = cachedDecision{d, c.nextSwitch(now)}
	return d
}

// nextSwitch returns the next second at which a rule begins or ceases to be in force.
func (c *actionRules) nextSwitch(now int64) int64 {
	i, _ := slices.BinarySearch(c.switchTimes, now+1)
	if i == len(c.switchTimes) {
		return math.MaxInt64
	}
	return c.switchTimes[i]
}

// firstMatch finds the first rule that matches.
func (s *RuleSet) firstMatch(c *actionRules, now int64, q *Question) Decision {
	for i := range c.rules {
		if r := &c.rules[i]; s.matches(r, now, q) {
			return ruleDecision(r)
		}
	}
	return byDefault(q)
}

func (s *RuleSet) matches(r *wamble.PolicyRule, now int64, q *Question) bool {
	switch {
	case now < r.NotBefore || r.NotAfter != 0 && now > r.NotAfter:
	case r.Resource != q.Resource && (r.Resource != "*" || q.Exact):
	case r.Scope.Profile != "" && r.Scope.Profile != q.Where.Profile:
	case r.Scope.Group != "" && r.Scope.Group != q.Where.Group:
	case r.ContextKey != "" && (r.ContextKey != q.Key || r.ContextValue != q.Value):
	default:
		return r.Who.IsZero() || s.isNamed(q.Who, &r.Who)
	}
	return false
}

// isNamed reports whether an identity is one that a rule names.
func (s *RuleSet) isNamed(who Who, named *wamble.PolicyWho) bool {
	switch {
	case who == Who{}:
		return false
	case named.ID != 0:
		return wamble.PlayerID(named.ID) == who.ID
	case named.Tag != "":
		return slices.Contains(s.byID[who.ID], named.Tag) || slices.Contains(s.byKey[who.Key], named.Tag)
	}
	return named.Key == who.Key
}

// Tags returns the tags of an identity, sorted; nil if it has none.
func (s *RuleSet) Tags(who Who) []string {
	if who == (Who{}) {
		return nil
	}
	all := slices.Concat(s.byID[who.ID], s.byKey[who.Key])
	slices.Sort(all)
	return slices.Compact(all)
}
