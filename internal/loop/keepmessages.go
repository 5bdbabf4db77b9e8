package loop

import "time"

// PinMessages retains messages that go from the journal to the store, until the given time at least, for a
// backup.
func (rt *Runtime) PinMessages(until time.Time) {
	if d := rt.drain.Load(); d != nil {
		d.Pin(until)
	}
}
