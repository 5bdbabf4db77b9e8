package client

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

	"wamble"
)

// run is the client's goroutine: it serves calls over one connection after another until the
// client is closed.
func (c *Client) run(ctx context.Context, l *loop) {
	defer close(c.ended)
	err := c.serve(ctx, l, true)
	for ctx.Err() == nil {
		l.detach()
		if errors.Is(err, errMoves) {
			if err = c.move(ctx, l); err == nil {
				err = c.serve(ctx, l, true)
				continue
			}
		}
		c.events.put(Event{Kind: Disconnected, Err: err})
		if err = c.reconnect(ctx, l, err); err != nil {
			c.stop(err)
			break
		}
		c.events.put(Event{Kind: Resumed, Board: c.Board()})
		err = c.serve(ctx, l, true)
	}
	l.detach()
	if l.current != nil {
		l.end(c.why())
	}
	c.events.end(c.why())
	if w := c.Watching(); w != nil {
		w.updates.end(c.why())
	}
}

// serve serves one connection and returns why it ended. The current call then stays current;
// without one, serve may return errMoves. Without accept it serves only the current call, and
// returns nil when that has ended.
func (c *Client) serve(ctx context.Context, l *loop, accept bool) error {
	timer := time.NewTimer(time.Hour)
	defer timer.Stop()
	for accept || l.current != nil {
		var calls chan *call
		var gone <-chan struct{}
		if l.current != nil {
			gone = l.current.ctx.Done()
		} else if c.movable() {
			return errMoves
		} else {
			calls = c.calls
		}
		if next, ok := l.timer(); ok {
			timer.Reset(next - l.now())
		} else {
			timer.Reset(time.Hour)
		}
		select {
		case k := <-calls:
			if err := l.start(k); err != nil {
				k.finish(err)
			}
		case <-gone:
			l.end(l.current.ctx.Err())
		case b, ok := <-l.arrived:
			if !ok {
				return <-l.broken
			}
			if b != nil {
				l.receive(b)
			} else if c.others() { // a single server may be starting
				return errLost
			}
		case <-timer.C:
			if err := l.tick(); err != nil {
				return err
			}
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	return nil
}

// reconnect connects again, until it succeeds, the server refuses the session for good, or the
// client is closed. The current call is sent again. The host that was lost is skipped until the
// others were tried twice. The pauses grow after each round over all hosts; after two rounds
// hosts also get more time to answer, because they may be busy.
func (c *Client) reconnect(ctx context.Context, l *loop, cause error) error {
	pause, lost := c.dialer.MinBackoff, ""
	if restarting(cause) {
		pause = 0
	} else {
		lost = c.target().Host
		c.nextHost()
	}
	for tries := 1; ; tries++ {
		if err := sleep(ctx, jitter(pause)); err != nil {
			return err
		}
		l.seeking = tries <= 2*c.machines()
		err := c.connect(ctx, l)
		l.seeking = false
		if err == nil {
			return nil
		}
		if d, ok := errors.AsType[*wamble.Denied](err); ok && (d.Blocking || d.Code == wamble.UnsupportedVersion) {
			return err
		}
		if c.nextHost(); c.target().Host == lost && tries < 2*(c.machines()-1) {
			c.nextHost()
		}
		if tries%c.machines() == 0 {
			pause = min(2*pause, c.dialer.MaxBackoff)
		}
		pause = max(pause, c.dialer.MinBackoff)
	}
}

// jitter returns a random duration between half of d and one and a half of it, so that clients
// that lost their server together do not return together.
func jitter(d time.Duration) time.Duration {
	if d <= 0 {
		return 0
	}
	return d/2 + rand.N(d)
}

func sleep(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// connect opens a connection, says hello, resumes watching, and sends the current call again.
func (c *Client) connect(ctx context.Context, l *loop) error {
	out, err := openCarrier(ctx, c.target(), c.dialer.TLS)
	if err != nil {
		return fmt.Errorf("connect to the server: %w", err)
	}
	if l.link == nil { // later connections continue its numbers, see link.Client
		l.link = c.dialer.linkTo(out)
	}
	pending := l.current
	l.current = nil
	l.attach(out)
	if err := c.resume(ctx, l); err != nil {
		l.detach()
		l.current = pending
		return err
	}
	l.seeking = false
	switch {
	case pending == nil:
	case !pending.repeatable:
		pending.finish(errBroken)
	case pending.ctx.Err() != nil:
		pending.finish(pending.ctx.Err())
	default:
		if err := l.start(pending); err != nil {
			pending.finish(err)
		}
	}
	return nil
}

// resume says hello over a new connection, and resumes watching.
func (c *Client) resume(ctx context.Context, l *loop) error {
	if c.dialer.NoSession {
		return nil
	}
	k, err := c.hello(ctx)
	if err != nil {
		return err
	}
	if err := c.finish(ctx, l, k); err != nil {
		return fmt.Errorf("hello: %w", err)
	}
	w := c.Watching()
	if w == nil {
		return nil
	}
	if k, err = w.call(ctx, w.View()); err != nil {
		return err
	}
	err = c.finish(ctx, l, k)
	if _, denied := errors.AsType[*wamble.Denied](err); denied { // the board is gone, or there is no room: the session continues
		c.endWatch(w, err)
		return nil
	}
	return err
}

// finish does one call on a connection that serves no other calls yet.
func (c *Client) finish(ctx context.Context, l *loop, k *call) error {
	if err := l.start(k); err != nil {
		return err
	}
	if err := c.serve(ctx, l, false); err != nil {
		l.current = nil
		if errors.Is(err, errLost) {
			return ErrTimeout
		}
		return err
	}
	return <-k.done
}
