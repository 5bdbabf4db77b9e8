package server

import (
	"encoding/json"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// TestOperations: every metric that docs/operations.md tells the host to watch
// exists.
func TestOperations(t *testing.T) {
	text, err := os.ReadFile("../../docs/operations.md")
	if err != nil {
		t.Fatal(err)
	}
	var known []string
	for _, m := range metrics {
		known = append(known, "wamble_"+m.name)
	}
	for _, d := range distributions {
		known = append(known, "wamble_"+d.name+"_bucket")
	}
	named := regexp.MustCompile(`\bwamble_[a-z_]+`).FindAllString(string(text), -1)
	if len(named) < 10 {
		t.Fatalf("only %d metrics are named", len(named))
	}
	for _, name := range named {
		if !slices.Contains(known, name) {
			t.Errorf("%s is none of %s", name, strings.Join(known, ", "))
		}
	}
}

// TestConsoleDocumented: the table of docs/operations.md has every route of the
// console and no other, and what it sends as an example is understood.
func TestConsoleDocumented(t *testing.T) {
	text, err := os.ReadFile("../../docs/operations.md")
	if err != nil {
		t.Fatal(err)
	}
	var want []string
	for _, l := range looks {
		want = append(want, "GET /console/api/"+l.name)
	}
	for _, name := range acts {
		want = append(want, "POST /console/api/act/"+name)
	}
	var got []string
	for _, row := range regexp.MustCompile("(?m)^\\| `((GET|POST) /console/api/[^`]*)` \\| (.*) \\|$").FindAllStringSubmatch(string(text), -1) {
		got = append(got, row[1])
		if row[2] == "GET" {
			continue
		}
		example := regexp.MustCompile("`({[^`]*})`").FindStringSubmatch(row[3])
		if example == nil {
			t.Errorf("%s: no example of a body", row[1])
			continue
		}
		strict := json.NewDecoder(strings.NewReader(example[1]))
		strict.DisallowUnknownFields()
		var into any = &Order{}
		if strings.Contains(row[1], "dead-letter") {
			into = &DeadChoice{}
		}
		if err := strict.Decode(into); err != nil {
			t.Errorf("%s: %s: %v", row[1], example[1], err)
		}
	}
	slices.Sort(got)
	slices.Sort(want)
	if !slices.Equal(got, want) {
		t.Errorf("documented: %s\nthere is: %s", strings.Join(got, ", "), strings.Join(want, ", "))
	}
}
