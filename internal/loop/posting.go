package loop

import (
	"context"
	"slices"
	"time"

	"wamble/internal/profile"
)

// posting is durable changes of which some are pressing (profile.What.Pressing), on their way to other
// processes: no answer leaves before those can find them. The loop goes on meanwhile, and what becomes
// durable later waits behind the posting.
type posting struct {
	durable profile.Durable
	done    chan struct{} // closed when other processes can find them, or after postTime
}

// postTime bounds how long answers wait for a posting. That is longer than the journal's database takes to
// answer; while it is away nothing becomes durable.
const postTime = 5 * time.Second

// reach reports whether the journal is durable further than the life knows, and no posting is under way for
// it. How far is in l.durable.
func (l *loop) reach() bool {
	if l.posting == nil {
		d := l.life.mail.takeDurable()
		if d.Gate == 0 {
			return false
		}
		if !l.presses(d.Gate) {
			l.durable = d
			return true
		}
		l.post(d)
	}
	select {
	case <-l.posting.done:
		l.durable, l.posting = l.posting.durable, nil
		return true
	default:
		return false
	}
}

// presses reports whether a change up to a gate is pressing and there are other processes to tell.
func (l *loop) presses(gate uint64) bool {
	return slices.ContainsFunc(l.untold, func(u untold) bool {
		return u.gate <= gate && slices.ContainsFunc(u.changes, func(c profile.Change) bool { return c.What.Pressing() })
	}) && l.rt.o.Registry.Abroad()
}

// post tells all profiles the durable changes up to d.Gate, and starts a posting for those in other
// processes.
func (l *loop) post(d profile.Durable) {
	l.tellUpTo(d.Gate)
	p, mail, rt := &posting{d, make(chan struct{})}, l.life.mail, l.rt
	l.posting = p
	rt.guard("news for other machines", func() {
		defer mail.signal()
		defer close(p.done)
		ctx, cancel := context.WithTimeout(rt.ctx, postTime)
		defer cancel()
		if err := rt.o.Registry.Posted(ctx); err != nil {
			rt.o.Log.Warn("players are answered before other machines know of it: the journal's database takes too long", "err", err)
		}
	})
}

// AwaitTold waits until everything decided so far is durable and other profiles were told of it, or ctx
// ends.
func (rt *Runtime) AwaitTold(ctx context.Context) {
	if life := rt.life.Load(); life != nil {
		rt.awaitDecided(ctx, life)
	}
}
