package config

import (
	"cmp"
	"fmt"
	"reflect"
	"slices"
)

// Change is one difference between two configurations of a running server.
type Change struct {
	Profile string `json:"profile,omitempty"` // "" for the server
	// What is the name of an option, or "profile" (added or removed), "store" (SQLite or
	// PostgreSQL), or "policy" (rules or tags).
	What   string `json:"what"`
	Old    string `json:"old"` // as written in a file; secrets are hidden
	New    string `json:"new"`
	Effect Effect `json:"effect"`
}

// String describes the change for hosts: "blitz: port 8888 → 8890 (listener)".
func (c Change) String() string {
	who := c.Profile
	if who == "" {
		who = "server"
	}
	return fmt.Sprintf("%s: %s %s → %s (%s)", who, c.What, c.Old, c.New, c.Effect)
}

// Diff returns the changes from old to new: those of the server first, then those of the
// running profiles by name.
func Diff(old, new *Config) []Change {
	changes := compare("", old.Settings(), new.Settings())
	if !reflect.DeepEqual(old.Rules, new.Rules) || !reflect.DeepEqual(old.Tags, new.Tags) {
		changes = append(changes, Change{What: "policy", Old: count(len(old.Rules)), New: count(len(new.Rules))})
	}
	before, after := byName(old.Running()), byName(new.Running())
	for _, name := range names(before, after) {
		a, b := before[name], after[name]
		switch {
		case a == nil:
			changes = append(changes,
				Change{Profile: name, What: "profile", Old: "absent", New: "running", Effect: NewListener})
		case b == nil:
			changes = append(changes,
				Change{Profile: name, What: "profile", Old: "running", New: "absent", Effect: NewListener})
		default:
			changes = append(changes, compare(name, a.Settings(), b.Settings())...)
			if a.Postgres() != b.Postgres() {
				changes = append(changes,
					Change{Profile: name, What: "store", Old: a.Storage(), New: b.Storage(), Effect: NewStore})
			}
		}
	}
	return changes
}

// Strongest returns the strongest effect among changes of one profile, or of all if profile
// is "*".
func Strongest(changes []Change, profile string) Effect {
	strongest := Live
	for _, c := range changes {
		if profile == "*" || c.Profile == profile {
			strongest = max(strongest, c.Effect)
		}
	}
	return strongest
}

func compare(profile string, old, new []Setting) []Change {
	var changes []Change
	for i, a := range old {
		if b := new[i]; a.Value != b.Value {
			changes = append(changes, Change{profile, a.Option.Name, a.Text(), b.Text(), a.Option.Reload})
		}
	}
	return changes
}

func byName(profiles []*Profile) map[string]*Profile {
	m := map[string]*Profile{}
	for _, p := range profiles {
		m[p.Name] = p
	}
	return m
}

func names(maps ...map[string]*Profile) []string {
	var list []string
	for _, m := range maps {
		for name := range m {
			list = append(list, name)
		}
	}
	slices.SortFunc(list, cmp.Compare[string])
	return slices.Compact(list)
}

func count(rules int) string {
	if rules == 1 {
		return "1 rule"
	}
	return fmt.Sprintf("%d rules", rules)
}
