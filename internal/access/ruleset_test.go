package access

import (
	"fmt"
	"slices"
	"strconv"
	"testing"

	"wamble"
	"wamble/internal/prooftest"
)

// rule returns an allow rule for everybody, with changes.
func rule(change ...func(*wamble.PolicyRule)) wamble.PolicyRule {
	r := wamble.PolicyRule{Allow: true, Action: "game.move", Resource: "play"}
	for _, c := range change {
		c(&r)
	}
	return r
}

func deny(r *wamble.PolicyRule)            { r.Allow = false }
func level(n int) func(*wamble.PolicyRule) { return func(r *wamble.PolicyRule) { r.Level = n } }
func id(n int64) func(*wamble.PolicyRule)  { return func(r *wamble.PolicyRule) { r.Who.ID = n } }
func tag(name string) func(*wamble.PolicyRule) {
	return func(r *wamble.PolicyRule) { r.Who.Tag = name }
}
func key(k wamble.PublicKey) func(*wamble.PolicyRule) {
	return func(r *wamble.PolicyRule) { r.Who.Key = k }
}
func in(profile string) func(*wamble.PolicyRule) {
	return func(r *wamble.PolicyRule) { r.Scope.Profile = profile }
}
func inGroup(group string) func(*wamble.PolicyRule) {
	return func(r *wamble.PolicyRule) { r.Scope.Group = group }
}
func about(resource string) func(*wamble.PolicyRule) {
	return func(r *wamble.PolicyRule) { r.Resource = resource }
}
func from(second int64) func(*wamble.PolicyRule) {
	return func(r *wamble.PolicyRule) { r.NotBefore = second }
}
func to(second int64) func(*wamble.PolicyRule) {
	return func(r *wamble.PolicyRule) { r.NotAfter = second }
}
func context(key, value string) func(*wamble.PolicyRule) {
	return func(r *wamble.PolicyRule) { r.ContextKey, r.ContextValue = key, value }
}

var (
	here  = Scope{Profile: "here", Group: "blue", Open: true}
	alice = Who{ID: 7, Key: wamble.PublicKey{7}}
	play  = Question{Where: here, Right: Right{Action: "game.move", Resource: "play"}}
)

func asked(who Who) Question {
	q := play
	q.Who = who
	return q
}

// TestOrder: of two rules that match, the first of the package comment decides,
// whichever stands first in the file.
func TestOrder(t *testing.T) {
	for _, tc := range []struct {
		name         string
		first, other wamble.PolicyRule
	}{
		{"own before everybody, though the other is for the profile", rule(id(7)), rule(deny, in("here"))},
		{"by key", rule(key(alice.Key)), rule(deny)},
		{"by tag", rule(tag("friend")), rule(deny)},
		{"profile before group", rule(in("here")), rule(deny, inGroup("blue"))},
		{"group before any", rule(inGroup("blue")), rule(deny)},
		{"the resource before any", rule(), rule(deny, about("*"))},
		{"scope before resource", rule(in("here"), about("*")), rule(deny)},
		{"context before none", rule(context("k", "v")), rule(deny)},
		{"resource before context", rule(), rule(deny, about("*"), context("k", "v"))},
		{"deny before allow", rule(deny), rule()},
	} {
		for name, rules := range map[string][]wamble.PolicyRule{"as is": {tc.first, tc.other},
			"reversed": {tc.other, tc.first}} {
			b := NewRuleSet(rules, []wamble.PolicyTag{{Who: wamble.PolicyWho{ID: 7}, Tag: "friend"}})
			q := asked(alice)
			q.Key, q.Value = "k", "v"
			if got := b.Decide(0, q); got.Allowed != tc.first.Allow || got.Rule == nil {
				t.Errorf("%s, %s: got %+v", tc.name, name, got)
			}
		}
	}
	b := NewRuleSet([]wamble.PolicyRule{rule(level(1)), rule(level(2))}, nil)
	if got := b.Decide(0, play); got.Level != 2 {
		t.Errorf("of two equal rules: got level %d, want that of the later, 2", got.Level)
	}
}

