package server

import (
	"encoding/json"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
)

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
