package loop

import (
	"context"
	"iter"
)

// Frozen is a loop that is stopped for a handoff: it reads no packets, everything it decided is durable and sent,
// and it waits for Thaw. Meanwhile only the caller of Freeze uses its profile.
type Frozen struct {
	loop   *loop
	frozen chan struct{} // closed when the loop is frozen
	thawed chan struct{} // closed by Thaw
}

// Freeze freezes the loop. If that does not happen before ctx ends, the loop goes on and Freeze reports
// false.
func (rt *Runtime) Freeze(ctx context.Context) (*Frozen, bool) {
	l := rt.loop.Load()
	if l == nil {
		return nil, false
	}
	f := &Frozen{l, make(chan struct{}), make(chan struct{})}
	if l.runOnLoop(ctx, func() {
		l.freeze = f
		l.intake.queue.DropRest() // players wait for the handoff; the others send again
	}) {
		select {
		case <-f.frozen:
			return f, true
		case <-ctx.Done():
		case <-l.ended:
		}
	}
	close(f.thawed)
	return nil, false
}

// Broken reports whether the journal has failed, so that the last decisions are not durable. The profile
// may not know of it yet.
func (f *Frozen) Broken() bool { return f.loop.instance.commit.broken() }

// HasUnreadEvents reports whether events from another profile wait in the mailbox.
func (f *Frozen) HasUnreadEvents() bool { return f.loop.instance.mailbox.hasEvents() }

// State yields the memory of the profile as slices for Adopt; see profile.HandOver.
func (f *Frozen) State() iter.Seq2[[]byte, error] {
	f.loop.instance.record.Flush()
	return f.loop.instance.profile.HandOver(sliceSize)
}

// Thaw lets the loop go on.
func (f *Frozen) Thaw() { close(f.thawed) }

// freezeIfIdle freezes the loop if a handoff wants it and everything is durable and sent. It returns after Thaw.
func (l *loop) freezeIfIdle() {
	f := l.freeze
	if f == nil || l.err != nil || !l.allDurable() {
		return
	}
	if l.err = l.flush(); l.err != nil {
		return
	}
	l.port.Hold() // the loop can freeze before receive has done so
	l.frozen.Store(true)
	close(f.frozen)
	<-f.thawed
	l.frozen.Store(false)
	l.freeze = nil
}
