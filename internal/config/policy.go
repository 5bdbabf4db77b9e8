package config

import (
	"encoding/hex"
	"math"
	"slices"
	"strconv"
	"strings"

	"wamble"
	"wamble/internal/lisp"
)

// maxRules bounds the policy rules of a file, and its tags.
const maxRules = 10_000

// parameter is one positional argument of a policy form. set stores it, and returns what is
// wrong with it or "".
type parameter struct {
	name string
	kind lisp.Kind
	set  func(r *wamble.PolicyRule, v lisp.Value) string
}

// parameters has the parameters of policy-allow; policy-deny has the same without level.
var parameters = []parameter{
	{"identity", lisp.String, func(r *wamble.PolicyRule, v lisp.Value) string { return setWho(r, v.Text) }},
	{"action", lisp.String, func(r *wamble.PolicyRule, v lisp.Value) string { r.Action = v.Text; return "" }},
	{"resource", lisp.String, func(r *wamble.PolicyRule, v lisp.Value) string { r.Resource = v.Text; return "" }},
	{"level", lisp.Int, func(r *wamble.PolicyRule, v lisp.Value) string { return setLevel(r, v.Int) }},
	{"reason", lisp.String, func(r *wamble.PolicyRule, v lisp.Value) string { r.Reason = v.Text; return "" }},
	{"version", lisp.String, func(r *wamble.PolicyRule, v lisp.Value) string { r.Version = v.Text; return "" }},
	{"not-before", lisp.Int, func(r *wamble.PolicyRule, v lisp.Value) string { r.NotBefore = v.Int; return negative(v.Int) }},
	{"not-after", lisp.Int, func(r *wamble.PolicyRule, v lisp.Value) string { r.NotAfter = v.Int; return negative(v.Int) }},
	{"context key", lisp.String, func(r *wamble.PolicyRule, v lisp.Value) string { r.ContextKey = v.Text; return "" }},
	{"context value", lisp.String, func(r *wamble.PolicyRule, v lisp.Value) string { r.ContextValue = v.Text; return "" }},
}

// policy returns the form policy-allow or policy-deny. A rule with a mistake is an error,
// never a weaker rule. () stands for an argument that is left out.
func (l *loader) policy(allow bool) lisp.Form {
	expected := slices.Clone(parameters)
	if !allow {
		expected = slices.DeleteFunc(expected, func(p parameter) bool { return p.name == "level" })
	}
	return func(c *lisp.Call) (lisp.Value, error) {
		if l.profile != "" {
			return lisp.Value{}, c.Pos.Errorf("`%s` belongs at top level, not in the profile `%s`", c.Name, l.profile).
				WithHint("a resource such as \"profile:%s::*\" limits a rule to the profile", l.profile)
		}
		if len(c.Args) < 3 || len(c.Args) > len(expected) {
			return lisp.Value{}, c.Pos.Errorf("`%s` takes %s", c.Name, usage(expected))
		}
		if len(l.rules) == maxRules {
			return lisp.Value{}, c.Pos.Errorf("there are more than %d policy rules", maxRules).Fatal()
		}
		rule := wamble.PolicyRule{Allow: allow, Version: "v1"}
		for i, p := range expected[:len(c.Args)] {
			v, err := c.Eval(i)
			if err != nil {
				return lisp.Value{}, err
			}
			if v.Kind == lisp.Nil && i >= 3 {
				continue
			}
			if v.Kind != p.kind {
				return lisp.Value{}, c.Args[i].Pos.Errorf("the %s of a rule is %s, this is %s", p.name, p.kind, v)
			}
			if fault := p.set(&rule, v); fault != "" {
				return lisp.Value{}, c.Args[i].Pos.Errorf("the %s of this rule %s", p.name, fault)
			}
		}
		if rule.Action == "trust.tier" && rule.Resource == "tier" { // as in the original
			l.Warn(c.Args[2].Pos.Errorf("a rule of trust.tier is about everybody's profiles, which is written \"*\" here"))
			rule.Resource = "*"
		}
		if about := rule.Resource[strings.LastIndex(rule.Resource, ":")+1:]; rule.Action == "protocol.ctrl" && slices.Contains(withoutEffect, about) {
			l.Warn(c.Args[2].Pos.Errorf("this rule has no effect: the server is never asked about %s", lisp.Quote(rule.Resource)))
			return lisp.Value{Kind: lisp.Int, Int: 1}, nil
		}
		if err := finish(&rule, c); err != nil {
			return lisp.Value{}, err
		}
		l.rules = append(l.rules, rule)
		l.ruleAt = append(l.ruleAt, c.Args[2].Pos)
		return lisp.Value{Kind: lisp.Int, Int: 1}, nil
	}
}

