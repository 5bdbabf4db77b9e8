package server

import (
	"context"
	"fmt"
	"time"
)

// emptyJournal brings all that an earlier life left to the store.
func (rt *runtime) emptyJournal(ctx context.Context) error {
	rt.pace.hurry.Store(true)
	if err := rt.makeDrain(ctx); err != nil {
		return err
	}
	d := rt.drain.Load()
	if err := d.Fits(ctx); err != nil {
		return err
	}
	all := d.Pending()
	if all == 0 {
		return nil
	}
	rt.log.Info("bringing the journal to the database", "messages", all)
	started, said := time.Now(), time.Now()
	err := d.Empty(ctx, func(left int) {
		about := remaining(all, left, time.Since(started))
		rt.stage.set(fmt.Sprintf("bringing the journal to the database: %d messages left, about %v", left, about))
		if time.Since(said) > time.Second {
			said = time.Now()
			rt.log.Info("bringing the journal to the database", "left", left, "about", about)
		}
	})
	if err == nil {
		rt.log.Info("the journal is in the database", "messages", all, "took", time.Since(started))
	}
	return err
}

// remaining is about how long the rest of some work takes, to the next second.
func remaining(all, left int, took time.Duration) time.Duration {
	if left <= 0 || left >= all {
		return 0
	}
	rest := time.Duration(float64(took) * float64(left) / float64(all-left))
	return rest.Round(time.Second) + time.Second
}
