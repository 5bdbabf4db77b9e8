package lisp_test

import (
	"fmt"
	"runtime"
	"strings"
	"testing"

	"wamble/internal/lisp"
	"wamble/internal/lisp/lisptest"
)

// hostile are programs that try to take more than they may.
var hostile = map[string]string{
	"open parentheses":   strings.Repeat("(", lisp.MaxSource),
	"open lines":         strings.Repeat("\n(", lisp.MaxSource/2),
	"closed parentheses": strings.Repeat(")", lisp.MaxSource),
	"short names":        strings.Repeat("a ", lisp.MaxSource/2),
	"quotes":             strings.Repeat(`"`, lisp.MaxSource-1),
	"backslashes":        `"` + strings.Repeat(`\q`, lisp.MaxSource/2-1) + `"`,
	"too long":           strings.Repeat(" ", lisp.MaxSource+1),
	"unknown functions":  many(func(i int) string { return fmt.Sprintf("(f%d)", i) }),
	"definitions":        many(func(i int) string { return fmt.Sprintf("(def v%d v%d)", i, i+1) }),
	"bad forms":          many(func(int) string { return "(def)" }),
	"recursion":          "(defn f (n) (f (+ n 1))) (f 0)",
	"branching":          "(defn f () (do (f) (f))) (f)",
	"wide":               "(defn f (n) (if (= n 0) 0 (+ (f (- n 1)) (f (- n 1))))) (f 60)",
	"doubling string":    "(defn d (n) (if (= n 0) \"0123456789\" (let ((h (d (- n 1)))) (str h h)))) (d 60)",
	"doubling macro":     "(defmacro d (x) (d (x x))) (d a)",
	"macro of macros":    "(defmacro m (n b) (do (defmacro n () (b b b b)) (m n (b b b b)))) (m q z)",
	"deep macro": "(defmacro grow (n x) (if (= n 0) (defmacro deep () x) (grow (- n 1) " +
		strings.Repeat("(", 150) + "x" + strings.Repeat(")", 150) + "))) (grow 30 y) (deep)",
	"unknown in a loop": "(defn f (n) (if (= n 0) 0 (do zzzz (nowhere) (f (- n 1))))) (defn g (n) (if (= n 0) 0 (do (f 900) (g (- n 1))))) (g 900)",
	"big numbers":       "(defn f (n) (if (= n 0) 1e300 (* 1.5 (f (- n 1))))) (< (f 10) 9223372036854775807)",
}

func many(form func(int) string) string {
	var b strings.Builder
	for i := 0; b.Len() < lisp.MaxSource-64; i++ {
		b.WriteString(form(i))
	}
	return b.String()
}

// TestBounds: for every program, evaluation ends, and allocates little more than its limit
// plus what reading costs.
func TestBounds(t *testing.T) {
	for name, program := range hostile {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		in := run(program)
		runtime.ReadMemStats(&after)
		const limit = 320 << 20
		if used := after.TotalAlloc - before.TotalAlloc; used > limit {
			t.Errorf("%s: %d MB allocated, want at most %d", name, used>>20, limit>>20)
		}
		if len(in.Errors) > 50 || len(in.Warnings) > 50 {
			t.Errorf("%s: %d errors and %d warnings, want at most 50", name, len(in.Errors), len(in.Warnings))
		}
		if name != "big numbers" && len(in.Errors)+len(in.Warnings) == 0 {
			t.Errorf("%s: nothing was found wrong", name)
		}
		if want := said[name]; want != "" && !strings.Contains(in.Errors[0].Msg, want) {
			t.Errorf("%s: got %q, want %q", name, in.Errors[0].Msg, want)
		}
	}
}

// said has the first error of some hostile programs.
var said = map[string]string{
	"open parentheses": "lists are nested more than 200 deep",
	"too long":         "the file has more than 262144 bytes",
	"deep macro":       "a macro makes lists more than 3000 deep",
}

func run(program string) *lisp.Interp {
	in := lisp.New(lisp.DefaultLimits, environment, nil)
	in.Exec(in.Read(lisp.NewSource("t", program)), in.Global)
	return in
}

