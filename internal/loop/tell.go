package loop

import (
	"context"
	"errors"
	"time"

	"wamble"
	"wamble/internal/config"
	"wamble/internal/profile"
	"wamble/internal/transport"
)

// ErrNotUp is returned if the profile does not serve players at present.
var ErrNotUp = errors.New("the profile does not serve players at present")

// Do runs f between two steps, and waits for it. It reports false if no loop runs, or ctx or the loop ended
// first.
func (rt *Runtime) Do(ctx context.Context, f func(p *profile.Profile)) bool {
	l := rt.loop.Load()
	return l != nil && l.do(ctx, func() { f(l.life.profile) })
}

// Tell gives the profile an input and waits for the step that handles it. It returns the counters of
// host commands before and after. Errors: ErrNotUp, or that of a broken socket.
func (rt *Runtime) Tell(ctx context.Context, in profile.Input) (before, after profile.HostStats, err error) {
	l := rt.loop.Load()
	if l == nil || rt.life.Load() == nil {
		rt.leave(in)
		return before, after, ErrNotUp
	}
	ok := l.do(ctx, func() {
		before = l.life.profile.Stats().Host
		l.life.mail.post(in)
		err = l.turn(transport.Arrivals{})
		after = l.life.profile.Stats().Host
	})
	if !ok {
		rt.leave(in)
		err = ErrNotUp
	}
	return before, after, err
}

// leave queues orders that hold until they are lifted for a life that is being restored, which may have
// read Options.Standing before.
func (rt *Runtime) leave(in profile.Input) {
	switch in.(type) {
	case *profile.Ban, *profile.Unban, *profile.SetBrownout, *profile.Stand:
		rt.Obey(in)
	}
}

// Obey gives the profile an order without waiting for it. A life that is being restored follows it
// afterwards; without a life it is dropped.
func (rt *Runtime) Obey(in profile.Input) {
	if l := rt.hears.Load(); l != nil {
		l.mail.hear(in)
	}
}

// Alive reports whether the loop turns: it must answer before ctx ends. A loop that has not started, has
// ended or is frozen counts as alive.
func (rt *Runtime) Alive(ctx context.Context) bool {
	l := rt.loop.Load()
	if l == nil || l.frozen.Load() {
		return true
	}
	select {
	case <-l.ended:
		return true
	default:
	}
	return l.do(ctx, func() {}) || ctx.Err() == nil || l.frozen.Load()
}

// Configure gives the profile its new options. Later lives begin with them.
func (rt *Runtime) Configure(cfg *config.Profile) {
	rt.cfg.Store(cfg)
	if d := rt.drain.Load(); d != nil {
		d.SetLimits(limitsOf(cfg))
	}
	if l := rt.life.Load(); l != nil {
		l.mail.post(&profile.Configure{Config: rt.o.TruePorts(cfg)})
	}
}

// Hold stops the loop from reading its port, or lets it read again.
func (rt *Runtime) Hold(held bool) {
	rt.moving.Lock()
	defer rt.moving.Unlock()
	if l := rt.loop.Load(); l != nil {
		l.do(context.Background(), func() { l.held = held })
	}
}

// Board returns a board in memory once everything it shows is durable. It reports false if there is no such
// board, or that takes longer than lookTime.
func (rt *Runtime) Board(ctx context.Context, id wamble.BoardID) (wamble.Board, bool) {
	loop := rt.loop.Load()
	if loop == nil {
		return wamble.Board{}, false
	}
	ctx, cancel := context.WithTimeout(ctx, lookTime)
	defer cancel()
	var b wamble.Board
	var gate uint64
	var life *life
	var known bool
	if !loop.do(ctx, func() {
		life = loop.life
		b, gate, known = life.profile.Peek(id)
	}) || !known {
		return wamble.Board{}, false
	}
	for pause := time.Millisecond; ; pause = min(2*pause, 16*time.Millisecond) {
		var same, durable bool
		if !loop.do(ctx, func() { same, durable = loop.life == life, life.profile.Durable() >= gate }) || !same {
			return wamble.Board{}, false
		}
		if durable {
			return b, true
		}
		wait(ctx, pause)
	}
}
