package loop

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"wamble"
	"wamble/internal/config"
	"wamble/internal/guard"
	"wamble/internal/journal"
	"wamble/internal/registry"
	"wamble/internal/transport"
	"wamble/runner"
)

// Runtime is one running profile: its store and the drain to it, its loop on a port, and the instance that the
// loop drives at present.
type Runtime struct {
	o               Options
	cfg             atomic.Pointer[config.Profile]
	port            atomic.Pointer[transport.Port]
	stage           *stage
	pace            drainPacer
	loads           *loads
	watch           *storewatch
	drain           atomic.Pointer[journal.Drain] // nil until it is made
	loop            atomic.Pointer[loop]          // nil until the first instance is ready
	instance        atomic.Pointer[instance]      // nil while no instance decides
	eventsInstance  atomic.Pointer[instance]      // receives events, also while it is restored; nil if there is none
	publishedBefore atomic.Uint64                 // other profiles have all events before this message; 0: it never ran

	ctx        context.Context // ends the goroutines beside the loop
	done       sync.WaitGroup  // waits for them
	crashed    chan error      // holds the first error that ends the runtime
	panics     atomic.Uint64   // recovered so far
	quarantine quarantine
	tracer     tracer
	unused     *instance // the last instance of an orderly end, whose leased numbers are partly unused
	ran        bool      // Run was called before
	adopted    *Adopted  // from the previous process; nil: start from store and journal
	counts     counts
	totals     *Totals // of all shards of the profile
	attached   atomic.Pointer[Journal]
	moving     sync.Mutex // held while the loop is made or moves
}

// New returns a runtime that does not run yet.
func New(o Options) *Runtime {
	if o.Database.Registry == nil {
		o.Database.Registry = registry.New()
	}
	rt := &Runtime{
		o: o, stage: newStage(), quarantine: newQuarantine(), tracer: tracer{o: o.Tracing}, totals: &Totals{},
	}
	if o.OtherShards != nil {
		rt.totals = o.OtherShards.Totals()
	}
	rt.cfg.Store(o.Config)
	rt.port.Store(o.Port)
	rt.attached.Store(&o.Journal)
	rt.watch = newStorewatch(rt)
	rt.pace.waiting = func() int { return rt.drain.Load().Pending() }
	return rt
}

// Name returns the name of the profile, or of its shard.
func (rt *Runtime) Name() string { return rt.o.Name }

// Shard says which shard of its profile the runtime is.
func (rt *Runtime) Shard() wamble.Shard { return rt.o.Shard }

// Config returns the present configuration.
func (rt *Runtime) Config() *config.Profile { return rt.cfg.Load() }

// Port returns the port that the profile listens on at present.
func (rt *Runtime) Port() *transport.Port { return rt.port.Load() }

