package lisp_test

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"wamble/internal/lisp"
)

var update = flag.Bool("update", false, "rewrite the expected halves of the golden files")

// TestGolden runs every pair of testdata/*.golden: a program, a line of four
// dashes, and what it gives: the value of every form that has one, then the
// errors, then the warnings. Pairs are separated by a line of four equals
// signs.
func TestGolden(t *testing.T) {
	files, err := filepath.Glob("testdata/*.golden")
	if err != nil || len(files) == 0 {
		t.Fatalf("no golden files (%v)", err)
	}
	for _, file := range files {
		raw, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		pairs := strings.Split(strings.TrimSuffix(string(raw), "\n"), "\n====\n")
		for i, pair := range pairs {
			input, want, ok := strings.Cut(pair+"\n", "\n----\n")
			if !ok {
				t.Fatalf("%s: pair %d has no line of four dashes", file, i+1)
			}
			got := evaluate(input)
			if *update {
				pairs[i] = input + "\n----\n" + strings.TrimSuffix(got, "\n")
				continue
			}
			if got != want {
				t.Errorf("%s: pair %d\n%s\n--- got\n%s--- want\n%s", file, i+1, input, got, want)
			}
		}
		if *update {
			if err := os.WriteFile(file, []byte(strings.Join(pairs, "\n====\n")+"\n"), 0o644); err != nil {
				t.Fatal(err)
			}
		}
	}
}

// environment is what getenv sees in the goldens.
func environment(name string) string {
	return map[string]string{"PORT": "9000", "BAD": "a\xffb"}[name]
}

func evaluate(input string) string {
	in := lisp.New(lisp.DefaultLimits, environment, nil)
	in.Predefine("preset", lisp.Value{Kind: lisp.Int, Int: 5})
	var out strings.Builder
	for _, form := range in.Read(lisp.NewSource("t", input)) {
		if v := in.Exec([]lisp.Value{form}, in.Global); v.Kind != lisp.Nil {
			fmt.Fprintf(&out, "%s\n", v)
		}
	}
	for _, e := range append(in.Errors, in.Warnings...) {
		out.WriteString(e.Render())
	}
	return out.String()
}
