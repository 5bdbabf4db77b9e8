package loop

import (
	"context"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"wamble"

	"wamble/internal/config"
	"wamble/internal/guard"
	"wamble/internal/journal"
	"wamble/internal/profile"
	"wamble/internal/registry"
	"wamble/internal/store"
	"wamble/internal/store/schema"
	"wamble/internal/tape"
	"wamble/internal/transport"
	"wamble/runner"
)

// Options is what a runtime is made of. Its hooks are called from several
// goroutines.
type Options struct {
	Name   string // of the profile, or of its shard (see store.ShardName)
	Config *config.Profile
	// Shard is which of the profile's loops this is.
	Shard  wamble.Shard
	Log    *slog.Logger
	Runner *runner.Runner
	Store  Store
	// Owner is this process, as the store knows it.
	Owner store.Owner
	// Keep is what is kept of messages that the store has.
	Keep journal.KeepOptions
	// Tracing is who wants to know how long single steps take; nil: nobody.
	Tracing *Tracing
	// RestartDir is where restart files are; "": there are none.
	RestartDir string
	// StoreName is the name of the database, for people.
	StoreName string
	// InProcess says that the database is a file that this process reads itself.
	InProcess bool
	// Port is lent to the runtime: the caller has opened it and closes it.
	Port *transport.Port
	// Record is where the lives of the profile are recorded.
	Record tape.Series

	// Shared says that other machines go on with the journal.
	Shared bool
	// Holds reports whether this process still has the right to speak for the profile:
	// what is to be sent when it has not is dropped. nil: it always has.
	Holds func() bool
	// Ahead is how far the clock of a new life is before that of the machine; nil: it
	// is not.
	Ahead func() time.Duration
	// Clock says the time of a new life instead of the machine, for tests of hours; nil:
	// nobody does.
	Clock func() time.Time
	// Skew is how far the machine's wall clock is set wrong at the moment, in tests.
	Skew func() time.Duration
	// Heal makes the journal work again.
	Heal func(ctx context.Context) error
	// TruePorts returns the configuration with the true ports of its neighbours.
	TruePorts func(*config.Profile) *config.Profile
	// Standing is what a new life is told first: what the host has said and still
	// holds.
	Standing func() []profile.Input
	// Reservations asks every store of the server which boards a key holds.
	Reservations func(ctx context.Context, key wamble.PublicKey) ([]wamble.Reservation, error)
	// Registry is the profiles of the same store; nil: there are no others.
	Registry *registry.Registry
	// Apart reports whether another profile of this process, or its shard, is taken to be in
	// another store; nil: none is.
	Apart func(name string) bool
	// Show shows other shards of the profile what has changed; nil: there are none.
	Show func(*profile.Sights)
	// Finished is called when finished games have reached the store.
	Finished func()
	// Happened is called with what has reached the store (see journal.DrainOptions).
	Happened func(after, through uint64, list []journal.Happened)
	// Totals is what all shards of the profile have; nil: there is one.
	Totals *Totals
	// Others are the other shards of the profile, if there are any.
	Others func() []*Runtime
	// Abroad asks the shards with these numbers, on other machines, about a board. Told is nil
	// if none has it; an error says that not all could be asked. Nil: there are no others.
	Abroad func(ctx context.Context, shards []int, in profile.Ask) (told *profile.Told, err error)
	// Observed reports whether anybody wants to know what happens (see journal.DrainOptions).
	Observed func(through uint64) bool
	// Remember keeps in the journal what Happened was told.
	Remember bool
}

// Store is the database of a profile, with its schema.
type Store interface {
	store.Store
	// Migrate brings the schema to the newest version.
	Migrate(ctx context.Context, progress schema.Progress) error
	// Status says how the database stands to this program.
	Status(ctx context.Context) (schema.Status, error)
	// Verify looks for damage after a crash. Errors: *store.Unusable.
	Verify(ctx context.Context) error
	// Owners returns who owns profiles of the database now, each with a beat.
	Owners(ctx context.Context) ([]store.Owned, error)
}

// Runtime is one profile that runs: its store and the drain to it, its loop on
// the port that it was lent, and the life that the loop leads at present.
type Runtime struct {
	o     Options
	cfg   atomic.Pointer[config.Profile]
	port  atomic.Pointer[transport.Port]
	stage *stage
	pace  pace
	loads *loads
	watch *storewatch
	drain atomic.Pointer[journal.Drain] // nil until the store was asked
	loop  atomic.Pointer[loop]          // nil until the first life is ready
	life  atomic.Pointer[life]          // nil while there is none that decides
	hears atomic.Pointer[life]          // who is told news: the life, also while it is restored; nil: nobody
	told  atomic.Uint64                 // the message before which other profiles were told everything; 0: it never ran

	ctx        context.Context // ends the goroutines beside the loop
	done       sync.WaitGroup  // of them
	crashed    chan error      // holds why the first of them could not go on
	panics     atomic.Uint64   // caught so far
	quarantine quarantine
	tracer     tracer
	numbers    *registry.Registry // of all profiles of the store, or of this one alone
	unused     *life              // ended in order, with numbers that nobody has got
	moved      bool               // the host has chosen another store
	ran        bool               // Run was called before
	adopted    *Adopted           // of the image before this one; nil: it starts from store and journal
	counts     counts
	on         atomic.Pointer[Journal]
	moving     sync.Mutex // held while the loop is made, and while it moves
}