// policyTag is the form policy-tag, which gives tags to an identity. Rules refer to them as
// "tag:NAME".
func (l *loader) policyTag(c *lisp.Call) (lisp.Value, error) {
	if l.profile != "" {
		return lisp.Value{}, c.Pos.Errorf("`%s` belongs at top level, not in the profile `%s`", c.Name, l.profile)
	}
	if len(c.Args) < 2 {
		return lisp.Value{}, c.Pos.Errorf("`%s` takes an identity and one or more tags", c.Name)
	}
	var rule wamble.PolicyRule
	for i := range c.Args {
		v, err := c.Eval(i)
		switch {
		case err != nil:
			return lisp.Value{}, err
		case v.Kind != lisp.String || v.Text == "":
			return lisp.Value{}, c.Args[i].Pos.Errorf("identities and tags are texts, this is %s", v)
		case i > 0 && len(l.tags) == maxRules:
			return lisp.Value{}, c.Pos.Errorf("there are more than %d tags", maxRules).Fatal()
		case i > 0:
			l.tags = append(l.tags, wamble.PolicyTag{Who: rule.Who, Tag: v.Text})
			continue
		}
		if fault := setWho(&rule, v.Text); fault != "" || rule.Who.IsZero() || rule.Who.Tag != "" {
			return lisp.Value{}, c.Args[i].Pos.Errorf(`only "id:NUMBER" and "pubkey:" with 64 hexadecimal digits can carry tags, not %s`, lisp.Quote(v.Text))
		}
	}
	return lisp.Value{Kind: lisp.Int, Int: 1}, nil
}

func usage(expected []parameter) string {
	var b strings.Builder
	for i, p := range expected {
		if i == 3 {
			b.WriteString(", and may take")
		} else if i > 0 {
			b.WriteByte(',')
		}
		b.WriteString(" " + p.name)
	}
	return strings.TrimSpace(b.String())
}

func setWho(r *wamble.PolicyRule, s string) string {
	kind, rest, _ := strings.Cut(s, ":")
	key := s
	if kind == "pubkey" {
		key = rest
	}
	switch raw, err := hex.DecodeString(key); {
	case s == "*":
		return ""
	case err == nil && len(raw) == len(r.Who.Key) && [32]byte(raw) != [32]byte{}:
		r.Who.Key = [32]byte(raw)
		return ""
	case kind == "tag" && rest != "":
		r.Who.Tag = rest
		return ""
	}
	number := s
	if kind == "identity" || kind == "id" {
		number = rest
	}
	n, err := strconv.ParseInt(number, 10, 64)
	if err != nil || n < 1 {
		return `is "*", "id:NUMBER", "tag:NAME" or "pubkey:" with 64 hexadecimal digits, not ` + lisp.Quote(s)
	}
	r.Who.ID = n
	return ""
}

func setLevel(r *wamble.PolicyRule, n int64) string {
	if n < 0 || n > math.MaxInt32 {
		return "is 0 or more, not " + strconv.FormatInt(n, 10)
	}
	r.Level = int(n)
	return ""
}

func negative(n int64) string {
	if n < 0 {
		return "is a time in seconds since 1970, not " + strconv.FormatInt(n, 10)
	}
	return ""
}

// finish splits the resource into scope and resource, and checks the whole rule.
func finish(r *wamble.PolicyRule, c *lisp.Call) error {
	var names []string
	for _, a := range wamble.PolicyActions {
		names = append(names, a.Name)
	}
	i := slices.Index(names, r.Action)
	if i < 0 {
		return c.Args[1].Pos.Errorf("there is no action %s", lisp.Quote(r.Action)).Suggest(r.Action, names)
	}
	action := wamble.PolicyActions[i]
	scope, resource, scoped := strings.Cut(r.Resource, "::")
	switch {
	case scoped && resource == "":
		resource = "*"
	case scoped:
	case r.Action == "trust.tier":
		scope, resource = r.Resource, "tier"
	default:
		scope, resource = "*", r.Resource
	}
	if !setScope(r, scope) {
		return c.Args[2].Pos.Errorf(`a rule applies to "*", "profile:NAME" or "profile_group:NAME", not to %s`,
			lisp.Quote(scope))
	}
	if r.Resource = resource; !action.Knows(resource) {
		return c.Args[2].Pos.Errorf("%s is never about %s, but about %s or \"*\"", r.Action, lisp.Quote(resource),
			strings.Join(action.Resources, ", ")).
			Suggest(resource, action.Resources)
	}
	switch {
	case r.ContextKey != "" && r.ContextKey != action.Context:
		return c.Pos.Errorf("%s is never asked with the context %s", r.Action,
			lisp.Quote(r.ContextKey)).Suggest(r.ContextKey, []string{action.Context})
	case r.NotAfter != 0 && r.NotAfter < r.NotBefore:
		return c.Pos.Errorf("this rule ends before it begins")
	}
	return nil
}

func setScope(r *wamble.PolicyRule, scope string) bool {
	kind, name, _ := strings.Cut(scope, ":")
	switch {
	case scope == "*":
	case kind == "profile" && name != "":
		r.Scope.Profile = name
	case kind == "profile_group" && name != "":
		r.Scope.Group = name
	default:
		return false
	}
	return true
}
