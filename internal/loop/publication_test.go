package loop

import (
	"context"
	"log/slog"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"wamble/internal/profile"
	"wamble/internal/registry"
)

// courier stands for other machines: notes to them are flushed when the channel is closed.
type courier struct {
	heard  []profile.StoreEvent
	posted chan struct{}
}

func (c *courier) AwaitApplied(context.Context, registry.Subject) (bool, error) { return false, nil }
func (c *courier) Notify(events *profile.StoreEvents)                           { c.heard = append(c.heard, events.Changes...) }
func (c *courier) Flush(ctx context.Context) error {
	select {
	case <-c.posted:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// TestPosting: a durable index is passed to the profile, which would then answer, only after
// other machines have the urgent events of it, or that takes too long. Other events do not
// wait, and later indices wait behind it.
func TestPosting(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		abroad := &courier{posted: make(chan struct{})}
		rt := &Runtime{o: Options{Database: Database{Registry: registry.New()}, Log: slog.New(slog.DiscardHandler)}, ctx: t.Context()}
		rt.o.Database.Registry.Join(rt)
		rt.o.Database.Registry.JoinPeers(abroad)
		l := &loop{rt: rt, instance: &instance{mailbox: newMailbox(func() {})}}
		l.unpublished = []unpublished{
			{durableIndex: 1, changes: []profile.StoreEvent{{What: profile.LoggedIn}}, message: new(atomic.Uint64)},
			{durableIndex: 2, changes: []profile.StoreEvent{{What: profile.Revoked}}, message: new(atomic.Uint64)},
			{durableIndex: 4, changes: []profile.StoreEvent{{What: profile.LoggedOut}}, message: new(atomic.Uint64)},
		}
		reaches := func(want uint64) {
			t.Helper()
			synctest.Wait()
			got := uint64(0)
			if l.advanceDurable() {
				got = l.durable.Index
			}
			if got != want {
				t.Errorf("durable up to %d, want %d", got, want)
			}
		}
		l.instance.mailbox.setDurable(1, 11)
		reaches(1)
		l.instance.mailbox.setDurable(3, 13)
		reaches(0)
		if len(abroad.heard) != 2 {
			t.Errorf("others have heard %v", abroad.heard)
		}
		l.instance.mailbox.setDurable(4, 14)
		reaches(0)
		close(abroad.posted)
		reaches(3)
		abroad.posted = make(chan struct{})
		reaches(0)
		time.Sleep(publishTimeout)
		reaches(4)
		reaches(0)
	})
}
