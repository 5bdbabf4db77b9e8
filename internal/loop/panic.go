package loop

import "wamble/internal/guard"

// guard runs f on a goroutine beside the loop; Run waits for it. A panic of f ends the runtime, not the
// process.
func (rt *Runtime) guard(where string, f func()) {
	rt.done.Go(func() { guard.Run(where, f, rt.crash) })
}

// crash makes Run return err.
func (rt *Runtime) crash(err error) {
	select {
	case rt.crashed <- err:
	default: // the first is enough
	}
}

// CountPanic counts a panic that was recovered.
func (rt *Runtime) CountPanic() { rt.panics.Add(1) }
