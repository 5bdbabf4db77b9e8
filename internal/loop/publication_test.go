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

// peers stands for other machines: notes to them are flushed when the channel is closed.
type peers struct {
	received []profile.StoreEvent
	flushed  chan struct{}
}

func (c *peers) AwaitApplied(context.Context, registry.Subject) (bool, error) { return false, nil }
func (c *peers) Notify(events *profile.StoreEvents) {
	c.received = append(c.received, events.Changes...)
}
func (c *peers) Flush(ctx context.Context) error {
	select {
	case <-c.flushed:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// TestPublication: a durable index is passed to the profile, which would then answer, only after
// other machines have the urgent events of it, or that takes too long. Other events do not
// wait, and later indices wait behind it.
func TestPublication(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		others := &peers{flushed: make(chan struct{})}
		rt := &Runtime{o: Options{Database: Database{Registry: registry.New()}, Log: slog.New(slog.DiscardHandler)},
			ctx: t.Context()}
		rt.o.Database.Registry.Join(rt)
		rt.o.Database.Registry.JoinPeers(others)
		l := &loop{rt: rt, instance: &instance{mailbox: newMailbox(func() {})}}
		l.unpublished = []unpublished{
			{durableIndex: 1, changes: []profile.StoreEvent{{What: profile.Stale}}, message: new(atomic.Uint64)},
			{durableIndex: 2, changes: []profile.StoreEvent{{What: profile.Stale, Urgent: true}}, message: new(atomic.Uint64)},
			{durableIndex: 4, changes: []profile.StoreEvent{{What: profile.Stale, Urgent: true}}, message: new(atomic.Uint64)},
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
		if len(others.received) != 2 {
			t.Errorf("other machines have received %v", others.received)
		}
		l.instance.mailbox.setDurable(4, 14)
		reaches(0)
		close(others.flushed)
		reaches(3)
		others.flushed = make(chan struct{})
		reaches(0)
		time.Sleep(publishTimeout)
		reaches(4)
		reaches(0)
	})
}
