package runner

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

// TestDefaultClock: what the default clock returns is the wall at Open plus what
// the monotonic clock has counted since, so that setting the wall clock back or
// forth moves no lease and no timer. A test cannot set the wall clock; it can
// see that a reading did not come from it: such a one carries "m=".
func TestDefaultClock(t *testing.T) {
	before := time.Now()
	now := Options{}.withDefaults().Now
	first, second := now(), now()
	after := time.Now()
	if first.Before(before.Round(0)) || second.Before(first) || second.After(after.Round(0)) {
		t.Errorf("got %v, %v, want them in order between %v and %v", first, second, before, after)
	}
	if strings.Contains(first.String(), "m=") {
		t.Errorf("got %v, a reading of the wall clock, want one that was counted from Open", first)
	}
}

// TestWallIsReadOnce: nobody else in the package reads the wall clock.
func TestWallIsReadOnce(t *testing.T) {
	files, err := filepath.Glob("*.go")
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, name := range files {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		file, err := parser.ParseFile(token.NewFileSet(), name, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		ast.Inspect(file, func(n ast.Node) bool {
			if s, ok := n.(*ast.SelectorExpr); ok {
				if x, ok := s.X.(*ast.Ident); ok && x.Name == "time" && (s.Sel.Name == "Now" || s.Sel.Name == "Until") {
					got = append(got, name+": time."+s.Sel.Name)
				}
			}
			return true
		})
	}
	if want := []string{"options.go: time.Now"}; !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}
