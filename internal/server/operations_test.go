package server

import (
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
