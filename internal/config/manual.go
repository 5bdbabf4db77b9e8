package config

import (
	"embed"
	"fmt"
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

// starterSets has the options that the file of Starter sets, with their lines: their defaults are
// for older installations.
var starterSets = map[string]string{
	"login-legacy": "(def login-legacy 0) ; 1 if players use clients of the original",
}

// Starter returns a configuration file with every option and its default, all commented out but
// those of starterSets.
func Starter() string {
	var b strings.Builder
	b.WriteString(starterHead)
	for _, family := range Families() {
		fmt.Fprintf(&b, "\n;; ---- %s ----\n%s", family, comment(docs()[family]))
		for _, o := range Of(family) {
			if o.OwnOnly {
				continue
			}
			value := o.Source(o.Default)
			if o.unset(o.Default) && o.bounded && o.low > 0 {
				value = number(o.low) // unset cannot be written: show a valid value
			}
			text := comment(rename(docs()[o.Field], o.Name))
			if set, ok := starterSets[o.Name]; ok {
				fmt.Fprintf(&b, "\n%s%s\n", text, set)
				continue
			}
			fmt.Fprintf(&b, "\n%s; (def %s %s)\n", text, o.Name, value)
		}
	}
	return b.String()
}

const starterHead = `;; Configuration of Wamble. Everything here but login-legacy is commented out and
;; shows the default; take away the semicolon before a (def …) to change it.
;;
;;   wamble check          tells what is wrong with this file, and what would run
;;   wamble config show    tells the value of every option and where it came from
;;   wamble reload         applies a change to the running server
;;
;; Several profiles, each with a port of its own, run in one server:
;;
;; (defprofile blitz ((def port 8890) (def advertise 1) (def inactivity-timeout 60)))
;; (defprofile calm :inherits blitz ((def port 8891) (def inactivity-timeout 3600)))
`

// comment wraps text into comment lines of at most 78 columns.
func comment(text string) string {
	var b strings.Builder
	line := ";;"
	for _, word := range strings.Fields(text) {
		if len([]rune(line))+1+len([]rune(word)) > 78 {
			b.WriteString(line + "\n")
			line = ";;"
		}
		line += " " + word
	}
	return b.String() + line + "\n"
}
