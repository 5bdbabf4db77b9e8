package loop

import "wamble/internal/guard"

// guard runs f on a goroutine of its own beside the loop, which ends with the
// runtime. Its panic ends the runtime, not the process.
func (rt *Runtime) guard(where string, f func()) {
	rt.done.Go(func() { guard.Run(where, f, rt.crash) })
}

// crash tells Run that the runtime cannot go on.
func (rt *Runtime) crash(err error) {
	select {
	case rt.crashed <- err:
	default: // the first is enough
	}
}

// CountPanic counts a panic that was caught.
func (rt *Runtime) CountPanic() { rt.panics.Add(1) }
