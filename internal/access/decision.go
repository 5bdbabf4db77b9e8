package access

import (
	"math"

	"wamble"
)

// Question asks whether Who has a Right at Where.
type Question struct {
	Who   Who
	Where Scope
	Right
	// Exact ignores rules for any resource.
	Exact bool
}

// Right is what a rule can allow or deny.
type Right struct {
	Action     string // one of wamble.PolicyActions
	Resource   string
	Key, Value string // context; an empty key means none
}

// Who is the identity of a player. The zero value is an anonymous player.
type Who struct {
	ID  wamble.PlayerID
	Key wamble.PublicKey
}

// Scope is the profile that a question is about.
type Scope struct {
	Profile string
	Group   string // "": no group
	Open    bool   // allows actions without a matching rule
}

// Decision is the answer to a Question.
type Decision struct {
	Allowed bool
	// Level is what the action grants; 0 if it is denied, Unbounded if no rule matches.
	Level int
	// Rule is the rule that has decided, nil for the default.
	Rule *wamble.PolicyRule
}

// Unbounded is the level of what is allowed by default.
const Unbounded = math.MaxInt32

// byDefault decides if no rule matches.
func byDefault(q *Question) Decision {
	if !q.Where.Open || privileges[q.Action] {
		return Decision{}
	}
	return Decision{Allowed: true, Level: Unbounded}
}

// privileges are the actions that need a rule.
var privileges = func() map[string]bool {
	m := map[string]bool{}
	for _, a := range wamble.PolicyActions {
		m[a.Name] = a.Privilege
	}
	return m
}()

// ruleDecision returns the decision of a rule.
func ruleDecision(r *wamble.PolicyRule) Decision {
	if !r.Allow {
		return Decision{Rule: r}
	}
	return Decision{Allowed: true, Level: r.Level, Rule: r}
}
