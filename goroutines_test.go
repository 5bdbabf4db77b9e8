package wamble_test

import (
	"go/ast"
	"go/token"
	"path"
	"regexp"
	"strings"
	"testing"
)

// TestGoroutinesAreNamed compares the tables of docs/goroutines.md with the code of the
// binary: every function that starts a goroutine is named there, and no other.
func TestGoroutinesAreNamed(t *testing.T) {
	starting := map[string]bool{}    // by "file function"
	imports := map[string][]string{} // by directory
	goFiles(t, func(name string, file *ast.File) {
		if strings.HasSuffix(name, "_test.go") {
			return
		}
		dir := path.Dir(name)
		for _, i := range file.Imports {
			if in, ok := strings.CutPrefix(strings.Trim(i.Path.Value, `"`), "wamble/"); ok {
				imports[dir] = append(imports[dir], in)
			}
		}
		for _, decl := range file.Decls {
			f, ok := decl.(*ast.FuncDecl)
			if !ok || f.Body == nil {
				continue
			}
			ast.Inspect(f.Body, func(n ast.Node) bool {
				if begun(n) != nil || helped(n) {
					starting[name+" "+f.Name.Name] = true
				}
				return true
			})
		}
	})
	linked := map[string]bool{} // directories of the binary
	var link func(dir string)
	link = func(dir string) {
		if linked[dir] {
			return
		}
		linked[dir] = true
		for _, d := range imports[dir] {
			link(d)
		}
	}
	link("cmd/wamble")

	const doc = "docs/goroutines.md"
	named := map[string]bool{}
	cell := regexp.MustCompile("`([a-z0-9_/]+\\.go)` ((?:[A-Za-z]+(?:, )?)+)")
	for line := range strings.Lines(read(t, doc)) {
		first, _, _ := strings.Cut(strings.TrimPrefix(line, "| "), " |")
		if !strings.HasPrefix(line, "| `") {
			continue
		}
		for _, found := range cell.FindAllStringSubmatch(first, -1) {
			for _, f := range strings.FieldsFunc(found[2], func(r rune) bool { return r == ',' || r == ' ' }) {
				key := found[1] + " " + f
				if named[key] {
					t.Errorf("%s names %s twice", doc, key)
				}
				named[key] = true
			}
		}
	}
	for key := range named {
		if !starting[key] {
			t.Errorf("%s names %s, which starts no goroutine", doc, key)
		}
	}
	for key := range starting {
		file, _, _ := strings.Cut(key, " ")
		if linked[path.Dir(file)] && !named[key] {
			t.Errorf("%s does not name %s, which starts a goroutine", doc, key)
		}
	}
}

// helped reports whether a call hands a function with its title to somebody who runs it
// on a goroutine of its own: rt.guard("the drain", …), s.runBackground("backups", …).
func helped(n ast.Node) bool {
	call, ok := n.(*ast.CallExpr)
	if !ok || len(call.Args) != 2 {
		return false
	}
	sel, ok := call.Fun.(*ast.SelectorExpr)
	if !ok || sel.Sel.Name != "guard" && sel.Sel.Name != "runBackground" {
		return false
	}
	title, ok := call.Args[0].(*ast.BasicLit)
	return ok && title.Kind == token.STRING
}
