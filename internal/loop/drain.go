package loop

import (
	"context"
	"errors"
	"fmt"
	"time"

	"wamble/internal/config"
	"wamble/internal/journal"
)

// errPaused is the reason why Shut and Detach leave messages in the journal.
var errPaused = errors.New("the host has paused the queue")

// DrainAll moves all messages that an earlier instance left in the journal to the store, even if the queue is
// paused: without them the store lacks what players have seen. The loop must not be running.
func (rt *Runtime) DrainAll(ctx context.Context) error {
	rt.pace.urgent.Store(true)
	if err := rt.makeDrain(ctx); err != nil {
		return err
	}
	d := rt.drain.Load()
	if err := rt.recordDatabase(ctx); err != nil {
		return err
	}
	if err := d.Fits(ctx); err != nil {
		return err
	}
	all := d.Pending()
	if all == 0 {
		return nil
	}
	rt.o.Log.Info("bringing the journal to the database", "messages", all)
	if d.IsPaused() {
		rt.o.Log.Warn("the queue is paused, but its messages are moved to the database all the same: the profile " +
			"cannot go on without them")
	}
	started, logged := time.Now(), time.Now()
	err := d.DrainAll(ctx, func(left int) {
		about := remainingTime(all, left, time.Since(started))
		rt.stage.set(fmt.Sprintf("bringing the journal to the database: %d messages left, about %v", left, about))
		if time.Since(logged) > time.Second {
			logged = time.Now()
			rt.o.Log.Info("bringing the journal to the database", "left", left, "about", about)
		}
	})
	if err == nil {
		rt.o.Log.Info("the journal is in the database", "messages", all, "took", time.Since(started))
	}
	return err
}

// remainingTime estimates how long the remaining work takes, rounded to seconds and one second added.
func remainingTime(all, undone int, took time.Duration) time.Duration {
	if undone <= 0 || undone >= all {
		return 0
	}
	remaining := time.Duration(float64(took) * float64(undone) / float64(all-undone))
	return remaining.Round(time.Second) + time.Second
}

// makeDrain makes the drain unless it exists.
func (rt *Runtime) makeDrain(ctx context.Context) error {
	if rt.drain.Load() != nil {
		return nil
	}
	d, err := journal.NewDrain(ctx, rt.journal().Runner, rt.o.Database.Store, journal.DrainOptions{
		Profile:   rt.o.Name,
		Limits:    limitsOf(rt.cfg.Load()),
		Retain:    rt.o.Retain,
		OnApplied: rt.onApplied, OnTransaction: rt.onTransaction, OnStoreResult: rt.onDrainResult,
		OnDeadLetters: rt.logDeadLetters, OnRetainFailed: rt.watch.onRetainFailed, OnRollback: rt.watch.onRollback,
		Others:   rt.othersBehind,
		Observer: rt.o.Observer, RememberEvents: rt.o.RememberEvents,
	})
	if err != nil {
		return err
	}
	if w, _, err := journal.DatabaseOf(ctx, rt.journal().Runner, rt.o.Name); err == nil {
		d.SetBase(w.Base)
	}
	rt.drain.Store(d)
	return nil
}

// onTransaction logs a transaction of the drain, and returns the limits of the next.
func (rt *Runtime) onTransaction(w journal.Work) journal.Next {
	rt.o.Log.Debug("messages are in the database", "messages", w.Messages, "bytes", w.Bytes, "took", w.Took)
	return rt.pace.next(time.Now(), w)
}

// limitsOf returns the bounds of one transaction of the drain.
func limitsOf(cfg *config.Profile) journal.Limits {
	return journal.Limits{Intents: cfg.Store.MaxIntents, Bytes: cfg.Store.MaxPayload}
}

// logDeadLetters logs new dead letters.
func (rt *Runtime) logDeadLetters(count int, reason error) {
	rt.o.Log.Error("the database refuses something for good; it is kept as a dead letter, see 'wamble runner "+
		"dead-letters list'",
		"dead_letters", count, "reason", reason)
}

func (rt *Runtime) onApplied(through uint64) {
	if inst := rt.instance.Load(); inst != nil {
		inst.mailbox.setApplied(through)
	}
	rt.tracer.applied(through)
}

// onDrainResult reports the drain's result to the storewatch. On an error the backpressure is released: a store that
// takes no batches must not slow the loop.
func (rt *Runtime) onDrainResult(err error) {
	if err != nil {
		rt.pace.backpressure.release()
	}
	rt.watch.drained(err)
}

// othersBehind reports whether the store lacks something that other profiles had brought there, and the sum
// of their positions in it. The drains of the profiles that it lacks something of recheck it.
func (rt *Runtime) othersBehind(ctx context.Context) (behind bool, at uint64) {
	for _, m := range rt.o.Database.Registry.Others(rt) {
		other, here := m.(*Runtime)
		if !here {
			continue // another machine
		}
		lacks, has, err := journal.IsBehind(ctx, other.journal().Runner, other.o.Database.Store, other.o.Name)
		if d := other.drain.Load(); lacks && d != nil {
			d.Recheck()
		}
		behind, at = behind || lacks || err != nil, at+has
	}
	return behind, at
}

// startDrain runs the drain beside the loop until the returned function is called. First, unless nil, runs
// before it; its error ends the runtime.
func (rt *Runtime) startDrain(ctx context.Context, first func(context.Context) error) (stop func()) {
	ctx, cancel := context.WithCancel(ctx)
	done := make(chan struct{})
	rt.pace.urgent.Store(false)
	rt.guard("the drain", func() {
		defer close(done)
		if first != nil {
			if err := first(ctx); err != nil {
				rt.crash(err)
				return
			}
		}
		if err := rt.drain.Load().Run(ctx); err != nil {
			rt.o.Log.Warn("the drain of the journal has stopped", "err", err)
			if inst := rt.instance.Load(); inst != nil {
				inst.fail(err)
			}
		}
	})
	return func() {
		cancel()
		<-done
	}
}

// DropDrain closes the drain of an earlier run, whatever its state.
func (rt *Runtime) DropDrain() {
	d := rt.drain.Swap(nil)
	if d == nil {
		return
	}
	if err := d.Close(); err != nil {
		rt.o.Log.Warn("the drain of the journal was not given back", "err", err)
	}
}

// SetUrgent switches the drain's pauses between batches off or on again.
func (rt *Runtime) SetUrgent(on bool) { rt.pace.urgent.Store(on) }

// DrainRemoved moves the rest of the journal of a removed profile to its store. It tries again until the store
// has everything or ctx ends.
func (rt *Runtime) DrainRemoved(ctx context.Context) {
	rt.stage.set("removed; its journal is being brought to the database")
	for pause := firstPause; ; pause = min(2*pause, longestPause) {
		err := rt.prepareStore(ctx, "waiting for the database")
		if err == nil {
			err = rt.DrainAll(ctx)
		}
		if err == nil {
			rt.ReleaseOwnership(ctx)
			rt.forgetRestartFile()
			if err := rt.ForgetDatabase(ctx); err != nil {
				rt.o.Log.Warn("the journal still knows the database of a removed profile", "err", err)
			}
			rt.o.Log.Info("the profile has left; the database has everything of it")
			return
		}
		if ctx.Err() != nil {
			return
		}
		rt.o.Log.Warn("a removed profile waits for its database", "err", err)
		sleep(ctx, pause)
	}
}
