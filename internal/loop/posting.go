package loop

import (
	"context"
	"slices"
	"time"

	"wamble/internal/profile"
)

// posting is what is durable and has something pressing in it (profile.What.Pressing),
// while that is on its way to other processes: no answer leaves before they find it. The
// loop goes on meanwhile, and what becomes durable later waits behind it.
type posting struct {
	durable profile.Durable
	done    chan struct{} // closed when they do, or it took too long
}

// postTime is how long answers wait for other processes to be told. That is longer than the
// journal's database takes to answer; while it is away nothing becomes durable.
const postTime = 5 * time.Second

// reach reports whether the journal is durable further than the life knows, and everybody
// was told who has to be first. How far is in l.durable.
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

// presses reports whether something up to a gate is pressing, and other processes have to
// be told.
func (l *loop) presses(gate uint64) bool {
	return slices.ContainsFunc(l.untold, func(u untold) bool {
		return u.gate <= gate && slices.ContainsFunc(u.changes, func(c profile.Change) bool { return c.What.Pressing() })
	}) && l.rt.o.Registry.Abroad()
}

// post tells everybody what is durable now, and lets answers wait for those that are in
// other processes.
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

// AwaitTold waits until what was decided so far is durable, and everybody was told, or ctx
// ends.
func (rt *Runtime) AwaitTold(ctx context.Context) {
	if life := rt.life.Load(); life != nil {
		rt.awaitDecided(ctx, life)
	}
}
