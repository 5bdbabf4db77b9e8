package runner

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// poke makes the worker look for work, and reports whether it was not asked to do so already.
func (w *Worker) poke() bool {
	select {
	case w.wake <- struct{}{}:
		return true
	default:
		return false
	}
}

// Start runs the worker in a goroutine until Stop, until ctx is done, or until an error that
// ends it (see Policy.StopOnError). It returns ErrStarted if the worker is running. The
// contexts of handlers have the values of ctx, and end WorkerOptions.Grace after ctx.
func (w *Worker) Start(ctx context.Context) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.cancel != nil {
		return ErrStarted
	}
	for _, lane := range w.lanes {
		if err := lane.Start(ctx); err != nil {
			return err // a lane that an error has ended was not joined
		}
	}
	ctx, w.cancel = context.WithCancel(ctx)
	w.stopped.Store(false)
	w.lastErr.Store(nil)
	w.joined = make(chan struct{})
	w.activate(1)
	go w.loop(ctx, w.joined)
	return nil
}

// Stop makes the worker stop after the running message, which has WorkerOptions.Grace to end,
// and wakes it if it sleeps. Claimed messages that were not run are released.
func (w *Worker) Stop() {
	for _, lane := range w.lanes {
		lane.stopOne()
	}
	w.stopOne()
}

func (w *Worker) stopOne() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.stopped.Store(true)
	if w.cancel != nil {
		w.cancel()
	}
}

// Join waits until a started worker has ended and returns LastError. It returns ErrStopped if
// the worker was not started. The worker can be started again.
func (w *Worker) Join() error {
	w.mu.Lock()
	joined := w.joined
	w.mu.Unlock()
	if joined == nil {
		return ErrStopped
	}
	<-joined
	w.mu.Lock()
	if w.joined == joined {
		w.joined = nil
	}
	w.mu.Unlock()
	_ = w.eachLane((*Worker).Join) // LastError includes their errors
	return w.LastError()
}

// awaitGrace ends the context of the running handler if the worker has not ended within the
// grace period.
func (w *Worker) awaitGrace(joined <-chan struct{}) {
	t := time.NewTimer(max(w.o.Grace, 0))
	defer t.Stop()
	select {
	case <-joined:
	case <-t.C:
		w.endGrace()
	}
}

// endGrace ends the context of the running handler of a worker that stops.
func (w *Worker) endGrace() {
	w.run.mu.Lock()
	defer w.run.mu.Unlock()
	if w.run.cancel != nil {
		w.run.over = true
		w.run.cancel(fmt.Errorf("the worker stops: %w", ErrStopped))
	}
}

func (w *Worker) loop(ctx context.Context, joined chan struct{}) {
	w.tick.Lock()
	w.beginRun(context.WithoutCancel(ctx))
	w.tick.Unlock()
	stop := context.AfterFunc(ctx, func() { _ = guard(func() error { w.awaitGrace(joined); return nil }) })
	w.turns(ctx, func() {
		defer func() {
			w.mu.Lock()
			w.cancel()
			w.cancel = nil
			w.mu.Unlock()
			close(joined)
		}()
		defer w.activate(-1)
		defer w.endRun()
		defer stop()
		defer w.r.engine().recover(new(error))
		w.giveBack()
		w.leave()
	})
}

// leave makes sure that no message waits for w, whose loop ends.
func (w *Worker) leave() {
	ix := &w.r.engine().ix
	ix.mu.Lock()
	defer ix.mu.Unlock()
	w.idle.Store(false)
	ix.inbox(w.id).wakeOne()
}

// turns does rounds until the worker ends, and then calls end. If a handler ends the goroutine,
// another one continues.
func (w *Worker) turns(ctx context.Context, end func()) {
	returned := false
	defer func() {
		if returned {
			end()
		} else {
			go w.turns(ctx, end)
		}
	}()
	for ctx.Err() == nil && w.turn(ctx) {
	}
	returned = true
}

// turn does one round, and sleeps if there is nothing to do. It reports whether the worker
// continues.
func (w *Worker) turn(ctx context.Context) (goesOn bool) {
	goesOn = true // also after a panic: the next round gets ErrFailed
	defer w.r.engine().recover(new(error))
	n, more, err := w.round(ctx)
	switch {
	case ctx.Err() != nil:
	case errors.Is(err, ErrFailed), errors.Is(err, ErrStopped):
		// The runner may be reopened; closing it stops the worker.
		w.trouble(err, n)
		w.r.o.Sleep(ctx, w.wake, w.o.MaxIdle)
	case err != nil:
		w.fail(err, n)
		w.stopOthers()
		return false
	case !more:
		w.r.o.Sleep(ctx, w.wake, w.IdleSleep())
	}
	return true
}

// trouble counts an error that does not end a started worker, and logs it once per engine.
func (w *Worker) trouble(err error, processed int) {
	w.tick.Lock()
	w.tally.LoopErrors++
	w.publish()
	w.tick.Unlock()
	if e := w.r.engine(); e != w.told && w.lead == nil {
		w.told = e
		w.log(LogEvent{Kind: LogWorkerError, Err: err, Detail: uint64(processed)})
	}
}

func (w *Worker) fail(err error, processed int) {
	w.lastErr.Store(&err)
	w.log(LogEvent{Kind: LogWorkerError, Err: err, Detail: uint64(processed)})
}

// IdleSleep returns how long an idle worker sleeps: until the next timer, delayed retry,
// expired lease or end of its own pause, at most MaxIdle.
func (w *Worker) IdleSleep() time.Duration {
	e := w.r.engine()
	now := e.now()
	next, quiet := int64(maxTime), w.rests()
	e.ix.mu.Lock()
	if due, ok := e.ix.timers.next(); ok {
		next = e.untilDue(due, now)
	}
	if t := e.ix.nextClaim(e.ix.inbox(w.id), now, w.o.Ordered); t < next && t < maxTime && !quiet {
		next = max(t, -maxTime) + 1 // a lease is valid up to its deadline
	}
	e.ix.mu.Unlock()
	if w.holding.Load() && !quiet {
		next = w.resumeAt.Load()
	}
	return sleepUntil(now, next, w.o.MaxIdle)
}

// rests reports whether the worker must not claim now.
func (w *Worker) rests() bool { return w.held() || w.r.isQuiet() }

// rest waits until the worker is between two rounds, and releases the batch that it has claimed
// ahead.
func (w *Worker) rest(ctx context.Context) error {
	done := make(chan struct{})
	var failed error
	go func() {
		defer close(done)
		defer w.r.engine().recover(&failed)
		w.giveBack()
	}()
	select {
	case <-done:
		return failed
	case <-ctx.Done():
		return ctx.Err()
	}
}
