// Package lisptest specifies a language by golden pairs. The tests of lisp and of config share
// it.
//
// A file testdata/*.golden is a list of pairs, separated by lines of four equals signs; a pair
// is a program, a line of four dashes, and the program's result. Every message in the source of
// a package must appear in one of its pairs.
package lisptest

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

const (
	between = "\n====\n"
	gives   = "\n----\n"
)

// Golden runs the program of every pair and compares the result of run with the pair's other
// half, or writes that half if update is set.
func Golden(t *testing.T, update bool, run func(program string) string) {
	t.Helper()
	for _, file := range read(t) {
		pairs := strings.Split(strings.TrimSuffix(file.text, "\n"), between)
		for i, pair := range pairs {
			program, want, ok := strings.Cut(pair+"\n", gives)
			if !ok {
				t.Fatalf("%s: pair %d has no line of four dashes", file.name, i+1)
			}
			got := run(program)
			if update {
				pairs[i] = program + gives + strings.TrimSuffix(got, "\n")
				continue
			}
			if got != want {
				t.Errorf("%s: pair %d\n%s\n--- got\n%s--- want\n%s", file.name, i+1, program, got, want)
			}
		}
		if update {
			if err := os.WriteFile(file.name, []byte(strings.Join(pairs, between)+"\n"), 0o644); err != nil {
				t.Fatal(err)
			}
		}
	}
}

// Programs returns the programs of all pairs, as seeds of a fuzz target.
func Programs(t testing.TB) []string {
	t.Helper()
	var programs []string
	for _, file := range read(t) {
		for pair := range strings.SplitSeq(file.text, between) {
			program, _, _ := strings.Cut(pair, gives)
			programs = append(programs, program)
		}
	}
	return programs
}

type goldenFile struct{ name, text string }

// read returns the golden files of the package under test.
func read(t testing.TB) []goldenFile {
	t.Helper()
	names, err := filepath.Glob("testdata/*.golden")
	if err != nil || len(names) == 0 {
		t.Fatalf("no golden files (%v)", err)
	}
	var files []goldenFile
	for _, name := range names {
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		files = append(files, goldenFile{name, string(text)})
	}
	return files
}
