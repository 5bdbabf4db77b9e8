package loop

import "time"

// KeepMessages keeps what goes from the journal to the store, until a time at least: a backup
// needs it.
func (rt *Runtime) KeepMessages(until time.Time) {
	if d := rt.drain.Load(); d != nil {
		d.Hold(until)
	}
}