func TestMatch(t *testing.T) {
	for _, tc := range []struct {
		name string
		rule wamble.PolicyRule
		who  Who
		now  int64
		want bool // the rule, which denies, decides
	}{
		{"everybody", rule(deny), Who{}, 0, true},
		{"somebody else", rule(deny, id(8)), alice, 0, false},
		{"an anonymous player is nobody's number", rule(deny, id(7)), Who{}, 0, false},
		{"nor a key", rule(deny, key(wamble.PublicKey{})), alice, 0, true}, // no key: it is for everybody
		{"another tag", rule(deny, tag("foe")), alice, 0, false},
		{"a tag by key", rule(deny, tag("known")), alice, 0, true},
		{"another profile", rule(deny, in("there")), alice, 0, false},
		{"another group", rule(deny, inGroup("red")), alice, 0, false},
		{"another resource", rule(deny, about("legal")), alice, 0, false},
		{"a context that is not asked", rule(deny, context("k", "v")), alice, 0, false},
		{"another action", func() wamble.PolicyRule { r := rule(deny); r.Action = "game.mode"; return r }(), alice, 0, false},
		{"before its time", rule(deny, from(100)), alice, 99, false},
		{"at its beginning", rule(deny, from(100)), alice, 100, true},
		{"at its end", rule(deny, to(100)), alice, 100, true},
		{"after its time", rule(deny, to(100)), alice, 101, false},
	} {
		b := NewRuleSet([]wamble.PolicyRule{tc.rule},
			[]wamble.PolicyTag{{Who: wamble.PolicyWho{Key: alice.Key}, Tag: "known"}})
		if got := b.Decide(tc.now, asked(tc.who)); got.Allowed == tc.want {
			t.Errorf("%s: got %+v", tc.name, got)
		}
	}
}

func TestDefault(t *testing.T) {
	b := NewRuleSet(nil, nil)
	closed := here
	closed.Open = false
	for _, a := range wamble.PolicyActions {
		open := b.Decide(0, Question{Where: here, Right: Right{Action: a.Name, Resource: "*"}})
		if want := !a.Privilege; open.Allowed != want || open.Allowed && open.Level != Unbounded || open.Rule != nil {
			t.Errorf("%s in an open place: got %+v, want allowed %v", a.Name, open, want)
		}
		if got := b.Decide(0, Question{Where: closed,
			Right: Right{Action: a.Name, Resource: "*"}}); got != (Decision{}) {
			t.Errorf("%s in a closed place: got %+v", a.Name, got)
		}
	}
	if !b.Empty() || b.Personal() {
		t.Error("a book without rules says it has some")
	}
	// A rule for one resource leaves the others to the default.
	b = NewRuleSet([]wamble.PolicyRule{rule(id(7), level(3))}, nil)
	if got := b.Decide(0, asked(alice)); got.Level != 3 || b.Empty() || !b.Personal() || !b.Rules("game.move") ||
		b.Rules("game.mode") {
		t.Errorf("got %+v", got)
	}
}

// TestExact: a question about one exact resource is not answered by a rule for any.
func TestExact(t *testing.T) {
	b := NewRuleSet([]wamble.PolicyRule{rule(deny, about("*"))}, nil)
	q := play
	if b.Decide(0, q).Allowed {
		t.Error("a rule for any resource did not count")
	}
	q.Exact = true
	if got := b.Decide(0, q); got.Rule != nil || !got.Allowed {
		t.Errorf("got %+v, want the default", got)
	}
}

func TestTags(t *testing.T) {
	b := NewRuleSet(nil, []wamble.PolicyTag{
		{Who: wamble.PolicyWho{ID: 7}, Tag: "zebra"}, {Who: wamble.PolicyWho{Key: alice.Key}, Tag: "ant"},
		{Who: wamble.PolicyWho{Key: alice.Key}, Tag: "zebra"}, {Who: wamble.PolicyWho{ID: 8}, Tag: "bee"},
	})
	if got, want := b.Tags(alice), []string{"ant", "zebra"}; !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
	if got := b.Tags(Who{}); got != nil {
		t.Errorf("nobody has %v", got)
	}
}

// naive decides as the specification says: all matching rules, sorted anew for every
// question.
func naive(rules []wamble.PolicyRule, tags map[int64]string, now int64, q Question) (found *wamble.PolicyRule) {
	type candidate struct {
		rank  [6]int
		index int
	}
	var all []candidate
	number := func(ok bool) int {
		if ok {
			return 0
		}
		return 1
	}
	for i, r := range rules {
		own := r.Who.ID != 0 && r.Who.ID == int64(q.Who.ID) || r.Who.Tag != "" && tags[int64(q.Who.ID)] == r.Who.Tag
		if r.Action != q.Action || !own && !r.Who.IsZero() || r.Resource != "*" && r.Resource != q.Resource ||
			r.Scope.Profile != "" && r.Scope.Profile != q.Where.Profile || r.Scope.Group != "" &&
			r.Scope.Group != q.Where.Group ||
			r.ContextKey != "" && r.ContextValue != q.Value || now < r.NotBefore || r.NotAfter != 0 &&
			now > r.NotAfter {
			continue
		}
		scope := 2
		if r.Scope.Group != "" {
			scope = 1
		}
		if r.Scope.Profile != "" {
			scope = 0
		}
		all = append(all, candidate{[6]int{number(own), scope, number(r.Resource == q.Resource),
			number(r.ContextKey != ""), number(!r.Allow), -i}, i})
	}
	if len(all) == 0 {
		return nil
	}
	first := slices.MinFunc(all, func(a, b candidate) int { return slices.Compare(a.rank[:], b.rank[:]) })
	return &rules[first.index]
}

