package loop

import (
	"context"
	"time"

	"wamble/internal/profile"
	"wamble/internal/store"
	"wamble/runner"
)

// Journal is the journal that a runtime runs on; its fields are those of Options. A runtime whose shard is
// on another machine has a Journal with an empty Runner until the shard comes here.
type Journal struct {
	Runner *runner.Runner
	Owner  store.Owner
	Shared bool // with other machines, which go on with it
	Holds  func() bool
	Ahead  func() time.Duration
	Heal   func(ctx context.Context) error
}

// journal returns the journal that the runtime runs on at present.
func (rt *Runtime) journal() *Journal { return rt.on.Load() }

// Arrive sets the journal of the next Run. The runtime must not be running.
func (rt *Runtime) Arrive(j Journal) { rt.on.Store(&j) }

// Leave drops the journal of a runtime that has ended, and puts an empty runner in its place. With drain
// set, the journal is first moved to the store, until ctx ends.
func (rt *Runtime) Leave(ctx context.Context, empty *runner.Runner, why string, drain bool) {
	if d := rt.drain.Load(); d != nil && drain {
		rt.pace.hurry.Store(true)
		err := errPaused
		if !d.IsPaused() {
			err = d.Empty(ctx, nil)
		}
		if err == nil {
			rt.returnNumbers(ctx)
		} else {
			rt.o.Log.Info("the journal goes elsewhere with what the database does not have yet", "messages", d.Pending(), "err", err)
		}
	}
	rt.Disown(ctx)
	rt.DropDrain()
	rt.life.Store(nil)
	rt.loop.Store(nil)
	rt.unused = nil
	rt.publish(profile.ShardCount{})
	rt.on.Store(&Journal{Runner: empty})
	rt.Absent(why)
}

// Absent sets the stage of a runtime whose shard is elsewhere.
func (rt *Runtime) Absent(where string) { rt.stage.set(where) }
