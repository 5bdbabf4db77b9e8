package loop

import (
	"context"
	"time"

	"wamble/internal/profile"
	"wamble/internal/store"
	"wamble/runner"
)

// Journal is what a runtime has of the journal that it runs on: the fields of Options with
// these names. A runtime whose part of the world is on another machine has none; it gets
// one when the part comes here.
type Journal struct {
	Runner *runner.Runner
	Owner  store.Owner
	Shared bool // with other machines, which go on with it
	Holds  func() bool
	Ahead  func() time.Duration
	Heal   func(ctx context.Context) error
}

// journal is what the runtime runs on at present.
func (rt *Runtime) journal() *Journal { return rt.on.Load() }

// Arrive lets the next Run go on with a journal. The runtime does not run.
func (rt *Runtime) Arrive(j Journal) { rt.on.Store(&j) }

// Leave forgets everything of the journal that the runtime ran on, and goes on without,
// having nothing but a runner that is empty. It has ended. With drain the journal is
// brought to the store before, as far as there is time.
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

// Absent says where the runtime's part of the world is.
func (rt *Runtime) Absent(where string) { rt.stage.set(where) }
