package loop

import "context"

// Frozen is a loop at rest, for a handoff: it reads nothing more, everything that
// was decided is durable and sent, and it does nothing until Thaw. Meanwhile its
// profile belongs to whoever has frozen it.
type Frozen struct {
	loop  *loop
	quiet chan struct{} // closed when the loop rests
	over  chan struct{} // closed when it may go on
}

// Freeze makes the loop rest. It reports false, and lets the loop go on, when
// that does not happen before ctx ends.
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

// Broken reports whether the journal has failed, so that what was decided last is
// not durable. The profile may not have been told yet.
func (f *Frozen) Broken() bool { return f.loop.life.commit.broken() }

// Unheard reports whether another profile has told news that this one has not taken.
func (f *Frozen) Unheard() bool { return f.loop.life.mail.hasNews() }

// Snapshot appends the state of the profile to room, for Adopt.
func (f *Frozen) Snapshot(room []byte) ([]byte, error) {
	f.loop.life.record.Flush()
	return f.loop.life.profile.Snapshot(room)
}

// Ahead reports whether Snapshot leaves out what was written ahead.
func (f *Frozen) Ahead() bool { return f.loop.life.profile.Ahead() }

// Thaw lets the loop go on.
func (f *Frozen) Thaw() { close(f.over) }

// rest rests if that is wanted, and everything is settled and sent.
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
