package lisp_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

// notGolden are messages that no golden pair can hold, and the test that
// makes them.
var notGolden = map[string]string{
	"the file has more than %d bytes, which is all that can be read": "TestBounds",
	"lists are nested more than %d deep":                             "TestBounds",
	"a macro makes lists more than %d deep":                          "TestBounds",
}

// TestEveryMessageHasGolden: each message and hint in the source of this
// package appears in a golden pair.
func TestEveryMessageHasGolden(t *testing.T) {
	golden := readAll(t, "testdata/*.golden")
	for format, file := range messages(t, "*.go") {
		pattern := regexp.MustCompile(`%#?[0-9]*[a-z]`).ReplaceAllString(regexp.QuoteMeta(format), `.*`)
		if !regexp.MustCompile(pattern).MatchString(golden) && notGolden[format] == "" {
			t.Errorf("%s: no golden pair shows %q", file, format)
		}
	}
}

func readAll(t *testing.T, glob string) string {
	files, err := filepath.Glob(glob)
	if err != nil || len(files) == 0 {
		t.Fatalf("no files %s (%v)", glob, err)
	}
	var b strings.Builder
	for _, file := range files {
		raw, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		b.Write(raw)
	}
	return b.String()
}

// messages collects the format strings of findings, with the file of each.
func messages(t *testing.T, glob string) map[string]string {
	files, err := filepath.Glob(glob)
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
			call, ok := n.(*ast.CallExpr)
			if !ok {
				return true
			}
			method, ok := call.Fun.(*ast.SelectorExpr)
			if !ok || method.Sel.Name != "Errorf" && method.Sel.Name != "WithHint" && method.Sel.Name != "bound" {
				return true
			}
			if pkg, ok := method.X.(*ast.Ident); ok && pkg.Name == "fmt" {
				return true // not a finding
			}
			for _, arg := range call.Args {
				if lit, ok := arg.(*ast.BasicLit); ok && lit.Kind == token.STRING {
					text, err := strconv.Unquote(lit.Value)
					if err != nil {
						t.Fatal(err)
					}
					found[text] = file
					break
				}
			}
			return true
		})
	}
	if len(found) < 20 {
		t.Fatalf("only %d messages were found", len(found))
	}
	return found
}
