package pebblestore_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

// TestNoForeignTypes: no export of runner or of this package names a type of another module.
func TestNoForeignTypes(t *testing.T) {
	t.Parallel()
	for _, dir := range []string{".", ".."} {
		names, err := filepath.Glob(filepath.Join(dir, "*.go"))
		if err != nil {
			t.Fatal(err)
		}
		exported := 0
		for _, name := range names {
			if strings.HasSuffix(name, "_test.go") {
				continue
			}
			file, err := parser.ParseFile(token.NewFileSet(), name, nil, 0)
			if err != nil {
				t.Fatal(err)
			}
			foreign := map[string]bool{}
			for _, i := range file.Imports {
				if path, _ := strconv.Unquote(i.Path.Value); strings.Contains(path, ".") {
					parts := strings.Split(strings.TrimSuffix(path, "/v2"), "/")
					foreign[parts[len(parts)-1]] = true
				}
			}
			for _, d := range exports(file) {
				exported++
				ast.Inspect(d, func(n ast.Node) bool {
					if s, ok := n.(*ast.SelectorExpr); ok {
						if x, ok := s.X.(*ast.Ident); ok && foreign[x.Name] {
							t.Errorf("%s: an exported declaration names %s.%s", name, x.Name, s.Sel.Name)
						}
					}
					return true
				})
			}
		}
		if exported < 5 {
			t.Errorf("%s: found %d exported declarations", dir, exported)
		}
	}
}

// exports returns the types of a file's exports: without bodies, without fields that are not
// exported.
func exports(file *ast.File) (out []ast.Node) {
	ast.FileExports(file)
	for _, d := range file.Decls {
		switch d := d.(type) {
		case *ast.FuncDecl:
			if d.Recv == nil || ast.IsExported(receiver(d)) {
				out = append(out, d.Type)
			}
		case *ast.GenDecl:
			for _, s := range d.Specs {
				switch s := s.(type) {
				case *ast.TypeSpec:
					out = append(out, s.Type)
				case *ast.ValueSpec:
					if s.Type != nil {
						out = append(out, s.Type)
					}
				}
			}
		}
	}
	return out
}

// receiver returns the name of a method's type.
func receiver(d *ast.FuncDecl) string {
	name := ""
	ast.Inspect(d.Recv.List[0].Type, func(n ast.Node) bool {
		if i, ok := n.(*ast.Ident); ok && name == "" {
			name = i.Name
		}
		return true
	})
	return name
}
