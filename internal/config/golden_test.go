package config

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"wamble"
)

var update = flag.Bool("update", false, "rewrite expected files")

// TestGolden runs every pair of testdata/*.golden: a configuration, a line of
// four dashes, and what comes of it: what is set for every profile and the
// rules, or the errors; then the warnings. Pairs are separated by a line of
// four equals signs.
func TestGolden(t *testing.T) {
	files, err := filepath.Glob("testdata/*.golden")
	if err != nil || len(files) == 0 {
		t.Fatalf("no golden files (%v)", err)
	}
	for _, file := range files {
		raw, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		pairs := strings.Split(strings.TrimSuffix(string(raw), "\n"), "\n====\n")
		for i, pair := range pairs {
			input, want, ok := strings.Cut(pair+"\n", "\n----\n")
			if !ok {
				t.Fatalf("%s: pair %d has no line of four dashes", file, i+1)
			}
			got := outcome(input)
			if *update {
				pairs[i] = input + "\n----\n" + strings.TrimSuffix(got, "\n")
				continue
			}
			if got != want {
				t.Errorf("%s: pair %d\n%s\n--- got\n%s--- want\n%s", file, i+1, input, got, want)
			}
		}
		if *update {
			if err := os.WriteFile(file, []byte(strings.Join(pairs, "\n====\n")+"\n"), 0o644); err != nil {
				t.Fatal(err)
			}
		}
	}
}

// goldenInputs are the configurations of all pairs.
func goldenInputs(f *testing.F) []string {
	files, err := filepath.Glob("testdata/*.golden")
	if err != nil || len(files) == 0 {
		f.Fatalf("no golden files (%v)", err)
	}
	var inputs []string
	for _, file := range files {
		raw, err := os.ReadFile(file)
		if err != nil {
			f.Fatal(err)
		}
		for pair := range strings.SplitSeq(string(raw), "\n====\n") {
			input, _, _ := strings.Cut(pair, "\n----\n")
			inputs = append(inputs, input)
		}
	}
	return inputs
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
	for _, e := range c.Warnings {
		out.WriteString(e.Render())
	}
	return out.String()
}

// ruleText writes what is not zero in a rule.
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
		r.Allow, who, r.Action, r.Resource, r.Scope, r.Level, r.Reason, r.Version, r.NotBefore, r.NotAfter, r.ContextKey, r.ContextValue)
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
