package runner

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

// State is the state of a runner.
type State uint8

const (
	// Stopped: closed.
	Stopped State = iota
	// Running: all operations work.
	Running
	// ReadOnly: there is too little free space for anything new. It ends by itself when there
	// is space.
	ReadOnly
	// Failed: the storage has failed. Only Reopen helps.
	Failed
)

var states = [...]string{"stopped", "running", "read-only", "failed"}

func (s State) String() string { return states[s] }

// Runner is an open storage with its engine. All methods may be called from any goroutine.
type Runner struct {
	o        Options
	storage  Storage
	readOnly bool
	eng      atomic.Pointer[engine]
	life     sync.Mutex // held by Close, Reopen and Restore
	closed   bool

	mu      sync.Mutex
	workers []*Worker
	past    map[uint64]Metrics // of removed workers
	made    uint32             // number of workers ever made
	quiet   bool               // Quiesce is in effect: workers claim nothing

	draining draining
	declared sync.Map // names of schedules, see tellUndeclared

	// The keeper renews leases, see keepLeases. It is started with the first worker.
	keeper        chan struct{} // wakes it
	closing, kept chan struct{}
}

// Open opens the runner in s. It checks the schema, starts a new boot epoch and the committer,
// and returns a runner that is Running; on an error nothing is left open.
func Open(s Storage, o Options) (*Runner, error) {
	r := newRunner(s, o)
	e, err := openEngine(&r.o, r.storage)
	if err != nil {
		return nil, err
	}
	r.eng.Store(e)
	r.tellLoss(e)
	return r, nil
}

// tellLoss logs how much was missing when e was opened.
func (r *Runner) tellLoss(e *engine) {
	if log := r.o.Sinks.Log; log != nil {
		if n, _ := e.lost(); n > 0 {
			log(LogEvent{Kind: LogLoss, Err: errors.New(lossText(n)), Detail: n})
		}
	}
}

func newRunner(s Storage, o Options) *Runner {
	r := &Runner{o: o.withDefaults(), storage: s, keeper: make(chan struct{}, 1), closing: make(chan struct{})}
	r.o.onFail = r.abort
	return r
}

// abort ends the contexts of all running handlers when e has failed: nothing that they do
// counts any more.
func (r *Runner) abort(e *engine) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.engine() != e {
		return
	}
	for _, w := range r.workers {
		w.cancelRun(e.failure())
	}
}

func (r *Runner) engine() *engine { return r.eng.Load() }

// State returns the current state.
func (r *Runner) State() State {
	e := r.engine()
	switch {
	case e.failed.Load():
		return Failed
	case e.isClosed():
		return Stopped
	case e.noSpace() != nil:
		return ReadOnly
	}
	return Running
}

func (e *engine) isClosed() bool {
	e.life.mu.Lock()
	defer e.life.mu.Unlock()
	return e.life.closing
}

// Err returns the reason of a failure, wrapped in ErrFailed, or nil.
func (r *Runner) Err() error { return r.engine().failure() }

// Failed returns a channel that is closed when the storage fails. After Reopen there is a new
// one.
func (r *Runner) Failed() <-chan struct{} { return r.engine().failedCh }

// JournalID returns the id of the history that sequence numbers belong to.
func (r *Runner) JournalID() JournalID { return r.engine().journal }

// Close stops all workers, each with its grace period, commits what was submitted, and closes
// the storage. It returns the errors of these, joined.
func (r *Runner) Close() error {
	r.life.Lock()
	defer r.life.Unlock()
	if r.closed {
		return nil
	}
	r.closed = true
	err := r.stopWorkers()
	r.stopKeeper()
	return errors.Join(err, r.engine().close(ErrStopped))
}

func (r *Runner) stopWorkers() error {
	var errs []error
	all := r.allWorkers()
	for _, w := range all {
		w.Stop()
	}
	for _, w := range all {
		if err := w.Join(); err != nil && w.lead == nil && !errors.Is(err, ErrStopped) && !errors.Is(err, ErrFailed) {
			errs = append(errs, fmt.Errorf("worker %d: %w", w.id, err))
		}
		w.giveBack() // a worker that runs by Tick may have paused with a batch
	}
	return errors.Join(errs...)
}

func (r *Runner) allWorkers() []*Worker {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.workers)
}

// Reopen opens the storage again, after a failure or not. Workers continue with the new epoch;
// what they had claimed is delivered again. If it fails, the runner stays failed and Reopen can
// be tried again.
func (r *Runner) Reopen() error {
	return r.replace(func() error { return nil })
}

// Restore replaces the content by a checkpoint and continues from there, with a new journal id.
// Leases in the checkpoint are valid until their deadline, unless Options.EndLeases is set.
func (r *Runner) Restore(checkpoint string) error {
	return r.replace(func() error { return r.storage.Restore(checkpoint, r.o.disown) })
}

