package runner

import (
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
)

// engine is one open backend with its index and committer. A Runner replaces
// it as a whole when it is reopened or restored.
type engine struct {
	o       *Options
	back    Backend
	journal JournalID
	boot    boot
	schema  Version
	started int64 // ms
	ix      index
	k       *committer

	failed   atomic.Bool
	failMu   sync.Mutex
	failErr  error
	failedCh chan struct{}

	space spaceGauge
	tend  tender
	name  string // of the storage, for messages

	life   sync.RWMutex // held for reading by whoever uses back
	closed bool
}

func (e *engine) now() int64 { return e.o.Now().UnixMilli() }

// enter must be paired with exit around every use of the backend outside the
// committer.
func (e *engine) enter() error {
	e.life.RLock()
	if e.closed {
		e.life.RUnlock()
		return ErrStopped
	}
	return nil
}

func (e *engine) exit() { e.life.RUnlock() }

// fail marks the engine failed, once, and answers all requests that wait.
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
	if first && k != nil {
		go func() { _ = guard(func() error { k.abandon(e.failure()); return nil }) }()
	}
}

// recover is deferred: a panic of the engine's own code fails the engine, because
// what is in memory may be half changed, and becomes the error of its function.
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

// close stops the committer after what it has taken, and the backend. It returns
// a failure that comes meanwhile.
func (e *engine) close(why error) error {
	was := e.failed.Load()
	e.tend.stop()
	e.k.stop(why)
	e.life.Lock()
	defer e.life.Unlock()
	if e.closed {
		return nil
	}
	e.closed = true
	err := e.back.Close()
	if !was {
		err = errors.Join(e.failure(), err)
	}
	return err
}
