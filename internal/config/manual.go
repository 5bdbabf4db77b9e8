package config

import (
	"embed"
	"go/ast"
	"go/parser"
	"go/token"
	"slices"
	"strings"
	"sync"
)

// optionsSource has the files whose doc comments are the manual of the options.
//
//go:embed options.go options_audience.go options_store.go
var optionsSource embed.FS

// docs maps Family and Family.Field to doc comments, as one paragraph each.
var docs = sync.OnceValue(func() map[string]string {
	found := map[string]string{}
	entries, _ := optionsSource.ReadDir(".") // embedded files do not fail
	for _, e := range entries {
		text, err := optionsSource.ReadFile(e.Name())
		if err != nil {
			panic(err) // embedded files do not fail
		}
		file, err := parser.ParseFile(token.NewFileSet(), e.Name(), text, parser.ParseComments)
		if err != nil {
			panic(err) // this package was compiled from it
		}
		document(found, file)
	}
	return found
})

// document adds the doc comments of a file.
func document(found map[string]string, file *ast.File) {
	for _, decl := range file.Decls {
		group, ok := decl.(*ast.GenDecl)
		if !ok || group.Tok != token.TYPE {
			continue
		}
		family := group.Specs[0].(*ast.TypeSpec)
		found[family.Name.Name] = paragraph(group.Doc)
		for _, field := range family.Type.(*ast.StructType).Fields.List {
			found[family.Name.Name+"."+field.Names[0].Name] = paragraph(field.Doc)
		}
	}
}

func paragraph(doc *ast.CommentGroup) string { return strings.Join(strings.Fields(doc.Text()), " ") }

// Doc returns the manual of the option, which begins with the option's name.
func (o *Option) Doc() string { return rename(docs()[o.Field], "`"+o.Name+"`") }

// Brief returns the first sentence of Doc without the name: "is the UDP port of the game".
func (o *Option) Brief() string {
	_, rest, _ := strings.Cut(docs()[o.Field], " ")
	first, _, _ := strings.Cut(rest, ". ")
	return strings.TrimSuffix(first, ".")
}

// rename replaces the first word of a doc comment, which is the name of the Go field, by name.
func rename(doc, name string) string {
	_, rest, _ := strings.Cut(doc, " ")
	return name + " " + rest
}

// Families returns the families of options, in the order of options.go.
func Families() []string {
	var list []string
	for _, o := range All() {
		list = append(list, o.Family)
	}
	return slices.Compact(list)
}

// Of returns the options of a family.
func Of(family string) []*Option {
	return slices.DeleteFunc(slices.Clone(All()), func(o *Option) bool { return o.Family != family })
}

// starter is what Starter returns.
//
//go:embed starter.conf
var starter string

// Starter returns a new configuration file. It sets only what has a default for older installations,
// and shows the first options that a host needs.
func Starter() string { return starter }
