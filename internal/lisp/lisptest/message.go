package lisptest

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// Messages checks that each message and hint in the source of the package under test appears in
// a golden pair. Elsewhere maps each message that no pair can contain to the test that produces
// it.
func Messages(t *testing.T, elsewhere map[string]string) {
	t.Helper()
	var golden strings.Builder
	for _, file := range read(t) {
		golden.WriteString(file.text)
	}
	found := messages(t)
	if len(found) < 20 {
		t.Fatalf("only %d messages were found", len(found))
	}
	for format, file := range found {
		pattern := regexp.MustCompile(`%#?[0-9]*[a-z]`).ReplaceAllString(regexp.QuoteMeta(format), `.*`)
		if !regexp.MustCompile(pattern).MatchString(golden.String()) && elsewhere[format] == "" {
			t.Errorf("%s: no golden pair shows %q", file, format)
		}
	}
	for format := range elsewhere {
		if found[format] == "" {
			t.Errorf("no message is %q any more: remove it from the list", format)
		}
	}
}

// messages collects the format strings of findings, with the file of each.
func messages(t *testing.T) map[string]string {
	t.Helper()
	files, err := filepath.Glob("*.go")
	if err != nil {
		t.Fatal(err)
	}
	found := map[string]string{}
	for _, file := range files {
		if strings.HasSuffix(file, "_test.go") {
			continue
		}
		tree, err := parser.ParseFile(token.NewFileSet(), file, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		ast.Inspect(tree, func(n ast.Node) bool {
			if format, ok := message(n); ok {
				found[format] = file
			}
			return true
		})
	}
	return found
}

// message returns the format string of n if n creates a finding: the first string literal among
// the arguments of a method Errorf, WithHint or bound, but not of package fmt.
func message(n ast.Node) (format string, ok bool) {
	call, ok := n.(*ast.CallExpr)
	if !ok {
		return "", false
	}
	method, ok := call.Fun.(*ast.SelectorExpr)
	if !ok || !slices.Contains([]string{"Errorf", "WithHint", "bound"}, method.Sel.Name) {
		return "", false
	}
	if pkg, ok := method.X.(*ast.Ident); ok && pkg.Name == "fmt" {
		return "", false
	}
	for _, arg := range call.Args {
		if lit, ok := arg.(*ast.BasicLit); ok && lit.Kind == token.STRING {
			text, err := strconv.Unquote(lit.Value)
			return text, err == nil
		}
	}
	return "", false
}