// TestAgainstNaive: random rule sets and questions, with time passing, so that cached answers
// have to expire in time.
func TestAgainstNaive(t *testing.T) {
	rng := prooftest.Random(t)
	pick := func(words ...string) string { return words[rng.IntN(len(words))] }
	tags := map[int64]string{1: "red", 2: "blue"}
	var told []wamble.PolicyTag
	for _, id := range []int64{1, 2} {
		told = append(told, wamble.PolicyTag{Who: wamble.PolicyWho{ID: id}, Tag: tags[id]})
	}
	for range 300 {
		var rules []wamble.PolicyRule
		for n := range 1 + rng.IntN(40) {
			r := wamble.PolicyRule{Allow: rng.IntN(2) == 0, Action: pick("game.move", "stats.read"),
				Resource: pick("*", "play", "legal"), Level: n}
			switch rng.IntN(4) {
			case 0:
				r.Who.ID = 1 + rng.Int64N(3)
			case 1:
				r.Who.Tag = pick("red", "blue")
			}
			switch rng.IntN(3) {
			case 0:
				r.Scope.Profile = pick("a", "b")
			case 1:
				r.Scope.Group = pick("g", "h")
			}
			if rng.IntN(2) == 0 {
				r.ContextKey, r.ContextValue = "k", pick("v", "w")
			}
			if rng.IntN(2) == 0 {
				r.NotBefore = 1 + rng.Int64N(50)
			}
			if rng.IntN(2) == 0 {
				r.NotAfter = r.NotBefore + rng.Int64N(50)
			}
			rules = append(rules, r)
		}
		b := NewRuleSet(rules, told)
		now := int64(0)
		for range 400 {
			now += rng.Int64N(2)
			q := Question{
				Who:   Who{ID: wamble.PlayerID(rng.IntN(4))},
				Where: Scope{Profile: pick("a", "b"), Group: pick("g", "h", ""), Open: rng.IntN(2) == 0},
				Right: Right{Action: pick("game.move", "stats.read", "game.mode"), Resource: pick("play", "legal"),
					Key: "k", Value: pick("v", "w", "x")},
			}
			got, want := b.Decide(now, q), naive(rules, tags, now, q)
			switch {
			case want == nil && (got.Rule != nil || got.Allowed != q.Where.Open):
				t.Fatalf("second %d, %+v: got %+v, want the default", now, q, got)
			case want != nil && (got.Rule == nil || got.Rule.Level != want.Level || got.Allowed != want.Allow):
				t.Fatalf("second %d, %+v: got %+v, want rule %+v", now, q, got, *want)
			}
		}
	}
}

// TestBound: the cache of answers is bounded, for any questions.
func TestBound(t *testing.T) {
	b := NewRuleSet(manyRules(100), nil)
	for n := range 3 * maxCached {
		q := play
		q.Key, q.Value = "board", strconv.Itoa(n)
		b.Decide(0, q)
		if len(b.cache) > maxCached {
			t.Fatalf("%d decisions are remembered, want %d at most", len(b.cache), maxCached)
		}
	}
}

func manyRules(n int) []wamble.PolicyRule {
	var rules []wamble.PolicyRule
	for i := range n {
		rules = append(rules, rule(id(int64(1000+i)), deny))
	}
	return rules
}

func TestDecideDoesNotAllocate(t *testing.T) {
	for _, n := range []int{0, 4, 100} {
		b := NewRuleSet(manyRules(n), nil)
		b.Decide(0, play)
		if got := testing.AllocsPerRun(1000, func() { b.Decide(1, play) }); got != 0 {
			t.Errorf("%d rules: got %v allocations, want 0", n, got)
		}
	}
}

func BenchmarkDecide(b *testing.B) {
	for _, n := range []int{0, 1, 8, 100, 10000} {
		b.Run(fmt.Sprintf("rules=%d", n), func(b *testing.B) {
			book := NewRuleSet(manyRules(n), nil)
			b.ReportAllocs()
			for b.Loop() {
				book.Decide(1, play)
			}
		})
	}
}