// New returns a runtime that does not run yet.
func New(o Options) *Runtime {
	rt := &Runtime{o: o, stage: newStage(), quarantine: newQuarantine(), tracer: tracer{o: o.Tracing}}
	rt.cfg.Store(o.Config)
	rt.port.Store(o.Port)
	rt.on.Store(&Journal{Runner: o.Runner, Owner: o.Owner, Shared: o.Shared, Holds: o.Holds, Ahead: o.Ahead, Heal: o.Heal})
	if rt.numbers = o.Registry; rt.numbers == nil {
		rt.numbers = registry.New()
	}
	rt.watch = newStorewatch(rt)
	rt.pace.waits = func() int { return rt.drain.Load().Pending() }
	return rt
}

// Name is the name of the profile, or of its shard.
func (rt *Runtime) Name() string { return rt.o.Name }

// Shard is which of the loops of its profile it is.
func (rt *Runtime) Shard() wamble.Shard { return rt.o.Shard }

// Config is what the profile runs with now.
func (rt *Runtime) Config() *config.Profile { return rt.cfg.Load() }

// Port is where the profile listens now.
func (rt *Runtime) Port() *transport.Port { return rt.port.Load() }

// Run starts the profile, and keeps it running until ctx ends: then everything
// that was decided is durable and sent. It returns why it could not go on. It may
// be run again afterwards; Shut ends the profile for good.
func (rt *Runtime) Run(ctx context.Context) error {
	background, cancel := context.WithCancel(context.Background())
	defer func() {
		rt.hears.Store(nil)
		cancel()
		rt.done.Wait()
	}()
	rt.ctx, rt.crashed, rt.unused = background, make(chan error, 1), nil
	rt.DropDrain()
	if rt.ran { // the journal may be what ended the run before, or another machine's by now
		if err := rt.journal().Heal(ctx); err != nil && rt.journal().Runner.State() == runner.Failed {
			return rt.unlessStopped(ctx, fmt.Errorf("the journal has failed: %w", err))
		}
	}
	adopting := rt.adopted != nil
	var resumed resumed
	if !adopting {
		var err error
		if resumed, err = rt.resume(ctx); err == nil && resumed.life == nil {
			err = rt.prepareStore(ctx, "waiting for the database")
		}
		if err != nil {
			return rt.unlessStopped(ctx, err)
		}
	}
	rt.watch.begin()
	rt.guard("the watch over the database", func() { rt.watch.run(background) })
	if !adopting {
		rt.guard("a check of the database", func() { rt.watch.verify(background) })
	}
	rt.guard("the owner's beat", func() { rt.beat(background, adopting || resumed.away) })
	rt.loads = newLoads(background, rt)
	if rt.o.Shard.Of > 1 {
		rt.guard("the arrivals", func() { rt.arrivals(background) })
	}

	l, err := rt.first(ctx, resumed.life)
	if err != nil {
		return rt.unlessStopped(ctx, err)
	}
	loop := rt.startLoop(l, adopting)
	rt.stage.ready()
	rt.leaseMore(l)
	var first func(context.Context) error
	if adopting {
		rt.AwaitAnswer(ctx)
		rt.guard("the migration", func() { rt.migrateBeside(background) })
	} else if resumed.away {
		rt.watch.suspect(resumed.err)
		first = rt.meetStore
	}
	stopDrain := rt.startDrain(background, first)
	defer func() { stopDrain() }()
	for {
		select {
		case <-ctx.Done():
			rt.halt(loop)
			rt.unused = l
			return nil
		case <-loop.ended:
			rt.abandon(l)
			return fmt.Errorf("the loop has ended: %w", loop.err)
		case err := <-rt.crashed:
			rt.halt(loop)
			rt.abandon(l)
			return err
		case <-rt.journal().Runner.Failed():
			l.fail(rt.journal().Runner.Err())
			continue
		case err := <-l.failure:
			rt.stage.set("the journal has failed: " + err.Error())
			rt.o.Log.Error("the journal takes no moves; the server answers 1006 until it does", "err", err)
			if l, err = rt.recover(ctx, stopDrain); err != nil {
				return rt.unlessStopped(ctx, err)
			}
			stopDrain = rt.startDrain(background, nil)
			loop.become(ctx, l)
			rt.stage.ready()
			rt.leaseMore(l)
			rt.o.Log.Info("the journal works again; play goes on")
		}
	}
}

// first makes the first life: out of what the image before this one left, or out
// of store and journal, unless there is one already.
func (rt *Runtime) first(ctx context.Context, resumed *life) (*life, error) {
	switch {
	case rt.adopted != nil:
		l, err := rt.adopt(ctx)
		if err == nil {
			rt.inherit(l)
		}
		return l, err
	case resumed != nil:
		rt.live(resumed)
		rt.inherit(resumed)
		return resumed, nil
	}
	return rt.revive(ctx)
}

