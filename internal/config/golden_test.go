package config

import (
	"flag"
	"fmt"
	"strings"
	"testing"

	"wamble"
	"wamble/internal/lisp/lisptest"
)

var update = flag.Bool("update", false, "rewrite expected files")

// TestGolden runs every pair of testdata/*.golden: a configuration, and its result: the
// options set for every profile and the rules, or the errors; then the warnings.
func TestGolden(t *testing.T) { lisptest.Golden(t, *update, outcome) }

// TestEveryMessageHasGolden: each message and hint in the source of this
// package appears in a golden pair, or in the test that is named here.
func TestEveryMessageHasGolden(t *testing.T) {
	lisptest.Messages(t, map[string]string{
		"there is no profile `%s`":                               "TestChosenProfile",
		"there are more than %d profiles":                        "TestHostile",
		"more than %d profiles inherit from each other in a row": "TestHostile",
		"there are more than %d policy rules":                    "TestHostile",
		"there are more than %d tags":                            "TestHostile",
	})
}

var testParams = Params{Getenv: func(name string) string {
	return map[string]string{"PORT": "9000", "DB_PASS": "hunter2"}[name]
}}

func outcome(input string) string {
	c, err := Load("t", input, testParams)
	var out strings.Builder
	if err != nil {
		faults := err.(*LoadError)
		for _, e := range append(faults.Errors, faults.Warnings...) {
			out.WriteString(e.Render())
		}
		return out.String()
	}
	writeChanged(&out, "server", c.Settings())
	if len(c.Profiles) == 0 {
		writeChanged(&out, "default on "+c.Default.Storage(), c.Default.Settings())
	}
	for _, p := range c.Profiles {
		title := "profile " + p.Name
		if p.Base != "" {
			title += " inherits " + p.Base
		}
		for _, r := range c.Running() {
			if r == p {
				title += ", runs on " + p.Storage()
			}
		}
		writeChanged(&out, title, p.Settings())
	}
	for _, r := range c.Rules {
		out.WriteString(ruleText(r))
	}
	for _, tag := range c.Tags {
		fmt.Fprintf(&out, "tag %s: id %d, key %x\n", tag.Tag, tag.Who.ID, tag.Who.Key[:4])
	}
	for _, e := range c.Warnings {
		out.WriteString(e.Render())
	}
	return out.String()
}

// ruleText formats the non-zero fields of a rule.
func ruleText(r wamble.PolicyRule) string {
	who := fmt.Sprint("id ", r.Who.ID)
	switch {
	case r.Who.IsZero():
		who = "everybody"
	case r.Who.Tag != "":
		who = "tag " + r.Who.Tag
	case r.Who.ID == 0:
		who = fmt.Sprintf("key %x", r.Who.Key)
	}
	return fmt.Sprintf("rule allow=%t %s, %s on %s in %+v, level %d, %q %s, %d to %d, %q=%q\n",
		r.Allow, who, r.Action, r.Resource, r.Scope, r.Level, r.Reason, r.Version, r.NotBefore, r.NotAfter,
		r.ContextKey, r.ContextValue)
}

func writeChanged(out *strings.Builder, title string, list []Setting) {
	list = Changed(list)
	if len(list) == 0 && title == "server" {
		return
	}
	fmt.Fprintln(out, title)
	for _, s := range list {
		fmt.Fprintf(out, "  %s = %s, %s\n", s.Option.Name, s.Text(), s.Origin)
	}
}
