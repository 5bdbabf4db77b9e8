package wire

import (
	"cmp"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// TestProtocolDoc compares the generated parts of docs/protocol.md with the
// tables, comments and packets that they come from; -update writes them.
func TestProtocolDoc(t *testing.T) {
	text, err := os.ReadFile(protocolDoc)
	if err != nil {
		t.Fatal(err)
	}
	types := typeComments(t, ".")
	parts := map[string]string{
		"flags":    docFlags(),
		"keys":     docKeys(),
		"controls": docControls(),
		"messages": docMessages(t, types),
		"header":   docTable(types["Header"]),
		"field":    docTable(types["Field"]),
		"fragment": docTable(types["Fragment"]),
		"errors":   docErrors(t),
		"caps":     docConstants(t, ".", "SessionCaps", "0x%03X"),
		"notices":  docConstants(t, ".", "NoticeType", "%d"),
	}
	got := string(text)
	for name, part := range parts {
		begin, end := "<!-- BEGIN "+name+": generated, see wire/protocol_test.go -->\n", "<!-- END "+name+" -->\n"
		head, rest, ok := strings.Cut(got, begin)
		_, tail, ok2 := strings.Cut(rest, end)
		if !ok || !ok2 {
			t.Fatalf("%s has no part %q", protocolDoc, name)
		}
		got = head + begin + part + end + tail
	}
	if n := strings.Count(got, "<!-- BEGIN "); n != len(parts) {
		t.Errorf("%s has %d generated parts, %d are known", protocolDoc, n, len(parts))
	}
	if got == string(text) {
		return
	}
	if !*update {
		t.Fatalf("%s is stale: run go generate ./wire", protocolDoc)
	}
	if err := os.WriteFile(protocolDoc, []byte(got), 0o644); err != nil {
		t.Fatal(err)
	}
}

// typeComments returns the doc comments of the types of a package.
func typeComments(t *testing.T, dir string) map[string]string {
	t.Helper()
	comments := map[string]string{}
	for _, f := range parseDir(t, dir) {
		for _, d := range f.Decls {
			gen, ok := d.(*ast.GenDecl)
			if !ok || gen.Tok != token.TYPE {
				continue
			}
			for _, s := range gen.Specs {
				comments[s.(*ast.TypeSpec).Name.Name] = gen.Doc.Text()
			}
		}
	}
	return comments
}

func parseDir(t *testing.T, dir string) []*ast.File {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	var files []*ast.File
	for _, e := range entries {
		if !strings.HasSuffix(e.Name(), ".go") || strings.HasSuffix(e.Name(), "_test.go") {
			continue
		}
		f, err := parser.ParseFile(token.NewFileSet(), dir+"/"+e.Name(), nil, parser.ParseComments)
		if err != nil {
			t.Fatal(err)
		}
		files = append(files, f)
	}
	return files
}

func docFlags() string {
	var b strings.Builder
	b.WriteString("| bit | name | on | meaning |\n|---|---|---|---|\n")
	for _, f := range FlagNames {
		on := "all"
		if f.On != nil {
			on = codes(f.On)
		}
		fmt.Fprintf(&b, "| 0x%02X | %s | %s | %s |\n", uint8(f.Bit), f.Name, on, f.Meaning)
	}
	return b.String()
}

func codes(list []Control) string {
	var names []string
	for _, c := range list {
		names = append(names, c.String())
	}
	return strings.Join(names, ", ")
}

func docKeys() string {
	var b strings.Builder
	for _, k := range KnownKeys {
		ours := ""
		if k.Ours {
			ours = ", *new*"
		}
		fmt.Fprintf(&b, "* `%s` (%v%s): %s\n", k.Key, k.Type, ours, k.Meaning)
	}
	return b.String()
}

// senders are the words of the document.
var senders = map[Sender]string{FromClient: "client", FromServer: "server", FromBoth: "both"}

func docControls() string {
	var b strings.Builder
	b.WriteString("| code | name | sender | answer | |\n|---|---|---|---|---|\n")
	for _, c := range Controls() {
		i, _ := c.Info()
		reply := ""
		if i.Delivery == Asked {
			reply = "ACK alone"
			if len(i.Replies) > 0 {
				reply = codes(i.Replies)
			}
		}
		fmt.Fprintf(&b, "| 0x%02X | [%s](#%s) | %s | %s | %s |\n", uint8(c), i.Name, strings.ToLower(i.Name),
			senders[i.From], reply, remarks(i))
	}
	return b.String()
}

// remarks returns how a control code differs from the others of its sender.
func remarks(i *Info) string {
	var said []string
	if i.ZeroToken {
		said = append(said, "zero token")
	}
	switch i.Delivery {
	case Reliable:
		said = append(said, "unreliable while watching")
	case Unreliable:
		said = append(said, "unreliable")
	case Acknowledges:
		said = append(said, "never acknowledged")
	case Asked, Replayed:
	}
	switch {
	case i.Plain < 0:
		said = append(said, "always fragments")
	case i.Plain > 0:
		said = append(said, fmt.Sprintf("fragments above %d bytes", i.Plain))
	case i.From == FromServer && !i.Fragments:
		said = append(said, "no fragments")
	}
	return strings.Join(said, "; ")
}

// docMessages writes a section for each control code from the comments of its
// payload type, and of the row type that it has.
func docMessages(t *testing.T, types map[string]string) string {
	t.Helper()
	names := goNames()
	var b strings.Builder
	for _, c := range Controls() {
		comment, ok := strings.CutPrefix(types[typeName(c)], typeName(c)+" ")
		if !ok {
			t.Fatalf("the payload type of %v has no comment", c)
		}
		fmt.Fprintf(&b, "#### %v\n\n", c)
		text := markdown(c.String() + " " + names.Replace(comment))
		b.WriteString(strings.TrimSuffix(text, "\n```text\n0  n  ignored\n```\n"))
		for _, row := range rowTypes(c) {
			b.WriteString("\n" + markdown(names.Replace(types[row.Name()])))
		}
		b.WriteString("\n")
	}
	return b.String()
}

// payloadType returns the payload type of c.
func payloadType(c Control) reflect.Type {
	i, _ := c.Info()
	return reflect.TypeOf(i.New()).Elem()
}

func typeName(c Control) string { return payloadType(c).Name() }

// rowTypes returns the types of the rows in a payload of c.
func rowTypes(c Control) []reflect.Type {
	var rows []reflect.Type
	for f := range payloadType(c).Fields() {
		if f.Type.Kind() == reflect.Slice && f.Type.Elem().Kind() == reflect.Struct {
			rows = append(rows, f.Type.Elem())
		}
	}
	return rows
}

// goNames turns names of payload types into names of the protocol. Longer names
// come first, so that none is cut; a name of one word could be any word.
func goNames() *strings.Replacer {
	all := slices.SortedFunc(slices.Values(Controls()), func(a, b Control) int {
		return cmp.Compare(len(typeName(b)), len(typeName(a)))
	})
	var pairs []string
	for _, c := range all {
		if strings.ContainsAny(typeName(c)[1:], "ABCDEFGHIJKLMNOPQRSTUVWXYZ") {
			pairs = append(pairs, typeName(c), c.String())
		}
	}
	return strings.NewReplacer(pairs...)
}

// markdown turns a comment into paragraphs and code blocks.
func markdown(comment string) string {
	var b strings.Builder
	code := false
	for line := range strings.Lines(comment) {
		indented := strings.HasPrefix(line, "\t")
		if indented != code && strings.TrimSpace(line) != "" {
			b.WriteString(map[bool]string{true: "```text\n", false: "```\n\n"}[indented])
			code = indented
		}
		if !code || indented {
			b.WriteString(strings.TrimPrefix(line, "\t"))
		}
	}
	if code {
		b.WriteString("```\n")
	}
	return b.String()
}

// docTable returns only the byte table of a comment.
func docTable(comment string) string {
	_, rest, _ := strings.Cut(markdown(comment), "```text\n")
	table, _, _ := strings.Cut(rest, "```\n")
	return "```text\n" + table + "```\n"
}

// constant is one row of a closed list: a constant with its type and comment.
type constant struct {
	Name, Comment string
	Value         int64
}

// constants returns the constants of a type, in the order of the source.
func constants(t *testing.T, dir, kind string) []constant {
	t.Helper()
	var all []constant
	for _, f := range parseDir(t, dir) {
		for _, d := range f.Decls {
			gen, ok := d.(*ast.GenDecl)
			if !ok || gen.Tok != token.CONST {
				continue
			}
			for _, s := range gen.Specs {
				v := s.(*ast.ValueSpec)
				if of, ok := v.Type.(*ast.Ident); !ok || of.Name != kind {
					continue
				}
				value, err := strconv.ParseInt(v.Values[0].(*ast.BasicLit).Value, 0, 64)
				if err != nil {
					t.Fatalf("%s: %v", v.Names[0].Name, err)
				}
				all = append(all, constant{v.Names[0].Name, strings.TrimSpace(v.Comment.Text()), value})
			}
		}
	}
	if len(all) == 0 {
		t.Fatalf("%s has no constants of type %s", dir, kind)
	}
	return all
}

// docErrors writes the table of error codes.
func docErrors(t *testing.T) string {
	t.Helper()
	var b strings.Builder
	b.WriteString("| code | name | meaning |\n|---|---|---|\n")
	for _, c := range constants(t, "..", "Code") {
		fmt.Fprintf(&b, "| %d | %s | %s |\n", c.Value, c.Name, c.meaning(t))
	}
	return b.String()
}

// docConstants writes the table of a closed list, with the values in a format.
func docConstants(t *testing.T, dir, kind, format string) string {
	t.Helper()
	var b strings.Builder
	b.WriteString("| value | meaning |\n|---|---|\n")
	for _, c := range constants(t, dir, kind) {
		fmt.Fprintf(&b, "| "+format+" | %s |\n", c.Value, c.meaning(t))
	}
	return b.String()
}

// meaning returns the comment, which every row of a documented list has.
func (c constant) meaning(t *testing.T) string {
	t.Helper()
	if c.Comment == "" {
		t.Errorf("%s has no comment", c.Name)
	}
	return c.Comment
}
