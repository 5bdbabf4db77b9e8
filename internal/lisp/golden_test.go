package lisp_test

import (
	"flag"
	"fmt"
	"strings"
	"testing"

	"wamble/internal/lisp"
	"wamble/internal/lisp/lisptest"
)

var update = flag.Bool("update", false, "rewrite the expected halves of the golden files")

// TestGolden runs every pair of testdata/*.golden: a program, and its result: the value of
// every form that has one, then the errors, then the warnings.
func TestGolden(t *testing.T) { lisptest.Golden(t, *update, evaluate) }

// TestEveryMessageHasGolden: each message and hint in the source of this
// package appears in a golden pair, or in the test that is named here.
func TestEveryMessageHasGolden(t *testing.T) {
	lisptest.Messages(t, map[string]string{
		"the file has more than %d bytes, which is all that can be read": "TestBounds",
		"lists are nested more than %d deep":                             "TestBounds",
		"a macro makes lists more than %d deep":                          "TestBounds",
	})
}

// environment is getenv of the goldens.
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
