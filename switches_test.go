package wamble_test

import (
	"go/ast"
	"maps"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// intentSwitches are the functions that treat kinds of intents differently, with the kinds
// for which they have no case, and why. "*" stands for all others.
var intentSwitches = []struct {
	file, function string
	without        map[string]string
}{
	{"internal/profile/resume_replay.go", "replay", map[string]string{
		"RecordGameResult":    "results are in the store alone",
		"RecordPayout":        "totals are in the store alone",
		"RecordLastMoveShown": "what a player was shown is in the store alone",
	}},
}

// TestIntentSwitches: a switch over intents has a case for every kind, or says why not; so
// a new kind is thought of everywhere.
func TestIntentSwitches(t *testing.T) {
	kinds := map[string]bool{}
	for _, m := range regexp.MustCompile(`zero\[(\w+)\]`).FindAllStringSubmatch(read(t, "internal/intent/table.go"),
		-1) {
		kinds[m[1]] = true
	}
	if len(kinds) < 25 {
		t.Fatalf("the table of intents has only %d kinds", len(kinds))
	}
	cases := map[string]map[string]bool{} // by "file function"
	listed := map[string]bool{}
	for _, s := range intentSwitches {
		listed[s.file+" "+s.function] = true
	}
	goFiles(t, func(name string, file *ast.File) {
		if strings.HasSuffix(name, "_test.go") || strings.HasPrefix(name, "internal/store/storetest/") {
			return
		}
		for _, decl := range file.Decls {
			f, ok := decl.(*ast.FuncDecl)
			if !ok || f.Body == nil {
				continue
			}
			found := map[string]bool{}
			ast.Inspect(f.Body, func(n ast.Node) bool {
				if s, ok := n.(*ast.TypeSwitchStmt); ok {
					maps.Copy(found, intentCases(s))
				}
				return true
			})
			key := name + " " + f.Name.Name
			if len(found) > 2 && !listed[key] {
				t.Errorf("%s switches over intents: add it to intentSwitches", key)
			}
			cases[key] = found
		}
	})
	for _, s := range intentSwitches {
		found := cases[s.file+" "+s.function]
		if len(found) == 0 {
			t.Errorf("%s %s has no switch over intents", s.file, s.function)
		}
		for _, kind := range slices.Sorted(maps.Keys(kinds)) {
			_, exempt := s.without[kind]
			_, others := s.without["*"]
			switch {
			case found[kind] && exempt:
				t.Errorf("%s %s has a case for %s, which the table excludes", s.file, s.function, kind)
			case !found[kind] && !exempt && !others:
				t.Errorf("%s %s has no case for %s: add one, or say why not in intentSwitches", s.file, s.function,
					kind)
			}
		}
	}
}

// intentCases returns the types of package intent that a type switch names.
func intentCases(s *ast.TypeSwitchStmt) map[string]bool {
	found := map[string]bool{}
	for _, c := range s.Body.List {
		for _, e := range c.(*ast.CaseClause).List {
			star, ok := e.(*ast.StarExpr)
			if !ok {
				continue
			}
			if sel, ok := star.X.(*ast.SelectorExpr); ok {
				if pkg, ok := sel.X.(*ast.Ident); ok && pkg.Name == "intent" {
					found[sel.Sel.Name] = true
				}
			}
		}
	}
	return found
}
