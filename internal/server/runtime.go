package server

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"wamble/internal/config"
	"wamble/internal/host"
	"wamble/internal/journal"
	"wamble/internal/store"
	"wamble/internal/store/schema"
	"wamble/internal/transport"
	"wamble/runner"
)

// runtime is one profile that runs: its store and the drain to it, its loop on
// the port that the server has lent it, and the life that the loop leads at
// present.
type runtime struct {
	name   string
	cfg    atomic.Pointer[config.Profile]
	log    *slog.Logger
	runner *runner.Runner
	store  *Shared
	port   atomic.Pointer[transport.Port]
	stage  *stage
	tape   tape
	pace   paced

	loads *loads
	watch *storewatch
	drain atomic.Pointer[journal.Drain] // nil until the store was asked
	loop  atomic.Pointer[loop]          // nil until the first life is ready
	life  atomic.Pointer[life]          // nil while there is none that decides

	help help
}

// help is what the goroutines beside the loop share, and what the runtime has
// from the server.
type help struct {
	heal   func(ctx context.Context) error // makes the journal work again
	dir    string                          // for dumps
	stores *stores                         // of all profiles
	// introduced is Server.introduced.
	introduced func(*config.Profile) *config.Profile
	inline     bool            // nobody runs the loop but Pump
	ctx        context.Context // ends the goroutines
	done       sync.WaitGroup
	crashed    chan error // holds the first panic
	estate     *estate    // of the image before this one; nil: it starts from store and journal
	moving     sync.Mutex // held while the loop is made, and while it moves

	draining     *atomic.Bool // of the server
	restrictions *host.Restrictions
	games        bell // rings when finished games have reached the store
}

// tape is where lives are recorded.
type tape struct {
	file string // "": nowhere
	n    int    // lives so far
	heir bool   // another image may have recorded before
}

// run starts the profile, and keeps it running until ctx ends: then everything
// that was decided is durable and sent. It returns why it could not go on. It may
// be run again afterwards: shut or leave end the profile for good.
func (rt *runtime) run(ctx context.Context) error {
	background, cancel := context.WithCancel(context.Background())
	defer func() {
		cancel()
		rt.help.done.Wait()
	}()
	rt.help.ctx, rt.help.crashed = background, make(chan error, 1)
	rt.dropDrain()
	heir := rt.help.estate != nil
	if !heir {
		if err := rt.prepareStore(ctx); err != nil {
			return rt.unlessStopped(ctx, err)
		}
	}
	rt.guard("the watch over the database", func() { rt.watch.run(background) })
	rt.loads = newLoads(background, rt)

	l, err := rt.first(ctx)
	if err != nil {
		return rt.unlessStopped(ctx, err)
	}
	loop := rt.startLoop(l, heir)
	rt.stage.ready()
	if heir {
		rt.awaitAnswer(ctx)
		rt.pace.inherit(time.Now())
	}
	stopDrain := rt.startDrain(background)
	defer func() { stopDrain() }()
	for {
		select {
		case <-ctx.Done():
			rt.rest(loop)
			return nil
		case <-loop.ended:
			rt.abandon(l)
			return fmt.Errorf("the loop has ended: %w", loop.err)
		case err := <-rt.help.crashed:
			rt.rest(loop)
			rt.abandon(l)
			return err
		case <-rt.runner.Failed():
			l.fail(rt.runner.Err())
			continue
		case err := <-l.failure:
			rt.stage.set("the journal has failed: " + err.Error())
			rt.log.Error("the journal takes no moves; the server answers 1006 until it does", "err", err)
			if l, err = rt.recover(ctx, stopDrain); err != nil {
				return rt.unlessStopped(ctx, err)
			}
			stopDrain = rt.startDrain(background)
			loop.become(ctx, l)
			rt.stage.ready()
			rt.log.Info("the journal works again; play goes on")
		}
	}
}

// first makes the first life: out of what the image before this one left, or out
// of store and journal.
func (rt *runtime) first(ctx context.Context) (*life, error) {
	if rt.help.estate != nil {
		return rt.takeOver(ctx)
	}
	return rt.revive(ctx)
}

// startLoop lets a new loop lead a life, which an heir has led one step already.
func (rt *runtime) startLoop(l *life, heir bool) *loop {
	rt.help.moving.Lock()
	defer rt.help.moving.Unlock()
	loop := newLoop(rt, l)
	rt.loop.Store(loop)
	if heir {
		loop.succeed()
	}
	if !rt.help.inline {
		go loop.run()
	}
	return loop
}

// rest ends the loop in order.
func (rt *runtime) rest(l *loop) {
	rt.stage.set("stopping")
	ctx, cancel := context.WithTimeout(context.Background(), restTime)
	defer cancel()
	l.halt(ctx)
}

// wake makes the loop look at its mail.
func (rt *runtime) wake() { rt.port.Load().Wake() }

// restTime is how long the disk may take for what was decided last.
const restTime = 10 * time.Second

// abandon ends a life whose loop is gone: nothing of it becomes durable any
// more when this returns.
func (rt *runtime) abandon(l *life) {
	rt.life.Store(nil)
	l.commit.end()
}

// moveTo lets the loop go on with another port.
func (rt *runtime) moveTo(p *transport.Port) {
	rt.help.moving.Lock()
	defer rt.help.moving.Unlock()
	l := rt.loop.Load()
	// The loop itself changes over, so that whoever wakes it finds it.
	if l == nil || !l.do(context.Background(), func() { l.moveTo(p) }) {
		rt.port.Store(p)
	}
}

