package guard

import (
	"errors"
	"strings"
	"testing"
)

// TestCall: an error is returned unchanged, and a panic becomes one with its stack.
func TestCall(t *testing.T) {
	plain := errors.New("plain")
	if err := Call("a test", func() error { return plain }); err != plain {
		t.Errorf("got %v, want %v", err, plain)
	}
	var p *Panic
	err := Call("a test", func() error { panic("trouble") })
	if !errors.As(err, &p) || err.Error() != "panic in a test: trouble" ||
		!strings.Contains(string(p.Stack), "guard_test.go") {
		t.Errorf("got %v", err)
	}
}

// TestRun: a panic is reported, an end without one is not.
func TestRun(t *testing.T) {
	var got error
	Run("a test", func() {}, func(err error) { got = err })
	if got != nil {
		t.Errorf("got %v", got)
	}
	Run("a test", func() { panic("trouble") }, func(err error) { got = err })
	if got == nil || got.Error() != "panic in a test: trouble" {
		t.Errorf("got %v", got)
	}
	Run("a test", func() { panic("nobody is told") }, nil)
}
