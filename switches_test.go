package wamble_test

import (
	"go/ast"
	"maps"
	"strings"
	"testing"
)

// TestNoIntentSwitches: what depends on the kind of an intent is in its row, so that a new kind
// is thought of everywhere. No function has a case for more than two kinds.
func TestNoIntentSwitches(t *testing.T) {
	functions := 0
	goFiles(t, func(name string, file *ast.File) {
		if strings.HasSuffix(name, "_test.go") || strings.HasPrefix(name, "internal/store/storetest/") {
			return
		}
		for _, decl := range file.Decls {
			f, ok := decl.(*ast.FuncDecl)
			if !ok || f.Body == nil {
				continue
			}
			functions++
			found := map[string]bool{}
			ast.Inspect(f.Body, func(n ast.Node) bool {
				if s, ok := n.(*ast.TypeSwitchStmt); ok {
					maps.Copy(found, intentCases(s))
				}
				return true
			})
			if len(found) > 2 {
				t.Errorf("%s %s switches over intents: say it in a cell of intent.Row", name, f.Name.Name)
			}
		}
	})
	if functions == 0 {
		t.Error("no function was read")
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
