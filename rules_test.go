package wamble_test

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path"
	"slices"
	"strconv"
	"strings"
	"testing"
	"testing/fstest"
)

// room is one package and the packages it may import. Imports point down: no room is reached
// from its own list.
type room struct {
	name  string   // directory; "." is package wamble
	may   []string // rooms it may import
	tests []string // rooms that its tests may import beside those
	also  []string // packages that other rooms may not import
	pure  bool     // takes now and plain values: no clock, no I/O, no locks
}

// rooms is the layout of ARCHITECTURE.md, each room below those that use it. A
// new package needs a row.
var rooms = []room{
	{name: "chess", pure: true},
	{name: "chess/novice", may: []string{"chess"}, pure: true},
	{name: "chess/opening", may: []string{"chess"}},
	{name: "chess/uci", may: []string{"chess"}},
	{name: ".", pure: true},
	{name: "wire", may: []string{"."}, pure: true},
	{name: "internal/lisp", pure: true},
	{name: "internal/lisp/lisptest"},
	{name: "internal/config", may: []string{"internal/lisp", "."}},
	{name: "internal/lru", pure: true},
	{name: "internal/tokenbucket", pure: true},
	{name: "internal/share", may: []string{"."}, pure: true},
	{name: "internal/pack", pure: true},
	{name: "internal/guard"},
	{name: "internal/intent", may: []string{"."}, pure: true},
	{name: "internal/session", may: []string{"internal/intent", "internal/pack", "internal/share", "internal/lru", "internal/tokenbucket", "."}, pure: true},
	{name: "internal/board", may: []string{"internal/intent", "internal/pack", "internal/share", ".", "chess"}, pure: true},
	{name: "internal/predict", may: []string{"internal/intent", "internal/pack", ".", "chess"}, pure: true},
	{name: "internal/tally", may: []string{"chess"}, pure: true},
	{name: "internal/spectate", may: []string{"wire", ".", "chess"}, pure: true},
	{name: "internal/reward", may: []string{"internal/intent", "."}, pure: true},
	{name: "internal/access", may: []string{"internal/config", "wire", "."}, pure: true},
	{name: "internal/record", may: []string{".", "chess"}, pure: true},
	{name: "internal/store", may: []string{"internal/intent", "."}},
	{name: "internal/store/schema", may: []string{"internal/store", "internal/intent", "internal/guard", "."}},
	{name: "internal/store/sqlite", may: []string{"internal/store/schema", "internal/store", "internal/intent", "."}, also: []string{"database/sql"}},
	{name: "internal/store/postgres", may: []string{"internal/store/schema", "internal/store", "internal/intent", "internal/guard", "."}},
	{name: "internal/store/postgres/pgtest", may: []string{"internal/store/postgres"}},
	{name: "internal/store/storetest", may: []string{"internal/store", "internal/store/schema", "internal/intent", "."}},
	{name: "internal/importer", may: []string{"internal/store/postgres", "internal/store/schema", "internal/store", "internal/intent", ".", "chess"},
		tests: []string{"internal/store/postgres/pgtest", "internal/store/sqlite"}},
	{name: "runner/internal/mailbox"},
	{name: "runner", may: []string{"runner/internal/mailbox"}},
	{name: "runner/pebblestore", may: []string{"runner"}, also: []string{"github.com/cockroachdb/pebble"}, tests: []string{"runner/internal/mailbox"}},
	{name: "runner/memstore", may: []string{"runner"}},
	{name: "runner/logstore", may: []string{"runner"}},
	{name: "runner/logstore/logtest", may: []string{"runner/logstore"}},
	{name: "internal/store/postgres/pglog", may: []string{"internal/store/postgres", "runner/logstore", "runner", "internal/guard"}},
	// runner/admin: its page needs no script, and no build.
	{name: "runner/admin", may: []string{"runner"}, also: []string{"html/template"}},
	{name: "runner/runnerprom", may: []string{"runner"}},
	{name: "runner/runnertest", may: []string{"runner/memstore", "runner", "runner/internal/mailbox"}},
	{name: "runner/serve", may: []string{"runner/admin", "runner/pebblestore", "runner"}},
	{name: "runner/first", may: []string{"runner/serve", "runner"}},
	{name: "internal/journal", may: []string{"runner", "internal/store", "internal/intent", "internal/guard", "."},
		tests: []string{"runner/pebblestore", "internal/store/postgres", "internal/store/sqlite"}},
	{name: "internal/backup", may: []string{"internal/journal", "runner/pebblestore", "runner", "internal/store/sqlite", "internal/store/schema", "internal/store", "internal/guard", ".", "chess"},
		tests: []string{"internal/store/postgres"}},
	{name: "internal/link", may: []string{"internal/pack", "internal/share", "internal/lru", "internal/tokenbucket", "wire", "."}, pure: true},
	// transport: http.Server takes its error log as a *log.Logger; recvmmsg and
	// sendmmsg take arrays of C structs; link is measured over a real socket.
	{name: "internal/transport", may: []string{"internal/guard", "wire", "."}, tests: []string{"internal/link"}, also: []string{"log", "unsafe"}},
	{name: "internal/mesh", may: []string{"internal/guard", "internal/share", "wire", "."}},
	{name: "client", may: []string{"internal/transport", "internal/link", "wire", "."}},
	{name: "client/clienttest", may: []string{"internal/transport", "internal/link", "wire", "."}},
	{name: "internal/play", may: []string{"wire", ".", "chess"}, pure: true},
	{name: "internal/terminal", may: []string{"internal/play", ".", "chess"}},
	{name: "examples/bot", may: []string{"client", "chess"}},
	{name: "internal/bot", may: []string{"client", "internal/guard", ".", "chess/uci", "chess/novice", "chess"}, tests: []string{"wire"}},
	{name: "internal/loader", may: []string{"internal/transport", "internal/link", "internal/store", "wire", ".", "chess"}, also: []string{"unsafe"}},
	{name: "internal/profile", may: []string{"internal/link", "internal/journal", "internal/access", "internal/reward", "internal/spectate", "internal/tally", "internal/predict", "internal/board", "internal/session", "internal/intent", "internal/pack", "internal/share", "internal/lru", "internal/tokenbucket", "internal/config", "wire", ".", "chess"},
		tests: []string{"runner/logstore", "internal/tape"}, pure: true},
	{name: "internal/tape", may: []string{"internal/profile", "internal/pack", "internal/guard"}, tests: []string{"internal/config", "wire", "."}},
	{name: "internal/registry", may: []string{"internal/profile", "internal/guard", "."}},
	{name: "internal/loop", may: []string{"internal/registry", "internal/board", "internal/tape", "internal/profile", "internal/transport", "internal/link", "internal/journal", "runner", "internal/store/schema", "internal/store", "internal/guard", "internal/config", "wire", "."},
		tests: []string{"internal/store/sqlite", "internal/intent"}},
	{name: "internal/handoff", may: []string{"internal/loop", "internal/profile", "internal/transport", "runner", "internal/store", "internal/guard", "internal/config", "."},
		tests: []string{"internal/journal", "internal/store/sqlite", "wire"}},
	{name: "internal/observe", may: []string{"internal/loop", "internal/transport", "runner/runnerprom", "runner", "internal/config", "."},
		tests: []string{"internal/profile", "runner/memstore"}},
	{name: "internal/readapi", may: []string{"internal/store", "internal/record", "internal/share", "internal/tokenbucket", "internal/guard", "wire", "."}},
	// web: its tests are browsers before a whole server, with bots beside them.
	{name: "web", tests: []string{"client", "internal/journal", "runner/admin", "runner/pebblestore", "runner", "internal/intent", "internal/prooftest", "wire", "chess", "."}},
	{name: "internal/admin", may: []string{"web", "internal/handoff", "internal/loop", "internal/profile", "internal/transport", "internal/journal", "runner/admin", "runner", "internal/store/schema", "internal/store", "internal/guard", "internal/config", "wire", "."},
		tests: []string{"runner/pebblestore"}},
	// cluster: what one node tells another, and how, apart from the process that serves players.
	{name: "internal/cluster", may: []string{"internal/loop", "internal/profile", "internal/transport", "internal/mesh", "internal/pack", "internal/store/postgres/pglog", "internal/guard", "."}},
	{name: "internal/server", may: []string{"internal/cluster", "internal/backup", "internal/bot", "internal/admin", "web", "internal/readapi", "internal/observe", "internal/handoff", "internal/loop", "internal/registry", "internal/tape", "internal/profile", "internal/transport", "internal/journal", "runner/pebblestore", "runner/logstore", "runner", "internal/pack", "runner/memstore", "internal/store/postgres/pglog", "internal/store/postgres", "internal/store/sqlite", "internal/store/schema", "internal/store", "internal/access", "internal/guard", "internal/config", "."},
		tests: []string{"internal/importer", "internal/loader", "client", "internal/record", "internal/intent", "runner/admin", "wire",
			"chess"}},
	{name: "internal/systemd"},
	{name: "internal/watchtest"},
	{name: "internal/prooftest"},
	{name: "cmd/wamble", may: []string{"internal/terminal", "internal/backup", "internal/play", "internal/importer", "client", "internal/bot", "chess/uci", "chess/novice", "internal/systemd", "internal/server", "internal/admin", "internal/observe", "internal/tape", "internal/loader", "internal/journal", "runner/pebblestore", "runner/admin", "runner", "internal/store/schema", "internal/store", "internal/record", "internal/guard", "internal/config", "internal/lisp", "wire", ".", "chess"},
		tests: []string{"internal/handoff", "internal/profile", "internal/store/postgres", "internal/store/postgres/pgtest", "internal/store/sqlite", "internal/intent"}},
}

