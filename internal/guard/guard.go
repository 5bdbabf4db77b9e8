// Package guard turns a panic into an error, so that it ends only the request, connection or profile that
// it belongs to, not the process. Every goroutine of the server begins with a guard; a test of the module
// checks that.
package guard

import (
	"fmt"
	"runtime/debug"
)

// Panic is a recovered panic, with its stack.
type Panic struct {
	Where string // "the writer of a connection"
	Value any
	Stack []byte
	// Detail is what is known of the cause, in lines; "" if nothing.
	Detail string
}

// New is called by a deferred function with the value that it has recovered.
func New(where string, value any) *Panic {
	return &Panic{Where: where, Value: value, Stack: debug.Stack()}
}

func (p *Panic) Error() string { return fmt.Sprintf("panic in %s: %v", p.Where, p.Value) }

// Into is deferred: it makes a panic the error of its function.
func Into(err *error, where string) {
	if v := recover(); v != nil {
		*err = New(where, v)
	}
}

// Call calls f and returns its error, or its panic.
func Call(where string, f func() error) (err error) {
	defer Into(&err, where)
	return f()
}

// Run calls f, and calls report with its panic; report may be nil.
func Run(where string, f func(), report func(error)) {
	err := Call(where, func() error { f(); return nil })
	if err != nil && report != nil {
		report(err)
	}
}
