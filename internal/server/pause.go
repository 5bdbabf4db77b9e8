package server

import "context"

// pause is a rest of a loop: it reads nothing more, waits until everything that
// was decided is durable and sent, and then does nothing until the pause is over.
// Meanwhile its profile belongs to whoever asked for the pause.
type pause struct {
	quiet chan struct{} // closed when the loop rests
	over  chan struct{} // closed when it may go on
}

// freeze makes the loop rest. It reports false, and lets the loop go on, when
// that does not happen before ctx ends.
func (l *loop) freeze(ctx context.Context) (*pause, bool) {
	p := &pause{make(chan struct{}), make(chan struct{})}
	if l.do(ctx, func() { l.pause = p }) {
		select {
		case <-p.quiet:
			return p, true
		case <-ctx.Done():
		case <-l.ended:
		}
	}
	close(p.over)
	return nil, false
}

// takeRest rests if that is wanted, and everything is settled and sent.
func (l *loop) takeRest() {
	p := l.pause
	if p == nil || l.err != nil || !l.settled() {
		return
	}
	if l.err = l.flush(); l.err != nil {
		return
	}
	close(p.quiet)
	<-p.over
	l.pause = nil
}

// thaw lets the loop go on.
func (l *loop) thaw(p *pause) { close(p.over) }
