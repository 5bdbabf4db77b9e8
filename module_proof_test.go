//go:build proof

package wamble_test

import (
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"wamble/internal/prooftest"
)

// TestRenameModule gives a copy of the tree another module path and builds it.
func TestRenameModule(t *testing.T) {
	prooftest.Needs(t, "minutes")
	const renamed = "example.org/chess/wamble"
	dir := t.TempDir()
	archive := exec.Command("bash", "-c",
		`git ls-files --cached --others --exclude-standard -z | while IFS= read -r -d '' f; do [ -e "$f" ] && printf '%s\0' "$f"; done | tar -c --null -T - | tar -x -C "$0"`, dir)
	if out, err := archive.CombinedOutput(); err != nil {
		t.Fatalf("copy the tree: %v\n%s", err, out)
	}
	run := func(name string, args ...string) string {
		t.Helper()
		cmd := exec.Command(name, args...)
		cmd.Dir = dir
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Fatalf("%s %s: %v\n%s", name, strings.Join(args, " "), err, out)
		}
		return string(out)
	}
	run(filepath.Join(dir, "scripts", "rename-module"), renamed)
	if got := strings.TrimSpace(run("go", "list", "-m")); got != renamed {
		t.Errorf("the module is %s, want %s", got, renamed)
	}
	run("go", "build", "./...")
	run("go", "test", "-run", "^TestRules", ".")
	if out, err := exec.Command("grep", "-rnE", "--include=*.go", `^(import |\t)([A-Za-z_.0-9]+ )?"wamble(/[^"]*)?"$`,
		dir).Output(); err == nil {
		t.Errorf("imports of the old path are left:\n%s", out)
	}
}