// TestDeterminism: the same program gives the same findings, hints included.
func TestDeterminism(t *testing.T) {
	const program = "(defm a) (iff) (ad 1 2) (polcy) strr (getnv 1)"
	render := func() string {
		var b strings.Builder
		in := run(program)
		for _, e := range append(in.Errors, in.Warnings...) {
			b.WriteString(e.Render())
		}
		return b.String()
	}
	want := render()
	for range 20 {
		if got := render(); got != want {
			t.Fatalf("got\n%s\nwant\n%s", got, want)
		}
	}
}

// TestPositions: every value has the position where it was written.
func TestPositions(t *testing.T) {
	in := lisp.New(lisp.DefaultLimits, environment, nil)
	forms := in.Read(lisp.NewSource("f", "(a\n  \"é\" (b\t7))\nc"))
	for _, c := range []struct {
		v    lisp.Value
		want string
	}{
		{forms[0], "f:1:1"},
		{forms[0].Items[0], "f:1:2"},
		{forms[0].Items[1], "f:2:3"},
		{forms[0].Items[2], "f:2:7"},
		{forms[0].Items[2].Items[1], "f:2:10"},
		{forms[1], "f:3:1"},
	} {
		if got := c.v.Pos.String(); got != c.want {
			t.Errorf("%s: got %s, want %s", c.v, got, c.want)
		}
	}
	if got := (lisp.Pos{}).String(); got != "nowhere" {
		t.Errorf("the zero Pos: got %s", got)
	}
}

func TestNearest(t *testing.T) {
	known := []string{"port", "max-boards", "min-boards", "db-pass", "policy-deny"}
	for _, c := range []struct{ name, want string }{
		{"prot", "port"},
		{"max-board", "max-boards"},
		{"maxboards", "max-boards"},
		{"polcy-dney", "policy-deny"},
		{"po", ""},
		{"porcupine", ""},
		{"port", ""},
		{strings.Repeat("x", 100), ""},
	} {
		if got, _ := lisp.Nearest(c.name, known); got != c.want {
			t.Errorf("%s: got %q, want %q", c.name, got, c.want)
		}
	}
	for _, c := range []struct {
		a, b string
		want int
	}{{"", "", 0}, {"", "abc", 3}, {"abc", "", 3}, {"abc", "abc", 0}, {"abc", "acb", 1}, {"kitten", "sitting", 3},
		{"ab", "ba", 1}} {
		if got := lisp.Distance(c.a, c.b); got != c.want {
			t.Errorf("%s, %s: got %d, want %d", c.a, c.b, got, c.want)
		}
	}
}

// TestErrorText: the short form fits a log line.
func TestErrorText(t *testing.T) {
	in := run("(def a (+ 1 \"x\"))")
	got := in.Errors[0].Error()
	want := "t:1:13: `+` needs numbers, this is a string ((int …) makes a number of a string)"
	if got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

// FuzzRun: no program panics, hangs or leaves the bounds, and every finding
// can be drawn.
func FuzzRun(f *testing.F) {
	for _, program := range append(lisptest.Programs(f),
		"(def x (+ 1 2)) x", "(defmacro m (a) (quote (a a))) (m 1)", "(defn f (n) (if n (f (- n 1)) \"\\n\"))(f 3)",
		"(let ((a 1)) (str a \"é\")) ; c", "((((", "\"", ")", "(/ 1 0)", "\xff", "1e999", "(int \"x\")",
		"(= 1 1.0) (< 2 1)", ":k",
	) {
		f.Add(program)
	}
	limits := lisp.Limits{Steps: 20_000, Depth: 500, Memory: 1 << 20}
	f.Fuzz(func(t *testing.T, program string) {
		in := lisp.New(limits, environment, nil)
		for _, form := range in.Read(lisp.NewSource("t", program)) {
			v := in.Exec([]lisp.Value{form}, in.Global)
			if len(v.String()) > 200 {
				t.Errorf("a value is shown with %d bytes", len(v.String()))
			}
		}
		for _, e := range append(in.Errors, in.Warnings...) {
			if e.Render() == "" || e.Line > 1+strings.Count(program, "\n") {
				t.Errorf("finding %+v is outside the program", e)
			}
		}
	})
}
