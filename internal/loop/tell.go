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
	return l != nil && l.runOnLoop(ctx, func() { f(l.instance.profile) })
}

// Tell gives the profile an input and waits for the step that handles it. It returns the counters of
// host commands before and after. Errors: ErrNotUp, or that of a broken socket.
func (rt *Runtime) Tell(ctx context.Context, in profile.Input) (before, after profile.HostStats, err error) {
	l := rt.loop.Load()
	if l == nil || rt.instance.Load() == nil {
		rt.keepForRestore(in)
		return before, after, ErrNotUp
	}
	ok := l.runOnLoop(ctx, func() {
		before = l.instance.profile.Stats().Host
		l.instance.mailbox.put(in)
		err = l.turn(transport.Arrivals{})
		after = l.instance.profile.Stats().Host
	})
	if !ok {
		rt.keepForRestore(in)
		err = ErrNotUp
	}
	return before, after, err
}

// keepForRestore queues orders that last until they are lifted for an instance that is being restored, which may
// have read Server.Restrictions before.
func (rt *Runtime) keepForRestore(in profile.Input) {
	if profile.ScopeOf(in).Lasts() {
		rt.Send(in)
	}
}

// Send gives the profile an order without waiting for it. An instance that is being restored follows it
// afterwards; without an instance it is dropped.
func (rt *Runtime) Send(in profile.Input) {
	if inst := rt.eventsInstance.Load(); inst != nil {
		inst.mailbox.putEvents(in)
	}
}

// Alive reports whether the loop runs: it must answer before ctx ends. A loop that has not started, has
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
	return l.runOnLoop(ctx, func() {}) || ctx.Err() == nil || l.frozen.Load()
}

// Configure gives the profile its new options. Later instances begin with them.
func (rt *Runtime) Configure(cfg *config.Profile) {
	rt.cfg.Store(cfg)
	if d := rt.drain.Load(); d != nil {
		d.SetLimits(limitsOf(cfg))
	}
	if inst := rt.instance.Load(); inst != nil {
		inst.mailbox.put(&profile.Configure{Config: rt.o.Server.TruePorts(cfg)})
	}
}

// PauseReading stops the loop from reading its port, or lets it read again.
func (rt *Runtime) PauseReading(paused bool) {
	rt.moving.Lock()
	defer rt.moving.Unlock()
	if l := rt.loop.Load(); l != nil {
		l.runOnLoop(context.Background(), func() { l.paused = paused })
	}
}

// Board returns a board in memory once everything it shows is durable. It reports false if there is no such
// board, or that takes longer than figuresTimeout.
func (rt *Runtime) Board(ctx context.Context, id wamble.BoardID) (wamble.Board, bool) {
	loop := rt.loop.Load()
	if loop == nil {
		return wamble.Board{}, false
	}
	ctx, cancel := context.WithTimeout(ctx, figuresTimeout)
	defer cancel()
	var b wamble.Board
	var durableIndex uint64
	var inst *instance
	var known bool
	if !loop.runOnLoop(ctx, func() {
		inst = loop.instance
		b, durableIndex, known = inst.profile.Peek(id)
	}) || !known {
		return wamble.Board{}, false
	}
	for pause := time.Millisecond; ; pause = min(2*pause, 16*time.Millisecond) {
		var same, durable bool
		if !loop.runOnLoop(ctx, func() {
			same, durable = loop.instance == inst, inst.profile.Durable() >= durableIndex
		}) || !same {
			return wamble.Board{}, false
		}
		if durable {
			return b, true
		}
		sleep(ctx, pause)
	}
}