// replace closes the engine, runs between, and opens a new engine.
func (r *Runner) replace(between func() error) error {
	r.life.Lock()
	defer r.life.Unlock()
	switch {
	case r.closed:
		return ErrStopped
	case r.readOnly:
		return ErrReadOnly
	}
	old := r.engine()
	for _, w := range r.allWorkers() {
		// Its handler's effects do not count any more, and closing the backend waits for the
		// handler.
		w.cancelRun(fmt.Errorf("the runner is opened anew: %w", ErrStopped))
	}
	if err := old.close(ErrStopped); err != nil && !old.failed.Load() {
		return err
	}
	cause := between()
	e, err := openEngine(&r.o, r.storage)
	if err != nil {
		old.fail(err)
		return errors.Join(cause, err)
	}
	r.mu.Lock()
	for _, w := range r.workers {
		w.join(e)
	}
	r.eng.Store(e)
	close(old.replaced)
	r.mu.Unlock()
	r.tellLoss(e)
	r.wakeIdle()
	return cause
}

// Checkpoint makes a consistent copy of everything under an unused name: for a storage on disk,
// a directory. A checkpoint can be restored, or opened as a storage of its own, which keeps the
// journal id.
func (r *Runner) Checkpoint(name string) error {
	e := r.engine()
	if err := e.enter(); err != nil {
		return err
	}
	defer e.exit()
	if e.failed.Load() {
		return e.failure()
	}
	if err := e.back.Checkpoint(name); err != nil {
		return fmt.Errorf("checkpoint to %s: %w", name, err)
	}
	return nil
}

// Flush writes out what the next Open would have to replay, so that the next Open is fast.
func (r *Runner) Flush() error {
	if r.readOnly {
		return ErrReadOnly
	}
	e := r.engine()
	if err := e.enter(); err != nil {
		return err
	}
	defer e.exit()
	return e.back.Flush()
}

// Quiesce makes workers finish the batch they are running, release what they claimed beyond it,
// and claim nothing more until Resume. Posting continues. It returns when all of them rest, or
// with ctx's error.
func (r *Runner) Quiesce(ctx context.Context) error {
	r.mu.Lock()
	r.quiet = true
	r.mu.Unlock()
	for _, w := range r.allWorkers() {
		if err := w.rest(ctx); err != nil {
			return err
		}
	}
	return nil
}

// Resume ends Quiesce.
func (r *Runner) Resume() {
	r.mu.Lock()
	r.quiet = false
	r.mu.Unlock()
	r.wakeIdle()
}

func (r *Runner) isQuiet() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.quiet
}

// wakeIdle makes every sleeping worker check for work.
func (r *Runner) wakeIdle() {
	for _, w := range r.allWorkers() {
		w.poke()
	}
}

// write is do for requests that add something: they are refused without space.
func (r *Runner) write(ctx context.Context, f func(c *commit) error) error {
	return r.engine().write(ctx, f)
}

func (e *engine) write(ctx context.Context, f func(c *commit) error) error {
	return e.do(ctx, func(c *commit) error {
		if c.noSpace != nil {
			return c.noSpace
		}
		return f(c)
	})
}

// view runs f on a snapshot.
func (r *Runner) view(f func(e *engine, v View) error) error {
	e := r.engine()
	if err := e.enter(); err != nil {
		return err
	}
	defer e.exit()
	v := e.back.View()
	return errors.Join(f(e, v), v.Close())
}

// Stats returns the statistics of the whole runner.
func (r *Runner) Stats() Stats {
	e := r.engine()
	s := Stats{
		State: r.State(), Journal: e.journal, Epoch: e.boot.epoch, Schema: e.schema,
		Commits: e.k.commits.Load(), Ops: e.k.ops.Load(), LastGroup: int(e.k.last.Load()),
	}
	if w, ok := e.back.(Weighed); ok && e.enter() == nil {
		s.Memory = w.Memory()
		e.exit()
	}
	s.Lost, _ = e.lost()
	now := e.now()
	e.ix.mu.Lock()
	defer e.ix.mu.Unlock()
	s.Outbox, s.Timers, s.DeadLetters = e.ix.outboxCount, e.ix.timerCount, e.ix.deadCount
	if due, ok := e.ix.timers.next(); ok && e.ix.timerCount > 0 {
		s.NextDue = time.UnixMilli(due)
		s.TimerLag = time.Duration(max(e.wall()-due, 0)) * time.Millisecond
	}
	if s.Outbox > 0 {
		s.OutboxLag = e.ix.outboxMarks.age(max(e.ix.outboxHead, 1), now, e.started)
	}
	for _, in := range e.ix.inboxes {
		stats := in.stats(now, e.started)
		stats.Draining = r.draining.refuses(in.worker)
		s.Inboxes = append(s.Inboxes, stats)
	}
	slices.SortFunc(s.Inboxes, func(a, b InboxStats) int {
		if a.Worker < b.Worker {
			return -1
		}
		return 1
	})
	return s
}

func (in *inbox) stats(now, started int64) InboxStats {
	s := InboxStats{
		Worker: in.worker, Name: in.name, Paused: in.paused, Depth: in.count, Leased: in.held,
		Parked: in.parked, NextSeq: in.next, HeadSeq: in.oldest(),
	}
	for _, w := range in.workers {
		s.Running += int(w.running.Load())
	}
	if in.count > 0 {
		s.OldestAge = in.marks.age(s.HeadSeq, now, started)
	}
	return s
}
