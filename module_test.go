package wamble_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"maps"
	"os"
	"os/exec"
	"path"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// goFiles parses every Go file of this module and hands it to do.
func goFiles(t *testing.T, do func(name string, file *ast.File)) {
	t.Helper()
	out, err := exec.Command("git", "ls-files", "--cached", "--others", "--exclude-standard", "*.go").Output()
	if err != nil {
		t.Fatalf("git ls-files: %v", err)
	}
	for name := range strings.Lines(string(out)) {
		name = strings.TrimSpace(name)
		if strings.HasPrefix(name, "bench/") || strings.HasPrefix(name, "runner/examples/") ||
			strings.Contains(name, "/testdata/") {
			continue // other modules, and files that are no code of ours
		}
		source, err := os.ReadFile(name)
		if os.IsNotExist(err) {
			continue // deleted, and not committed yet
		}
		if err != nil {
			t.Fatal(err)
		}
		file, err := parser.ParseFile(token.NewFileSet(), name, source, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		do(name, file)
	}
}

// TestDirectDependencies: what is imported here is not marked "// indirect" in
// go.mod.
func TestDirectDependencies(t *testing.T) {
	text, err := os.ReadFile("go.mod")
	if err != nil {
		t.Fatal(err)
	}
	var indirect []string
	for line := range strings.Lines(string(text)) {
		if f := strings.Fields(line); len(f) == 4 && f[3] == "indirect" {
			indirect = append(indirect, f[0])
		}
	}
	if len(indirect) == 0 {
		t.Fatal("go.mod has no indirect dependency: this test reads it wrongly")
	}
	goFiles(t, func(name string, file *ast.File) {
		for _, spec := range file.Imports {
			p, _ := strconv.Unquote(spec.Path.Value)
			for _, m := range indirect {
				if p == m || strings.HasPrefix(p, m+"/") {
					t.Errorf("%s imports %s, which go.mod calls indirect", name, p)
				}
			}
		}
	})
}

// TestRaceDetectorCoversGoroutines: `make race` runs every package that starts
// goroutines.
func TestRaceDetectorCoversGoroutines(t *testing.T) {
	covered := racePackages(t)
	starts := map[string]bool{}
	goFiles(t, func(name string, file *ast.File) {
		if !strings.HasSuffix(name, "_test.go") && startsGoroutine(file) {
			starts[path.Dir(name)] = true
		}
	})
	if !starts["runner"] {
		t.Fatal("package runner starts goroutines, and this test does not see it")
	}
	for _, dir := range slices.Sorted(maps.Keys(starts)) {
		if !slices.ContainsFunc(covered, func(pattern string) bool { return matches(pattern, dir) }) {
			t.Errorf("%s starts goroutines, but the race detector does not run on it: add it to RACE in the Makefile",
				dir)
		}
	}
}

// racePackages returns the patterns of the Makefile's lines with -race.
func racePackages(t *testing.T) []string {
	t.Helper()
	text, err := os.ReadFile("Makefile")
	if err != nil {
		t.Fatal(err)
	}
	joined := strings.ReplaceAll(string(text), "\\\n", " ")
	var patterns []string
	for line := range strings.Lines(joined) {
		if strings.HasPrefix(line, "RACE :=") || strings.Contains(line, " -race ") {
			for _, word := range strings.Fields(line) {
				if strings.HasPrefix(word, "./") {
					patterns = append(patterns, strings.TrimPrefix(word, "./"))
				}
			}
		}
	}
	return patterns
}

// matches reports whether a pattern of the go tool names a directory.
func matches(pattern, dir string) bool {
	if below, all := strings.CutSuffix(pattern, "/..."); all {
		return dir == below || strings.HasPrefix(dir, below+"/")
	}
	return pattern == dir
}

// startsGoroutine reports whether a file has a go statement, or a call of a
// method Go as sync.WaitGroup has it.
func startsGoroutine(file *ast.File) bool {
	found := false
	ast.Inspect(file, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.GoStmt:
			found = true
		case *ast.CallExpr:
			sel, ok := n.Fun.(*ast.SelectorExpr)
			found = found || ok && sel.Sel.Name == "Go"
		}
		return !found
	})
	return found
}
