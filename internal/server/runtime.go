package server

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"wamble"
	"wamble/internal/config"
	"wamble/internal/persist"
	"wamble/internal/schema"
	"wamble/internal/transport"
	"wamble/runner"
)

// runtime is one profile that runs: its port, its store and the drain to it, its
// loop, and the life that the loop leads at present.
type runtime struct {
	cfg    *config.Profile
	log    *slog.Logger
	heal   func(ctx context.Context) error // makes the journal work again
	runner *runner.Runner
	store  *Shared
	port   *transport.Port
	stage  *stage
	tape   tape
	pace   paced

	loads *loads
	watch *storewatch
	drain atomic.Pointer[persist.Drain] // nil until the store was asked
	loop  atomic.Pointer[loop]          // nil until the first life is ready
	life  atomic.Pointer[life]          // nil while there is none that decides

	help help
}

// help is what the goroutines beside the loop share.
type help struct {
	ctx  context.Context // ends them
	done sync.WaitGroup
}

// tape is where lives are recorded.
type tape struct {
	file string // "": nowhere
	n    int    // lives so far
}

// run starts the profile, and keeps it running until ctx ends: then it stops in
// order, in at most the given time. It returns why it could not go on.
func (rt *runtime) run(ctx context.Context, patience time.Duration) error {
	background, cancel := context.WithCancel(context.Background())
	defer func() {
		cancel()
		rt.help.done.Wait()
	}()
	rt.help.ctx = background
	if err := rt.prepareStore(ctx); err != nil {
		return rt.unlessStopped(ctx, err)
	}
	rt.help.done.Go(func() { rt.watch.run(background) })
	rt.loads = newLoads(background, rt)
	defer rt.loads.done.Wait()
	defer cancel()

	l, err := rt.revive(ctx)
	if err != nil {
		return rt.unlessStopped(ctx, err)
	}
	stopDrain := rt.startDrain(background)
	loop := newLoop(rt, l)
	rt.loop.Store(loop)
	go loop.run()
	rt.stage.ready()
	for {
		select {
		case <-ctx.Done():
			return rt.end(stopDrain, patience)
		case <-loop.ended:
			stopDrain()
			return fmt.Errorf("the port of profile %s: %w", rt.cfg.Name, loop.err)
		case <-rt.runner.Failed():
			l.fail(rt.runner.Err())
			continue
		case err := <-l.failure:
			rt.stage.set("the journal has failed: " + err.Error())
			rt.log.Error("the journal takes no moves; the server answers 1006 until it does", "err", err)
			if l, err = rt.recover(ctx, stopDrain); err != nil {
				stopDrain()
				return rt.unlessStopped(ctx, err)
			}
			stopDrain = rt.startDrain(background)
			loop.become(ctx, l)
			rt.stage.ready()
			rt.log.Info("the journal works again; play goes on")
		}
	}
}

// unlessStopped forgets an error that came because the server is to stop.
func (rt *runtime) unlessStopped(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		if loop := rt.loop.Load(); loop != nil {
			loop.halt(ctx)
		}
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
		case !errors.Is(err, wamble.ErrTransient):
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
	l.journal.begin()
	rt.life.Store(l)
	return l, nil
}

// emptyJournal brings all that an earlier life left to the store.
func (rt *runtime) emptyJournal(ctx context.Context) error {
	rt.pace.hurry.Store(true)
	d := rt.drain.Load()
	if d == nil {
		made, err := persist.NewDrain(ctx, rt.runner, &rt.pace, persist.DrainOptions{
			Profile: rt.cfg.Name,
			Limits:  persist.Limits{Intents: rt.cfg.Store.MaxIntents, Bytes: rt.cfg.Store.MaxPayload},
			Applied: rt.applied, Trouble: rt.watch.drained,
		})
		if err != nil {
			return err
		}
		d = made
		rt.drain.Store(d)
	}
	left := d.Pending()
	if left == 0 {
		return nil
	}
	rt.log.Info("bringing the journal to the database", "messages", left)
	started, said := time.Now(), time.Now()
	err := d.Empty(ctx, func(left int) {
		rt.stage.set(fmt.Sprintf("bringing the journal to the database: %d messages left", left))
		if time.Since(said) > time.Second {
			said = time.Now()
			rt.log.Info("bringing the journal to the database", "left", left)
		}
	})
	if err == nil {
		rt.log.Info("the journal is in the database", "messages", left, "took", time.Since(started))
	}
	return err
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
	go func() {
		defer close(done)
		if err := rt.drain.Load().Run(ctx); err != nil {
			rt.log.Warn("the drain of the journal has stopped", "err", err)
			if l := rt.life.Load(); l != nil {
				l.fail(err)
			}
		}
	}()
	return func() {
		cancel()
		<-done
	}
}

// recover makes a new life when the journal works again. The loop leads the old
// one meanwhile, which refuses everything, and what is in the journal goes on to
// the store as far as it can.
func (rt *runtime) recover(ctx context.Context, stopDrain func()) (*life, error) {
	rt.life.Store(nil)
	for pause := firstPause; ; pause = min(2*pause, longestPause) {
		err := rt.heal(ctx)
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

// end stops reading, sends what is due, and brings the journal to the store as
// far as there is time.
func (rt *runtime) end(stopDrain func(), patience time.Duration) error {
	rt.stage.set("stopping")
	ctx, cancel := context.WithTimeout(context.Background(), max(patience, time.Second))
	defer cancel()
	rt.loop.Load().halt(ctx)
	if err := rt.port.Shutdown(ctx, transport.CloseGoingAway); err != nil {
		rt.log.Warn("HTTP did not end in time", "err", err)
	}
	stopDrain()
	if patience == 0 {
		return nil
	}
	rt.pace.hurry.Store(true)
	drain := rt.drain.Load()
	if err := drain.Empty(ctx, nil); err != nil {
		rt.log.Warn("the journal keeps what the database does not have yet; the next start brings it there",
			"messages", drain.Pending(), "err", err)
	}
	return nil
}
