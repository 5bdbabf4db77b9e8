package loop

import (
	"context"
	"time"

	"wamble"
	"wamble/internal/profile"
)

// trustEvery is how often the store is polled for changes of trust: one that is made in the database takes
// effect within a second.
const trustEvery = 500 * time.Millisecond

// trustwatch knows which changes of trust the profile was given. It belongs to the storewatch.
type trustwatch struct {
	position int64
	last     map[wamble.TrustLevel]bool // the last answer: a change may come twice
}

// poll gives the profile the new changes. If the store fails, the next tick asks again.
func (w *trustwatch) poll(ctx context.Context, rt *Runtime) {
	if rt.watch.away.Load() || rt.instance.Load() == nil {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, loadTime)
	defer cancel()
	changed, position, err := rt.o.Database.TrustChanges(ctx, w.position)
	if err != nil {
		return
	}
	events, seen := &profile.StoreEvents{}, map[wamble.TrustLevel]bool{}
	for _, row := range changed {
		if seen[row] = true; !w.last[row] {
			events.Changes = append(events.Changes, profile.StoreEvent{What: profile.Stale, Session: row.Session})
		}
	}
	w.position, w.last = position, seen
	if len(events.Changes) > 0 {
		rt.Notify(events)
	}
}