// Run starts the profile and serves players until ctx ends; then everything decided is durable and sent,
// and Run returns nil. An error is why the profile could not go on. Run may be called again; Shut ends the
// profile for good.
func (rt *Runtime) Run(ctx context.Context) error {
	background, cancel := context.WithCancel(context.Background())
	defer func() {
		rt.eventsInstance.Store(nil)
		cancel()
		rt.done.Wait()
	}()
	rt.ctx, rt.crashed, rt.unused = background, make(chan error, 1), nil
	rt.DropDrain()
	if rt.ran { // the journal may have ended the last run, or may be another machine's by now
		if err := rt.journal().Heal(ctx); err != nil && rt.journal().Runner.State() == runner.Failed {
			return rt.unlessStopped(ctx, fmt.Errorf("the journal has failed: %w", err))
		}
	}
	adopting := rt.adopted != nil
	var resumed resumed
	if !adopting {
		var err error
		if resumed, err = rt.resume(ctx); err == nil && resumed.instance == nil {
			err = rt.prepareStore(ctx, "waiting for the database")
		}
		if err != nil {
			return rt.unlessStopped(ctx, err)
		}
	}
	rt.watch.begin()
	rt.guard("the storewatch", func() { rt.watch.run(background) })
	if !adopting {
		rt.guard("a check of the database", func() { rt.watch.verify(background) })
	}
	rt.guard("the owner's heartbeat", func() { rt.heartbeatLoop(background, adopting || resumed.away) })
	rt.loads = newLoads(background, rt)
	if rt.o.Shard.Of > 1 {
		rt.guard("the arrivals", func() { rt.arrivals(background) })
	}

	inst, err := rt.first(ctx, resumed.instance)
	if err != nil {
		return rt.unlessStopped(ctx, err)
	}
	loop := rt.startLoop(inst, adopting)
	rt.stage.ready()
	rt.leaseMore(inst)
	var first func(context.Context) error
	if adopting {
		rt.AwaitFirstReply(ctx)
		rt.guard("the migration", func() { rt.migrateBeside(background) })
	} else if resumed.away {
		rt.watch.suspect(resumed.err)
		first = rt.prepareStoreLater
	}
	stopDrain := rt.startDrain(background, first)
	defer func() { stopDrain() }()
	for {
		select {
		case <-ctx.Done():
			rt.halt(loop)
			rt.unused = inst
			return nil
		case <-loop.ended:
			rt.abandon(inst)
			return fmt.Errorf("the loop has ended: %w", loop.err)
		case err := <-rt.crashed:
			rt.halt(loop)
			rt.abandon(inst)
			return err
		case <-rt.journal().Runner.Failed():
			inst.fail(rt.journal().Runner.Err())
			continue
		case err := <-inst.failure:
			rt.stage.set("the journal has failed: " + err.Error())
			rt.o.Log.Error("the journal takes no moves; the server answers 1006 until it does", "err", err)
			if inst, err = rt.recover(ctx, stopDrain); err != nil {
				return rt.unlessStopped(ctx, err)
			}
			stopDrain = rt.startDrain(background, nil)
			loop.switchInstance(ctx, inst)
			rt.stage.ready()
			rt.leaseMore(inst)
			rt.o.Log.Info("the journal works again; play goes on")
		}
	}
}

// first returns the first instance: the adopted or the resumed one, or else one restored from store and
// journal.
func (rt *Runtime) first(ctx context.Context, resumed *instance) (*instance, error) {
	switch {
	case rt.adopted != nil:
		inst, err := rt.adopt(ctx)
		if err == nil {
			rt.inherit(inst)
		}
		return inst, err
	case resumed != nil:
		rt.activate(resumed)
		rt.inherit(resumed)
		return resumed, nil
	}
	return rt.revive(ctx)
}

// activate makes a restored instance the one that decides.
func (rt *Runtime) activate(inst *instance) {
	inst.commit.begin()
	rt.instance.Store(inst)
}

// startLoop starts a new loop that leads an instance. An adopted instance has made its first step already.
func (rt *Runtime) startLoop(inst *instance, adopted bool) *loop {
	rt.moving.Lock()
	defer rt.moving.Unlock()
	loop := newLoop(rt, inst)
	rt.publishedBefore.CompareAndSwap(0, rt.drain.Load().Last()+1)
	rt.loop.Store(loop)
	if adopted {
		loop.afterAdoption()
	}
	go loop.run()
	return loop
}

// halt ends the loop in order, within lastCommitTimeout.
func (rt *Runtime) halt(l *loop) {
	rt.stage.set("stopping")
	ctx, cancel := context.WithTimeout(context.Background(), lastCommitTimeout)
	defer cancel()
	l.halt(ctx)
}

// wake makes the loop look at its mailbox.
func (rt *Runtime) wake() { rt.port.Load().Wake() }

// lastCommitTimeout bounds how long a stop waits for the disk to take the last decisions.
const lastCommitTimeout = 10 * time.Second

// abandon ends an instance whose loop has ended: when it returns, nothing of that instance becomes durable any more.
func (rt *Runtime) abandon(inst *instance) {
	rt.instance.Store(nil)
	inst.commit.end()
}