// nowhere lists what no non-test file may import, with everything below it and
// the reason. An empty reason allows again.
var nowhere = map[string]string{
	"io/ioutil":     "deprecated: use io and os",
	"log":           "use log/slog, so that every line is structured",
	"log/slog":      "",
	"math/rand/v2":  "",
	"math/rand":     "use math/rand/v2 for play and crypto/rand for secrets",
	"unsafe":        "nothing here is worth it but system calls",
	"encoding/gob":  "its bytes change with our types",
	"html/template": "pages are built by web",
	"testing":       "ships the test framework in the binary",
	"database/sql":  "only the stores speak SQL",

	"github.com/cockroachdb/pebble": "only runner/pebblestore knows Pebble",
}

// impure lists what a pure room may not import, with everything below it and the reason. An
// empty reason allows again.
var impure = map[string]string{
	"net":              "a pure room has no sockets (net/netip is a value and fine)",
	"net/netip":        "",
	"os":               "a pure room has no files, no environment and no process",
	"syscall":          "a pure room has no files, no environment and no process",
	"golang.org/x/sys": "a pure room has no files, no environment and no process",
	"golang.org/x/net": "a pure room has no sockets (net/netip is a value and fine)",
	"sync":             "a pure room belongs to one goroutine",
	"database/sql":     "a pure room returns intents; the stores write",
	"log/slog":         "a pure room returns what happened; its caller logs",
	"crypto/rand":      "a pure room is handed its entropy",
}