// live makes a life that is restored the one that decides.
func (rt *Runtime) live(l *life) {
	l.commit.begin()
	rt.life.Store(l)
}

// startLoop lets a new loop lead a life. An adopted life has made its first step
// already.
func (rt *Runtime) startLoop(l *life, adopted bool) *loop {
	rt.moving.Lock()
	defer rt.moving.Unlock()
	loop := newLoop(rt, l)
	rt.told.CompareAndSwap(0, rt.drain.Load().Last()+1)
	rt.loop.Store(loop)
	if adopted {
		loop.succeed()
	}
	go loop.run()
	return loop
}

// halt ends the loop in order.
func (rt *Runtime) halt(l *loop) {
	rt.stage.set("stopping")
	ctx, cancel := context.WithTimeout(context.Background(), restTime)
	defer cancel()
	l.halt(ctx)
}

// wake makes the loop look at its mail.
func (rt *Runtime) wake() { rt.port.Load().Wake() }

// restTime is how long the disk may take for what was decided last.
const restTime = 10 * time.Second

// abandon ends a life whose loop is gone: nothing of it becomes durable any
// more when this returns.
func (rt *Runtime) abandon(l *life) {
	rt.life.Store(nil)
	l.commit.end()
}

// MoveTo lets the loop go on with another port.
func (rt *Runtime) MoveTo(p *transport.Port) {
	rt.moving.Lock()
	defer rt.moving.Unlock()
	l := rt.loop.Load()
	// The loop itself changes over, so that whoever wakes it finds it.
	if l == nil || !l.do(context.Background(), func() { l.moveTo(p) }) {
		rt.port.Store(p)
	}
}

// unlessStopped ends a loop that is left without a life, and forgets an error
// that came because the profile is to stop.
func (rt *Runtime) unlessStopped(ctx context.Context, err error) error {
	if loop := rt.loop.Load(); loop != nil {
		rt.halt(loop)
	}
	if ctx.Err() != nil {
		return nil
	}
	return err
}

// revive brings the journal to the store and a profile into memory.
func (rt *Runtime) revive(ctx context.Context) (*life, error) {
	var l *life
	err := rt.retry(ctx, "restoring the boards", func() (err error) {
		if err = rt.Empty(ctx); err != nil {
			return err
		}
		rt.stage.set("restoring the boards")
		if l, err = rt.newLife(); err != nil {
			return err
		}
		began := time.Now()
		if err = l.restore(ctx, rt); err != nil {
			l.record.Close()
			return err
		}
		rt.o.Log.Info("restored from the database", "boards", l.profile.Gauges().Boards, "took", time.Since(began))
		return nil
	})
	if err != nil {
		return nil, err
	}
	rt.live(l)
	return l, nil
}

// longestHeal is the longest pause before the journal is tried again. Nobody can play
// meanwhile, and what keeps it from working may be over any moment.
const longestHeal = 500 * time.Millisecond

// recover makes a new life when the journal works again. The loop leads the old
// one meanwhile, which refuses everything, and what is in the journal goes on to
// the store as far as it can.
func (rt *Runtime) recover(ctx context.Context, stopDrain func()) (*life, error) {
	rt.life.Store(nil)
	for pause := firstPause; ; pause = min(2*pause, longestHeal) {
		err := rt.journal().Heal(ctx)
		if err == nil {
			stopDrain()
			var l *life
			if l, err = rt.revive(ctx); err == nil {
				return l, nil
			}
		}
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		rt.stage.set("the journal has failed: " + err.Error())
		wait(ctx, pause)
	}
}

// webTime is how long answers over HTTP may take when the server stops, as far as
// there is time. A request that is only half sent would take longer.
const webTime = 5 * time.Second

// Shut ends HTTP and WebSocket, and with drain brings the journal to the store
// meanwhile, as far as there is time. The loop has ended.
func (rt *Runtime) Shut(ctx context.Context, drain bool) {
	var web sync.WaitGroup
	defer web.Wait()
	web.Go(func() {
		ctx, cancel := context.WithTimeout(ctx, webTime)
		defer cancel()
		err := guard.Call("the end of HTTP", func() error { return rt.port.Load().Shutdown(ctx, transport.CloseGoingAway) })
		if err != nil {
			rt.o.Log.Warn("HTTP did not end in time", "err", err)
		}
	})
	defer rt.Disown(ctx)
	d := rt.drain.Load()
	if d == nil || !drain {
		return
	}
	rt.pace.hurry.Store(true)
	var err error
	switch {
	case d.IsEmpty(): // nobody waits for a database that is away
	case d.IsPaused():
		err = errPaused
	default:
		if err = rt.prepareStore(ctx, "stopping: what the journal has is brought to the database"); err == nil { // after a handoff the schema may still be the old one
			err = d.Empty(ctx, nil)
		}
	}
	if err == nil {
		rt.forgetRestartFile() // what the host does to the database meanwhile is to be seen
		rt.returnNumbers(ctx)
		return
	}
	rt.o.Log.Warn("the journal keeps what the database does not have yet; the next start brings it there",
		"messages", d.Pending(), "err", err)
}