// MoveTo makes the loop go on with another port.
func (rt *Runtime) MoveTo(p *transport.Port) {
	rt.moving.Lock()
	defer rt.moving.Unlock()
	l := rt.loop.Load()
	// The loop itself changes the port, so that wake never reaches a port that the loop does not read.
	if l == nil || !l.runOnLoop(context.Background(), func() { l.moveTo(p) }) {
		rt.port.Store(p)
	}
}

// unlessStopped halts the loop, if one runs, and returns err, or nil if ctx has ended.
func (rt *Runtime) unlessStopped(ctx context.Context, err error) error {
	if loop := rt.loop.Load(); loop != nil {
		rt.halt(loop)
	}
	if ctx.Err() != nil {
		return nil
	}
	return err
}

// revive moves the journal to the store and restores an instance from it.
func (rt *Runtime) revive(ctx context.Context) (*instance, error) {
	var inst *instance
	err := rt.retry(ctx, "restoring the boards", func() (err error) {
		if err = rt.DrainAll(ctx); err != nil {
			return err
		}
		rt.stage.set("restoring the boards")
		if inst, err = rt.newInstance(); err != nil {
			return err
		}
		began := time.Now()
		if err = inst.restore(ctx, rt); err != nil {
			inst.record.Close()
			return err
		}
		rt.o.Log.Info("restored from the database", "boards", inst.profile.Gauges().Boards, "took", time.Since(began))
		return nil
	})
	if err != nil {
		return nil, err
	}
	rt.activate(inst)
	return inst, nil
}

// longestHeal is the longest pause between attempts to heal the journal. Players cannot play meanwhile, and
// the cause may go away at any moment.
const longestHeal = 500 * time.Millisecond

// recover heals the journal and returns a new instance. Meanwhile the loop leads the old instance, which refuses
// everything, and the drain moves the journal to the store as far as it can.
func (rt *Runtime) recover(ctx context.Context, stopDrain func()) (*instance, error) {
	rt.instance.Store(nil)
	for pause := firstPause; ; pause = min(2*pause, longestHeal) {
		err := rt.journal().Heal(ctx)
		if err == nil {
			stopDrain()
			var inst *instance
			if inst, err = rt.revive(ctx); err == nil {
				return inst, nil
			}
		}
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		rt.stage.set("the journal has failed: " + err.Error())
		sleep(ctx, pause)
	}
}

// webTime bounds how long a stop waits for answers over HTTP. A request that is only half sent would take
// longer.
const webTime = 5 * time.Second

// Shut ends HTTP and WebSocket, and with drain set moves the journal to the store meanwhile, until ctx
// ends. The loop must have ended.
func (rt *Runtime) Shut(ctx context.Context, drain bool) {
	var web sync.WaitGroup
	defer web.Wait()
	web.Go(func() {
		ctx, cancel := context.WithTimeout(ctx, webTime)
		defer cancel()
		err := guard.Call("the end of HTTP", func() error {
			return rt.port.Load().Shutdown(ctx, transport.CloseGoingAway)
		})
		if err != nil {
			rt.o.Log.Warn("HTTP did not end in time", "err", err)
		}
	})
	defer rt.ReleaseOwnership(ctx)
	d := rt.drain.Load()
	if d == nil || !drain {
		return
	}
	rt.pace.urgent.Store(true)
	var err error
	switch {
	case d.IsEmpty(): // do not wait for a database that is away
	case d.IsPaused():
		err = errPaused
	default:
		// after a handoff the schema may still be the old one
		if err = rt.prepareStore(ctx, "stopping: what the journal has is brought to the database"); err == nil {
			err = d.DrainAll(ctx, nil)
		}
	}
	if err == nil {
		rt.forgetRestartFile() // the next start must see what the host changes in the database
		rt.returnNumbers(ctx)
		return
	}
	rt.o.Log.Warn("the journal keeps what the database does not have yet; the next start brings it there",
		"messages", d.Pending(), "err", err)
}
