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
	mark int64
	last map[wamble.TrustLevel]bool // the last answer: a change may come twice
}

// look gives the profile the new changes. If the store fails, the next tick asks again.
func (w *trustwatch) look(ctx context.Context, rt *Runtime) {
	if rt.watch.away.Load() || rt.life.Load() == nil {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, loadTime)
	defer cancel()
	changed, mark, err := rt.o.Store.TrustChanges(ctx, w.mark)
	if err != nil {
		return
	}
	news, seen := &profile.News{}, map[wamble.TrustLevel]bool{}
	for _, row := range changed {
		if seen[row] = true; !w.last[row] {
			news.Changes = append(news.Changes, profile.Change{What: profile.Trusted, Session: row.Session, Level: row.Level, Stored: true})
		}
	}
	w.mark, w.last = mark, seen
	if len(news.Changes) > 0 {
		rt.Hear(news)
	}
}
