package access

import (
	"math"

	"wamble"
)

// Question is who wants to do what, and where.
type Question struct {
	Who   Who
	Where Scope
	Right
	// Exact leaves out the rules for any resource.
	Exact bool
}

// Right is something that a rule can allow or deny.
type Right struct {
	Action     string // one of wamble.PolicyActions
	Resource   string
	Key, Value string // context; an empty key is none
}

// Who is the identity of an asker. The zero value is an anonymous player.
type Who struct {
	ID  wamble.PlayerID
	Key wamble.PublicKey
}

// Scope is the profile where something is asked.
type Scope struct {
	Profile string
	Group   string // "": none
	Open    bool   // what no rule is about is allowed
}

// Decision is the answer to a Question.
type Decision struct {
	Allowed bool
	// Level is what the action grants; 0 when it is denied, Unbounded when no
	// rule says how much.
	Level int
	// Rule is what decided, nil when it was the default.
	Rule *wamble.PolicyRule
}

// Unbounded is the level of what is allowed by default.
const Unbounded = math.MaxInt32

// byDefault decides when no rule does.
func byDefault(q *Question) Decision {
	if !q.Where.Open || privileges[q.Action] {
		return Decision{}
	}
	return Decision{Allowed: true, Level: Unbounded}
}

// privileges are the actions that nobody may without a rule.
var privileges = func() map[string]bool {
	m := map[string]bool{}
	for _, a := range wamble.PolicyActions {
		m[a.Name] = a.Privilege
	}
	return m
}()

// by decides as a rule says.
func by(r *wamble.PolicyRule) Decision {
	if !r.Allow {
		return Decision{Rule: r}
	}
	return Decision{Allowed: true, Level: r.Level, Rule: r}
}