// unlessStopped ends a loop that is left without a life, and forgets an error
// that came because the profile is to stop.
func (rt *runtime) unlessStopped(ctx context.Context, err error) error {
	if loop := rt.loop.Load(); loop != nil {
		rt.rest(loop)
	}
	if ctx.Err() != nil {
		return nil
	}
	return err
}

// prepareStore waits until the store answers, and migrates it.
func (rt *runtime) prepareStore(ctx context.Context) error {
	return rt.insist(ctx, "waiting for the database", func() error {
		return rt.store.Migrate(ctx, func(step schema.Step) {
			if step.Done {
				rt.log.Info("migrated", "store", rt.store.Name, "step", step.Name, "took", step.Elapsed)
				return
			}
			rt.stage.set("migrating the database: " + step.Name)
		})
	})
}

// insist tries until it works or an error comes that will not pass.
func (rt *runtime) insist(ctx context.Context, what string, try func() error) error {
	for pause, attempt := firstPause, 1; ; pause, attempt = min(2*pause, longestPause), attempt+1 {
		rt.stage.set(what)
		err := try()
		switch {
		case err == nil:
			return nil
		case ctx.Err() != nil:
			return ctx.Err()
		case !errors.Is(err, store.ErrTransient):
			return fmt.Errorf("%s: %w", what, err)
		}
		rt.stage.set(what + ": " + err.Error())
		if attempt == 1 {
			rt.log.Warn(what, "store", rt.store.Name, "err", err)
		}
		wait(ctx, pause)
	}
}

// revive brings the journal to the store and a profile into memory.
func (rt *runtime) revive(ctx context.Context) (*life, error) {
	var l *life
	err := rt.insist(ctx, "restoring the boards", func() (err error) {
		if err = rt.emptyJournal(ctx); err != nil {
			return err
		}
		rt.stage.set("restoring the boards")
		if l, err = rt.newLife(); err != nil {
			return err
		}
		if err = l.restore(ctx, rt); err != nil {
			l.record.close()
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	l.commit.begin()
	rt.life.Store(l)
	return l, nil
}

// makeDrain makes the drain, if there is none.
func (rt *runtime) makeDrain(ctx context.Context) error {
	if rt.drain.Load() != nil {
		return nil
	}
	d, err := journal.NewDrain(ctx, rt.runner, &rt.pace, journal.DrainOptions{
		Profile: rt.name,
		Limits:  limitsOf(rt.cfg.Load()),
		Applied: rt.applied, Trouble: rt.watch.drained, Emitted: rt.help.games.ring,
	})
	if err == nil {
		rt.drain.Store(d)
	}
	return err
}

// limitsOf bound a transaction of the drain.
func limitsOf(cfg *config.Profile) journal.Limits {
	return journal.Limits{Intents: cfg.Store.MaxIntents, Bytes: cfg.Store.MaxPayload}
}

func (rt *runtime) applied(through uint64) {
	if l := rt.life.Load(); l != nil {
		l.mail.appliedTo(through)
	}
}

// startDrain drains beside the loop, until the returned function is called.
func (rt *runtime) startDrain(ctx context.Context) (stop func()) {
	ctx, cancel := context.WithCancel(ctx)
	done := make(chan struct{})
	rt.pace.hurry.Store(false)
	rt.guard("the drain", func() {
		defer close(done)
		if err := rt.drain.Load().Run(ctx); err != nil {
			rt.log.Warn("the drain of the journal has stopped", "err", err)
			if l := rt.life.Load(); l != nil {
				l.fail(err)
			}
		}
	})
	return func() {
		cancel()
		<-done
	}
}

// dropDrain forgets the drain of an earlier run, in whatever state that left it.
func (rt *runtime) dropDrain() {
	d := rt.drain.Swap(nil)
	if d == nil {
		return
	}
	if err := d.Close(); err != nil {
		rt.log.Warn("the drain of the journal was not given back", "err", err)
	}
}

// recover makes a new life when the journal works again. The loop leads the old
// one meanwhile, which refuses everything, and what is in the journal goes on to
// the store as far as it can.
func (rt *runtime) recover(ctx context.Context, stopDrain func()) (*life, error) {
	rt.life.Store(nil)
	for pause := firstPause; ; pause = min(2*pause, longestPause) {
		err := rt.help.heal(ctx)
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

// shut ends HTTP and WebSocket, and with drain brings the journal to the store
// meanwhile, as far as there is time. The loop has ended.
func (rt *runtime) shut(ctx context.Context, drain bool) {
	var web sync.WaitGroup
	defer web.Wait()
	web.Go(func() {
		ctx, cancel := context.WithTimeout(ctx, webTime)
		defer cancel()
		if err := rt.port.Load().Shutdown(ctx, transport.CloseGoingAway); err != nil {
			rt.log.Warn("HTTP did not end in time", "err", err)
		}
	})
	d := rt.drain.Load()
	if d == nil || !drain {
		return
	}
	rt.pace.hurry.Store(true)
	if err := d.Empty(ctx, nil); err != nil {
		rt.log.Warn("the journal keeps what the database does not have yet; the next start brings it there",
			"messages", d.Pending(), "err", err)
	}
}
