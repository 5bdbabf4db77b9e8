package access

import (
	"cmp"
	"math"
	"slices"

	"wamble"
)

// Book is the rules of a configuration. It is used by one goroutine.
type Book struct {
	chapters map[string]*chapter // by action
	byID     map[wamble.PlayerID][]string
	byKey    map[wamble.PublicKey][]string
	personal bool
	cache    map[Question]kept
}

// chapter is the rules of one action, in the order in which they decide.
type chapter struct {
	rules []wamble.PolicyRule
	// turns are the Unix seconds at which a rule begins or ceases to be in force, in order.
	turns []int64
}

// kept is a cached decision, and the Unix second from which it is invalid.
type kept struct {
	decision Decision
	until    int64
}

const (
	// scanned is the number of rules up to which decisions are not cached.
	scanned = 8
	// maxKept bounds the cache of decisions. A full cache is emptied.
	maxKept = 4096
)

// NewBook returns the book of rules, in the order of the configuration, and of the tags of identities.
func NewBook(rules []wamble.PolicyRule, tags []wamble.PolicyTag) *Book {
	b := &Book{
		chapters: map[string]*chapter{}, byID: map[wamble.PlayerID][]string{}, byKey: map[wamble.PublicKey][]string{},
		cache: map[Question]kept{},
	}
	for i := range rules {
		c := b.chapters[rules[i].Action]
		if c == nil {
			c = &chapter{}
			b.chapters[rules[i].Action] = c
		}
		c.rules = append(c.rules, rules[i])
		b.personal = b.personal || !rules[i].Who.IsZero()
	}
	for _, c := range b.chapters {
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
func (c *chapter) sort() {
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
			c.turns = append(c.turns, r.NotBefore)
		}
		if r.NotAfter != 0 {
			c.turns = append(c.turns, r.NotAfter+1)
		}
	}
	slices.Sort(c.turns)
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
func (b *Book) Empty() bool { return len(b.chapters) == 0 }

// Personal reports whether a rule names identities, so that decisions depend on the player.
func (b *Book) Personal() bool { return b.personal }

// Rules reports whether there is a rule for an action.
func (b *Book) Rules(action string) bool { return b.chapters[action] != nil }

// Decide answers a question at a time in Unix seconds. Times must not go back.
func (b *Book) Decide(now int64, q Question) Decision {
	c := b.chapters[q.Action]
	if c == nil {
		return byDefault(&q)
	}
	if len(c.rules) <= scanned {
		return b.look(c, now, &q)
	}
	if k, ok := b.cache[q]; ok && now < k.until {
		return k.decision
	}
	d := b.look(c, now, &q)
	if len(b.cache) >= maxKept {
		clear(b.cache)
	}
	b.cache[q] = kept{d, c.turn(now)}
	return d
}

// turn returns the next second at which a rule begins or ceases to be in force.
func (c *chapter) turn(now int64) int64 {
	i, _ := slices.BinarySearch(c.turns, now+1)
	if i == len(c.turns) {
		return math.MaxInt64
	}
	return c.turns[i]
}

// look finds the first rule that matches.
func (b *Book) look(c *chapter, now int64, q *Question) Decision {
	for i := range c.rules {
		if r := &c.rules[i]; b.matches(r, now, q) {
			return by(r)
		}
	}
	return byDefault(q)
}

func (b *Book) matches(r *wamble.PolicyRule, now int64, q *Question) bool {
	switch {
	case now < r.NotBefore || r.NotAfter != 0 && now > r.NotAfter:
	case r.Resource != q.Resource && (r.Resource != "*" || q.Exact):
	case r.Scope.Profile != "" && r.Scope.Profile != q.Where.Profile:
	case r.Scope.Group != "" && r.Scope.Group != q.Where.Group:
	case r.ContextKey != "" && (r.ContextKey != q.Key || r.ContextValue != q.Value):
	default:
		return r.Who.IsZero() || b.is(q.Who, &r.Who)
	}
	return false
}

// is reports whether an identity is one that a rule names.
func (b *Book) is(who Who, named *wamble.PolicyWho) bool {
	switch {
	case who == Who{}:
		return false
	case named.ID != 0:
		return wamble.PlayerID(named.ID) == who.ID
	case named.Tag != "":
		return slices.Contains(b.byID[who.ID], named.Tag) || slices.Contains(b.byKey[who.Key], named.Tag)
	}
	return named.Key == who.Key
}

// Tags returns the tags of an identity, sorted; nil if it has none.
func (b *Book) Tags(who Who) []string {
	if who == (Who{}) {
		return nil
	}
	all := slices.Concat(b.byID[who.ID], b.byKey[who.Key])
	slices.Sort(all)
	return slices.Compact(all)
}
