package loop

import (
	"fmt"
	"runtime/debug"
)

// Panic is a panic of one of a profile's goroutines, with its stack.
type Panic struct {
	Where string
	Value any
	Stack []byte
}

// NewPanic is called by a deferred function with what it has recovered.
func NewPanic(where string, value any) *Panic {
	return &Panic{Where: where, Value: value, Stack: debug.Stack()}
}

func (p *Panic) Error() string { return fmt.Sprintf("panic in %s: %v", p.Where, p.Value) }

// guard runs f on a goroutine of its own beside the loop, which ends with the
// runtime. Its panic ends the runtime, not the process.
func (rt *Runtime) guard(where string, f func()) {
	rt.done.Go(func() {
		defer func() {
			if v := recover(); v != nil {
				rt.crash(NewPanic(where, v))
			}
		}()
		f()
	})
}

// crash tells Run that the runtime cannot go on.
func (rt *Runtime) crash(err error) {
	select {
	case rt.crashed <- err:
	default: // the first is enough
	}
}
