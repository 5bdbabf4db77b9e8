package wamble_test

import (
	"go/ast"
	"path"
	"strings"
	"testing"
)

// unguarded lists the goroutines that begin without a guard, by file and function,
// with the reason. All others turn a panic into an error that their owner handles:
// by package guard, by rt.guard, or by a recover of their own.
var unguarded = map[string]string{
	"runner/serve/serve.go run":                     "net/http's own guard",
	"chess/uci/engine.go read":                      "sets a deadline",
	"client/client.go Dial":                         "the library runs in somebody else's program, who must see its panics",
	"client/loop.go attach":                         "the same",
	"client/clienttest/server.go Start":             "for tests",
	"cmd/wamble/bench_child.go startChild":          "a process of its own that measures",
	"cmd/wamble/bench_machine.go benchEchoCommand":  "the same",
	"cmd/wamble/bench_run.go watchLag":              "the same",
	"cmd/wamble/bot.go play":                        "each seat has a guard",
	"cmd/wamble/signals.go untilStopped":            "it ends the process anyway",
	"internal/loader/separate.go openSeparate":      "wamble bench, a process of its own",
	"internal/readapi/cache.go fetch":               "it receives from a channel",
	"internal/loop/runtime.go startLoop":            "loop.run recovers; the test cannot tell it from others of the name",
	"internal/loop/loop.go run":                     "each parcel is sent under a guard of its own",
	"internal/store/postgres/pgtest/proxy.go":       "for tests",
	"internal/store/storetest/batches.go":           "for tests",
	"internal/server/handoff.go handOff":            "cancel of package context",
	"internal/loader/spoken.go openSpoken":          "the same",
	"internal/loader/run.go playBoth":               "the same",
	"internal/store/postgres/pglog/progress.go":     "the same",
	"internal/transport/handshake.go dialWebSocket": "sets a deadline",
	"internal/mesh/link.go connect":                 "ends the connection",
	"internal/mesh/serve.go serveEvents":            "ends the subscription",
	"runner/workerloop.go turns":                    "each turn recovers",
}

// TestGoroutinesAreGuarded: every goroutine of the binary survives a panic, or is
// in the table of those that need not.
func TestGoroutinesAreGuarded(t *testing.T) {
	type start struct {
		file, function string
		begins         ast.Expr
	}
	var starts []start
	guarded := map[string]bool{} // whether all functions of a name have a guard, by "directory name"
	goFiles(t, func(name string, file *ast.File) {
		if strings.HasSuffix(name, "_test.go") {
			return
		}
		for _, decl := range file.Decls {
			f, ok := decl.(*ast.FuncDecl)
			if !ok || f.Body == nil {
				continue
			}
			key := path.Dir(name) + " " + f.Name.Name
			before, known := guarded[key]
			guarded[key] = hasGuard(f.Body) && (before || !known)
			ast.Inspect(f.Body, func(n ast.Node) bool {
				if begins := begun(n); begins != nil {
					starts = append(starts, start{name, f.Name.Name, begins})
				}
				return true
			})
		}
	})
	if len(starts) < 30 {
		t.Fatalf("only %d goroutines are seen: this test reads them wrongly", len(starts))
	}
	used := map[string]bool{}
	for _, s := range starts {
		if literal, ok := s.begins.(*ast.FuncLit); ok && hasGuard(literal.Body) {
			continue
		}
		if guarded[path.Dir(s.file)+" "+nameOf(s.begins)] {
			continue
		}
		key := s.file + " " + s.function
		if unguarded[s.file] != "" {
			key = s.file
		}
		if used[key] = true; unguarded[key] == "" {
			t.Errorf("%s: a goroutine without a guard in %s: begin it with guard.Run or guard.Call, or give the reason in unguarded", s.file, s.function)
		}
	}
	for key := range unguarded {
		if !used[key] {
			t.Errorf("unguarded has %s, which starts no goroutine without a guard", key)
		}
	}
}

// begun returns the function that a statement or a call begins on a goroutine of
// its own, or nil.
func begun(n ast.Node) ast.Expr {
	switch n := n.(type) {
	case *ast.GoStmt:
		return n.Call.Fun
	case *ast.CallExpr:
		sel, ok := n.Fun.(*ast.SelectorExpr)
		switch {
		case ok && sel.Sel.Name == "Go" && len(n.Args) == 1:
			return n.Args[0]
		case ok && sel.Sel.Name == "AfterFunc" && len(n.Args) == 2:
			return n.Args[1]
		}
	}
	return nil
}

// hasGuard reports whether a statement of a body, at its top or in a loop, is one
// that survives a panic: a call or a defer of a guard, or a deferred recover.
func hasGuard(body *ast.BlockStmt) bool {
	for _, s := range body.List {
		if loop, ok := s.(*ast.ForStmt); ok && hasGuard(loop.Body) {
			return true
		}
		found := false
		ast.Inspect(s, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.GoStmt, *ast.ForStmt, *ast.RangeStmt:
				return false // that is another goroutine, or comes later
			case *ast.CallExpr:
				if begun(n) != nil {
					return false
				}
				sel, ok := n.Fun.(*ast.SelectorExpr)
				pkg := ""
				if ok {
					pkg = nameOf(sel.X)
				}
				found = found || pkg == "guard" ||
					strings.Contains(" guard recover recoverInto ", " "+nameOf(n.Fun)+" ")
			}
			return !found
		})
		if found {
			return true
		}
	}
	return false
}

// nameOf is the last name of an expression.
func nameOf(e ast.Expr) string {
	switch e := e.(type) {
	case *ast.Ident:
		return e.Name
	case *ast.SelectorExpr:
		return e.Sel.Name
	}
	return ""
}