// forbidden is why p may not be imported according to list, "" if it may.
func forbidden(list map[string]string, p string) string {
	for ; p != "."; p = path.Dir(p) {
		if reason, ok := list[p]; ok {
			return reason
		}
	}
	return ""
}

// module is the path of this module (scripts/rename-module changes it).
var module = func() string {
	text, err := os.ReadFile("go.mod")
	first, _, _ := strings.Cut(string(text), "\n")
	path, ok := strings.CutPrefix(first, "module ")
	if err != nil || !ok {
		panic(fmt.Sprintf("go.mod does not begin with the module's path: %v", err))
	}
	return strings.TrimSpace(path)
}()

func TestRules(t *testing.T) {
	for _, c := range check(t, os.DirFS(".")) {
		t.Errorf("%s: %s: %s", c.where, c.rule, c.reason)
	}
}

// TestRulesBite plants one offence of each kind and expects the complaint.
func TestRulesBite(t *testing.T) {
	for _, tc := range []struct{ name, file, source, want string }{
		{"upward import", "wire/a.go", "package wire\n\nimport _ \"" + module + "/cmd/wamble\"\n", "wire/a.go: import " + module + "/cmd/wamble"},
		{"upward import from a test", "wire/a_test.go", "package wire\n\nimport _ \"" + module + "/cmd/wamble\"\n", "wire/a_test.go: import " + module + "/cmd/wamble"},
		{"socket in a pure room", "wire/a.go", "package wire\n\nimport _ \"net\"\n", "wire/a.go: import net"},
		{"server in a pure room", "wire/a.go", "package wire\n\nimport _ \"net/http\"\n", "wire/a.go: import net/http"},
		{"process in a pure room", "wire/a.go", "package wire\n\nimport _ \"os/exec\"\n", "wire/a.go: import os/exec"},
		{"clock in a pure room", "wire/a.go", "package wire\n\nimport \"time\"\n\nvar now = time.Now()\n", "wire/a.go: time.Now"},
		{"forbidden everywhere", "cmd/wamble/a.go", "package main\n\nimport _ \"log\"\n", "cmd/wamble/a.go: import log"},
		{"Pebble outside its room", "runner/a.go", "package runner\n\nimport _ \"github.com/cockroachdb/pebble/v2/vfs\"\n", "runner/a.go: import github.com/cockroachdb/pebble/v2/vfs"},
		{"row with an import that is gone", "wire/a.go", "// Package wire is alone.\npackage wire\n", "wire: may ."},
		{"room without a package", "wire/a.go", "// Package wire is alone.\npackage wire\n", "chess: room"},
		{"package without a row", "attic/a.go", "// Package attic is old.\npackage attic\n", "attic: room"},
		{"package without a comment", "wire/a.go", "package wire\n", "wire: package comment"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			tree := fstest.MapFS{tc.file: {Data: []byte(tc.source)}}
			var got []string
			for _, c := range check(t, tree) {
				got = append(got, c.where+": "+c.rule)
			}
			if !slices.Contains(got, tc.want) {
				t.Errorf("got complaints %q, want %q among them", got, tc.want)
			}
		})
	}
}

