package loop

import (
	"context"
	"time"

	"wamble/internal/profile"
	"wamble/internal/store"
	"wamble/runner"
)

// Journal is the journal that a runtime runs on. A runtime whose shard is on another machine has a Journal
// with an empty Runner until the shard comes here.
type Journal struct {
	Runner *runner.Runner
	Owner  store.Owner // this process in the terms of the store
	Lease  Lease       // nil if the journal is on a local disk
	// Heal repairs the journal after a failure.
	Heal func(ctx context.Context) error
}

// Lease is the right of this process to write a journal with which other machines can go on.
type Lease interface {
	// Holds reports whether this process may still speak for the profile; if not, packets are dropped.
	Holds() bool
	// ClockOffset returns how far the clock of a new instance is ahead of the machine's.
	ClockOffset() time.Duration
}

// journal returns the journal that the runtime runs on at present.
func (rt *Runtime) journal() *Journal { return rt.attached.Load() }

// Attach sets the journal of the next Run. The runtime must not be running.
func (rt *Runtime) Attach(j Journal) { rt.attached.Store(&j) }

// Detach drops the journal of a runtime that has ended, and puts an empty runner in its place. With drain
// set, the journal is first moved to the store, until ctx ends.
func (rt *Runtime) Detach(ctx context.Context, empty *runner.Runner, why string, drain bool) {
	if d := rt.drain.Load(); d != nil && drain {
		rt.pace.urgent.Store(true)
		err := errPaused
		if !d.IsPaused() {
			err = d.DrainAll(ctx, nil)
		}
		if err == nil {
			rt.returnNumbers(ctx)
		} else {
			rt.o.Log.Info("the journal moves to another machine with messages that the database does not have yet",
				"messages", d.Pending(), "err", err)
		}
	}
	rt.ReleaseOwnership(ctx)
	rt.DropDrain()
	rt.instance.Store(nil)
	rt.loop.Store(nil)
	rt.unused = nil
	rt.publish(profile.ShardCount{})
	rt.attached.Store(&Journal{Runner: empty})
	rt.SetRemote(why)
}

// SetRemote sets the stage of a runtime whose shard is on another machine.
func (rt *Runtime) SetRemote(where string) {
	rt.stage.set(where)
	rt.stage.setError(nil)
}
