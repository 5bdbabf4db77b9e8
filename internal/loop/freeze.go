package loop

import "context"

// Frozen is a loop at rest, for a handoff: it reads no packets, everything it decided is durable and sent,
// and it waits for Thaw. Meanwhile only the caller of Freeze uses its profile.
type Frozen struct {
	loop  *loop
	quiet chan struct{} // closed when the loop rests
	over  chan struct{} // closed by Thaw
}

// Freeze makes the loop rest. If that does not happen before ctx ends, the loop goes on and Freeze reports
// false.
func (rt *Runtime) Freeze(ctx context.Context) (*Frozen, bool) {
	l := rt.loop.Load()
	if l == nil {
		return nil, false
	}
	f := &Frozen{l, make(chan struct{}), make(chan struct{})}
	if l.do(ctx, func() { l.freeze = f }) {
		select {
		case <-f.quiet:
			return f, true
		case <-ctx.Done():
		case <-l.ended:
		}
	}
	close(f.over)
	return nil, false
}

// Broken reports whether the journal has failed, so that the last decisions are not durable. The profile
// may not know of it yet.
func (f *Frozen) Broken() bool { return f.loop.life.commit.broken() }

// Unheard reports whether news from another profile waits in the mail.
func (f *Frozen) Unheard() bool { return f.loop.life.mail.hasNews() }

// Snapshot appends the state of the profile to room, in the form that Adopt reads.
func (f *Frozen) Snapshot(room []byte) ([]byte, error) {
	f.loop.life.record.Flush()
	return f.loop.life.profile.Snapshot(room)
}

// Ahead reports whether Snapshot leaves out what was written ahead of it.
func (f *Frozen) Ahead() bool { return f.loop.life.profile.Ahead() }

// Thaw lets the loop go on.
func (f *Frozen) Thaw() { close(f.over) }

// rest freezes the loop if a handoff wants it and everything is settled and sent. It returns after Thaw.
func (l *loop) rest() {
	f := l.freeze
	if f == nil || l.err != nil || !l.settled() {
		return
	}
	if l.err = l.flush(); l.err != nil {
		return
	}
	l.frozen.Store(true)
	close(f.quiet)
	<-f.over
	l.frozen.Store(false)
	l.freeze = nil
}
