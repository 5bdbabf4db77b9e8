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

// courier is other machines: what they are told is posted when the channel is closed.
type courier struct {
	heard  []profile.Change
	posted chan struct{}
}

func (c *courier) Settle(context.Context, registry.Subject) (bool, error) { return false, nil }
func (c *courier) Hear(news *profile.News)                                { c.heard = append(c.heard, news.Changes...) }
func (c *courier) Posted(ctx context.Context) error {
	select {
	case <-c.posted:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// TestPosting: what is durable is not told to the profile, whose answers would leave, before
// other machines find what is pressing in it, or that takes too long. The rest does not wait,
// and what becomes durable later waits behind it.
func TestPosting(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		abroad := &courier{posted: make(chan struct{})}
		rt := &Runtime{o: Options{Registry: registry.New(), Log: slog.New(slog.DiscardHandler)}, ctx: t.Context()}
		rt.o.Registry.Join(rt)
		rt.o.Registry.JoinAbroad(abroad)
		l := &loop{rt: rt, life: &life{mail: newMail(func() {})}}
		l.untold = []untold{
			{gate: 1, changes: []profile.Change{{What: profile.LoggedIn}}, message: new(atomic.Uint64)},
			{gate: 2, changes: []profile.Change{{What: profile.Revoked}}, message: new(atomic.Uint64)},
			{gate: 4, changes: []profile.Change{{What: profile.LoggedOut}}, message: new(atomic.Uint64)},
		}
		reaches := func(want uint64) {
			t.Helper()
			synctest.Wait()
			got := uint64(0)
			if l.reach() {
				got = l.durable.Gate
			}
			if got != want {
				t.Errorf("durable up to %d, want %d", got, want)
			}
		}
		l.life.mail.durable(1, 11)
		reaches(1)
		l.life.mail.durable(3, 13)
		reaches(0)
		if len(abroad.heard) != 2 {
			t.Errorf("others have heard %v", abroad.heard)
		}
		l.life.mail.durable(4, 14)
		reaches(0)
		close(abroad.posted)
		reaches(3)
		abroad.posted = make(chan struct{})
		reaches(0)
		time.Sleep(postTime)
		reaches(4)
		reaches(0)
	})
}
