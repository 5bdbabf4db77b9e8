package runner

import (
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
)

// engine is one open backend with its index and committer. A Runner replaces the whole engine
// when it is reopened or restored.
type engine struct {
	o       *Options
	back    Backend
	journal JournalID
	boot    boot
	schema  Version
	started int64  // ms
	ids     string // the beginning of the ids that it makes up
	// lastWall is the wall clock at the last look at the timers, in ms.
	lastWall atomic.Int64
	dropDead atomic.Int64 // when to look for old dead letters, in ms
	ix       index
	k        *committer

	failed   atomic.Bool
	failMu   sync.Mutex
	failErr  error
	failedCh chan struct{}
	replaced chan struct{} // closed when the runner has another engine

	space spaceGauge
	tend  tender
	name  string // name of the storage, for messages

	life life
}

// life counts the users of the backend, so that it is closed after the last one. Entering never
// blocks, so a user may enter again, as handlers do.
type life struct {
	mu      sync.Mutex
	users   int
	closing bool
	last    chan struct{} // closed when closing is set and there are no users
}

func (e *engine) now() int64 { return e.o.Now().UnixMilli() }

// enter must precede every use of the backend outside the committer, and exit must follow it.
func (e *engine) enter() error {
	e.life.mu.Lock()
	defer e.life.mu.Unlock()
	if e.life.closing {
		return ErrStopped
	}
	e.life.users++
	return nil
}

func (e *engine) exit() {
	e.life.mu.Lock()
	defer e.life.mu.Unlock()
	if e.life.users--; e.life.users == 0 && e.life.closing {
		close(e.life.last)
	}
}

// leave refuses further users and waits for the current ones. It returns false if it was called
// before.
func (l *life) leave() bool {
	l.mu.Lock()
	if l.closing {
		l.mu.Unlock()
		return false
	}
	l.closing, l.last = true, make(chan struct{})
	if l.users == 0 {
		close(l.last)
	}
	l.mu.Unlock()
	<-l.last
	return true
}

// fail marks the engine as failed, once, ends the contexts of running handlers, and answers all
// waiting requests.
func (e *engine) fail(err error) {
	e.failMu.Lock()
	first := e.failErr == nil
	if first {
		e.failErr = fmt.Errorf("%w: %w", ErrFailed, err)
		if errors.Is(err, ErrFailed) {
			e.failErr = err
		}
		e.failed.Store(true)
		close(e.failedCh)
	}
	k := e.k
	e.failMu.Unlock()
	if first && e.o.onFail != nil {
		go func() { _ = guard(func() error { e.o.onFail(e); return nil }) }()
	}
	if first && k != nil {
		go func() { _ = guard(func() error { k.abandon(e.failure()); return nil }) }()
	}
}

// recover is deferred. A panic of the engine's own code fails the engine, because its memory
// may be inconsistent, and becomes the error of the function.
func (e *engine) recover(err *error) {
	if v := recover(); v != nil {
		e.fail(newEnginePanic(v))
		*err = e.failure()
	}
}

func (e *engine) failure() error {
	e.failMu.Lock()
	defer e.failMu.Unlock()
	return e.failErr
}

// close stops the committer after the queued requests, and closes the backend. It returns a
// failure that occurs meanwhile.
func (e *engine) close(why error) error {
	was := e.failed.Load()
	e.tend.stop()
	if p, ok := e.back.(Patient); ok {
		p.Hurry()
	}
	e.k.stop(why)
	if !e.life.leave() {
		return nil
	}
	err := e.back.Close()
	if !was {
		err = errors.Join(e.failure(), err)
	}
	return err
}