// complaint is a rule that is broken, where, and the rule's reason.
type complaint struct{ where, rule, reason string }

// check parses every Go file of the tree in this process (not through the go
// tool, whose answers would escape the test cache) and returns its complaints.
func check(t *testing.T, tree fs.FS) []complaint {
	t.Helper()
	var all []complaint
	documented := map[string]bool{}
	used := map[[2]string]bool{} // importing room, imported room
	err := fs.WalkDir(tree, ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() {
			return skipOutside(tree, name)
		}
		if path.Ext(name) != ".go" {
			return nil
		}
		source, err := fs.ReadFile(tree, name)
		if err != nil {
			return err
		}
		fset := token.NewFileSet()
		file, err := parser.ParseFile(fset, name, source, parser.ParseComments)
		if err != nil {
			return err
		}
		dir := path.Dir(name)
		isTest := strings.HasSuffix(name, "_test.go")
		if !isTest {
			documented[dir] = documented[dir] || file.Doc != nil
		}
		for _, spec := range file.Imports {
			used[[2]string{dir, roomOf(spec)}] = true
		}
		all = append(all, checkImports(name, dir, isTest, file)...)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	for i, r := range rooms {
		if _, ok := documented[r.name]; !ok {
			all = append(all, complaint{r.name, "room", "remove its row: there is no such package"})
			continue
		}
		for _, other := range slices.Concat(r.may, r.tests) {
			if !used[[2]string{r.name, other}] {
				all = append(all, complaint{r.name, "may " + other, "it does not import it: remove it from the row"})
			}
		}
		for _, other := range r.may {
			if !slices.ContainsFunc(rooms[:i], func(below room) bool { return below.name == other }) {
				all = append(all, complaint{r.name, "may " + other,
					"imports point down: a row names only rooms of rows before it"})
			}
		}
	}
	for dir, ok := range documented {
		if !slices.ContainsFunc(rooms, func(r room) bool { return r.name == dir }) {
			all = append(all, complaint{dir, "room", "add a row to rooms that says what it may import"})
		}
		if !ok {
			all = append(all, complaint{dir, "package comment", "every package says what it is"})
		}
	}
	return all
}

// skipOutside keeps the walk out of hidden folders, test data, installed web
// packages and nested modules.
func skipOutside(tree fs.FS, dir string) error {
	if dir == "." {
		return nil
	}
	base := path.Base(dir)
	_, err := fs.Stat(tree, dir+"/go.mod")
	if err == nil || base[0] == '.' || base == "testdata" || base == "node_modules" {
		return fs.SkipDir
	}
	return nil
}

// roomOf returns the room of an import, "" if it is none of ours.
func roomOf(spec *ast.ImportSpec) string {
	p, _ := strconv.Unquote(spec.Path.Value)
	if p == module {
		return "."
	}
	room, ours := strings.CutPrefix(p, module+"/")
	if !ours {
		return ""
	}
	return room
}

func checkImports(name, dir string, isTest bool, file *ast.File) []complaint {
	var all []complaint
	add := func(rule, reason string) { all = append(all, complaint{name, rule, reason}) }
	r := room{name: dir}
	if i := slices.IndexFunc(rooms, func(r room) bool { return r.name == dir }); i >= 0 {
		r = rooms[i]
	}
	for _, spec := range file.Imports {
		p, _ := strconv.Unquote(spec.Path.Value)
		target := roomOf(spec)
		switch {
		case target != "" && target != dir && !slices.Contains(r.may, target) && !(isTest && r.testsMay(target)):
			add("import "+p, fmt.Sprintf("%s may import only %v", dir, r.may))
		case isTest || p == "testing" && strings.HasSuffix(dir, "test"):
		case forbidden(nowhere, p) != "" && !r.mayAlso(p):
			add("import "+p, forbidden(nowhere, p))
		case r.pure && forbidden(impure, p) != "":
			add("import "+p, forbidden(impure, p))
		}
	}
	if r.pure && !isTest {
		ast.Inspect(file, func(n ast.Node) bool {
			if sel, ok := n.(*ast.SelectorExpr); ok && isClock(sel) {
				add("time."+sel.Sel.Name, "a pure room is handed the time")
			}
			return true
		})
	}
	return all
}

// testsMay reports whether the room's tests may import target although the room
// may not: suites, harnesses and scripted servers are made for that.
func (r room) testsMay(target string) bool {
	return strings.HasSuffix(path.Base(target), "test") || target == "runner/memstore" ||
		slices.Contains(r.tests, target)
}

// mayAlso reports whether p is, or lies below, a package that only this room may import.
func (r room) mayAlso(p string) bool {
	return slices.ContainsFunc(r.also, func(a string) bool { return p == a || strings.HasPrefix(p, a+"/") })
}

func isClock(sel *ast.SelectorExpr) bool {
	x, ok := sel.X.(*ast.Ident)
	clock := []string{"Now", "Sleep", "Since", "Until", "After", "AfterFunc", "Tick", "NewTimer", "NewTicker"}
	return ok && x.Name == "time" && slices.Contains(clock, sel.Sel.Name)
}
