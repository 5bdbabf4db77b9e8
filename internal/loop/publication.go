package loop

import (
	"context"
	"slices"
	"time"

	"wamble/internal/profile"
)

// publication is durable changes of which some are urgent (intent.Touched), on their way to other
// processes: no answer leaves before those can find them. The loop goes on meanwhile, and what becomes
// durable later waits behind the publication.
type publication struct {
	durable profile.Durable
	done    chan struct{} // closed when other processes can find them, or after publishTimeout
}

// publishTimeout bounds how long answers wait for a publication. That is longer than the journal's database takes
// to answer; while it is away nothing becomes durable.
const publishTimeout = 5 * time.Second

// advanceDurable reports whether the journal is durable further than the instance knows, and no publication is
// under way for it. It sets l.durable to how far the journal is durable.
func (l *loop) advanceDurable() bool {
	if l.publication == nil {
		d := l.instance.mailbox.takeDurable()
		if d.Index == 0 {
			return false
		}
		if !l.isUrgent(d.Index) {
			l.durable = d
			return true
		}
		l.publishBehind(d)
	}
	select {
	case <-l.publication.done:
		l.durable, l.publication = l.publication.durable, nil
		return true
	default:
		return false
	}
}

// isUrgent reports whether a change up to a durable index is urgent and there are other processes to tell.
func (l *loop) isUrgent(durableIndex uint64) bool {
	return slices.ContainsFunc(l.unpublished, func(u unpublished) bool {
		return u.durableIndex <= durableIndex &&
			slices.ContainsFunc(u.changes, func(c profile.StoreEvent) bool { return c.Urgent })
	}) && l.rt.o.Database.Registry.HasPeers()
}

// publishBehind tells all profiles the durable changes up to d.Index, and starts a publication for those in other
// processes.
func (l *loop) publishBehind(d profile.Durable) {
	l.publishUpTo(d.Index)
	p, mailbox, rt := &publication{d, make(chan struct{})}, l.instance.mailbox, l.rt
	l.publication = p
	rt.guard("events for other machines", func() {
		defer mailbox.signal()
		defer close(p.done)
		ctx, cancel := context.WithTimeout(rt.ctx, publishTimeout)
		defer cancel()
		if err := rt.o.Database.Registry.Flush(ctx); err != nil {
			rt.o.Log.Warn("players are answered before other machines know of it: the journal's database takes too "+
				"long", "err", err)
		}
	})
}

// AwaitPublished waits until everything decided so far is durable and other profiles were told of it, or ctx
// ends.
func (rt *Runtime) AwaitPublished(ctx context.Context) {
	if inst := rt.instance.Load(); inst != nil {
		rt.awaitDurable(ctx, inst)
	}
}
