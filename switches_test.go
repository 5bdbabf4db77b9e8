package wamble_test

import (
	"go/ast"
	"maps"
	"strings"
	"testing"
)

// TestNoIntentSwitches: what is said of the kinds of intents is said in the table of intent.Row, where the compiler
// asks for every kind. No function switches over them.
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
				t.Errorf("%s %s switches over intents: make it a cell of intent.Row", name, f.Name.Name)
			}
		}
	})
	if functions < 1000 {
		t.Errorf("only %d functions were read", functions)
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
