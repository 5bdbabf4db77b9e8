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

// WorkerOptions configure a worker. Exactly one of Handler and Batch must be set.
type WorkerOptions struct {
	Handler Handler
	Batch   BatchHandler
	// Concurrency is how many messages a started worker runs at once; default 1. Tick runs one
	// at a time.
	Concurrency int
	// MaxBatch and MaxBytes bound one claim; defaults 256 rows and 1 MiB of frames. A single
	// larger frame is claimed too.
	MaxBatch int
	MaxBytes int
	// Ordered makes the worker consume strictly by sequence number, without priorities, and
	// nothing goes back to the tail. Retry makes it wait with the batch claimed. An ordered
	// inbox has at most one worker.
	//
	// With Concurrency handlers run concurrently, and their effects are committed in order. A
	// handler that has read through its Tx what an earlier message changes runs again, as do
	// those after a message that fails.
	Ordered bool
	// Middleware wraps Handler, the first outermost.
	Middleware []Middleware
	// Policy replaces Options.Policy, Sinks replaces Options.Sinks.
	Policy *Policy
	Sinks  *Sinks
	// Grace is how long the running handler may continue when a started worker is stopped; then
	// its context ends. Default 10 s; negative means no time. Unfinished messages are delivered
	// again and spend no budget.
	Grace time.Duration
	// Timeout bounds one run of the handler; 0 means no bound. At the bound the handler's
	// context ends, a failure counts like any other, and LogOverdue is logged from another
	// goroutine. A handler that continues cannot be stopped: its leases are renewed, so that no
	// other worker runs its messages, until it returns or the process ends.
	Timeout time.Duration
	// MaxIdle bounds the sleep of an idle worker; default 1 s. New messages and Stop wake it at
	// once.
	MaxIdle time.Duration
}

// Worker consumes one inbox. Either call Tick, from one goroutine at a time, or Start it.
type Worker struct {
	r      *Runner
	id     uint64
	number uint32 // claimant number
	o      WorkerOptions
	lead   *Worker   // the first lane, if this worker is a further one, else nil
	lanes  []*Worker // the further lanes
	// active counts the running callers: its loop, a tick. It changes with the index locked.
	// batches are cur and nxt.
	active  atomic.Int32
	batches [2]*batch

	// lost says that another claimant has taken a row of the worker; rows runLo to runHi are
	// running.
	lost         atomic.Bool
	runLo, runHi atomic.Uint64
	run          struct {
		mu          sync.Mutex
		parent, ctx context.Context // contexts of handlers; written by the goroutine that ticks
		over        bool            // the grace period has ended
		cancel      context.CancelCauseFunc
	}

	paused  atomic.Bool // PauseQueue is in effect
	forced  atomic.Bool // RunPaused is set
	tracked atomic.Bool // its messages have a history
	told    *engine     // engine whose failure was logged
	wake    chan struct{}
	// idle says that the worker sleeps, or looks for work and has found none yet.
	idle     atomic.Bool
	running  atomic.Int32 // messages that its handlers are running
	lanePace atomic.Int64 // pace of the lane that has published last, 0 before
	slow     bool         // its handler has taken so long that its claims were given back; the index lock guards it
	watched  atomic.Bool  // a look is planned, see watch
	steps    atomic.Uint64
	lastErr  atomic.Pointer[error]

	mu      sync.Mutex
	metrics Metrics
	cancel  context.CancelFunc // set while started
	joined  chan struct{}
	stopped atomic.Bool

	tick sync.Mutex // held by Tick; guards runState
	runState
}

// runState is the state of the goroutine that ticks.
type runState struct {
	current  *engine
	cur, nxt *batch
	settle   settleOp
	tally    Metrics
	src      txSource
	before   map[string][]byte
	resumeAt atomic.Int64                     // an ordered worker waits until then (ms)
	holding  atomic.Bool                      // cur holds deliveries that wait for resumeAt
	pace     time.Duration                    // moving average of a message's duration
	paced    bool                             // pace is valid
	ids      map[[dedupeHashLen]byte]struct{} // see repeats
	seqs     []uint64
	bands    []band
	key, buf []byte
	frame    []byte // copy for Sinks.Replay
	// exitedAt is one more than the place of a delivery whose handler has exited, 0 if none has;
	// rerunTo is the end of the deliveries of which some run again, 0 outside of rerun.
	exitedAt, rerunTo int
}

// NewWorker adds a worker to the runner. It returns ErrBusy if the inbox has a worker and one
// of the two is ordered.
func (r *Runner) NewWorker(id uint64, o WorkerOptions) (*Worker, error) {
	if (o.Handler == nil) == (o.Batch == nil) {
		return nil, fmt.Errorf("a worker needs one handler: %w", ErrInvalid)
	}
	if o.Ordered && o.Batch != nil && o.Concurrency > 1 {
		return nil, fmt.Errorf("an ordered worker runs one batch at a time: %w", ErrInvalid)
	}
	set(&o.Concurrency, 1)
	set(&o.MaxBatch, 256)
	set(&o.MaxBytes, 1<<20)
	set(&o.MaxIdle, time.Second)
	if o.Grace == 0 {
		o.Grace = 10 * time.Second
	}
	p := r.o.Policy
	if o.Policy != nil {
		p = o.Policy.withDefaults()
	}
	o.Policy = &p
	o.Handler = wrap(o.Handler, r.o.Middleware, o.Middleware)
	w, err := r.addWorker(id, o)
	if err != nil {
		return nil, err
	}
	if sink := w.sink().Metrics; sink != nil {
		sink(id, Metrics{})
	}
	return w, nil
}

func (r *Runner) addWorker(id uint64, o WorkerOptions) (*Worker, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, other := range r.workers {
		if other.id == id && (o.Ordered || other.o.Ordered) {
			return nil, fmt.Errorf("inbox %d is ordered and has its worker: %w", id, ErrBusy)
		}
	}
	w := r.newWorker(id, o)
	r.admit(w)
	if !o.Ordered {
		r.addLanes(w)
	}
	r.startKeeper()
	r.pokeKeeper()
	return w, nil
}

func (r *Runner) newWorker(id uint64, o WorkerOptions) *Worker {
	w := &Worker{r: r, id: id, o: o, wake: make(chan struct{}, 1)}
	w.cur, w.nxt = &batch{}, &batch{}
	w.batches = [2]*batch{w.cur, w.nxt}
	for _, b := range w.batches {
		b.kept.renewAt = maxTime
	}
	return w
}

// admit adds a worker to the runner; r.mu is held.
func (r *Runner) admit(w *Worker) {
	w.number = firstWorker + r.made
	r.made++
	r.workers = append(r.workers, w)
	w.join(r.engine())
}

// join registers w with the inbox and the engine.
func (w *Worker) join(e *engine) {
	e.ix.mu.Lock()
	defer e.ix.mu.Unlock()
	in := e.ix.inbox(w.id)
	in.workers = append(in.workers, w)
	w.paused.Store(in.paused)
	w.tracked.Store(in.tracked())
	e.ix.owners[w.owner(e)] = w
}

// Remove stops the worker and removes it from the runner. Other workers of the inbox can claim
// what it had claimed.
func (w *Worker) Remove() error {
	w.Stop()
	err := w.Join()
	if errors.Is(err, ErrStopped) {
		err = nil
	}
	w.giveBack()
	err = errors.Join(err, w.eachLane((*Worker).Remove))
	r := w.r
	r.mu.Lock()
	defer r.mu.Unlock()
	if slices.Contains(r.workers, w) {
		if r.past == nil {
			r.past = map[uint64]Metrics{}
		}
		sum, own := r.past[w.id], w.Metrics()
		sum.add(&own)
		r.past[w.id] = sum
	}
	r.workers = slices.DeleteFunc(r.workers, func(x *Worker) bool { return x == w })
	e := r.engine()
	e.ix.mu.Lock()
	defer e.ix.mu.Unlock()
	in := e.ix.inbox(w.id)
	in.workers = slices.DeleteFunc(in.workers, func(x *Worker) bool { return x == w })
	delete(e.ix.owners, w.owner(e))
	return err
}

// sink returns the worker's sinks.
func (w *Worker) sink() *Sinks {
	if w.o.Sinks != nil {
		return w.o.Sinks
	}
	return &w.r.o.Sinks
}

// ID returns the number of the worker's inbox.
func (w *Worker) ID() uint64 { return w.id }

func (w *Worker) policy() Policy { return *w.o.Policy }

// Steps returns the number of messages that have succeeded since the worker was made.
func (w *Worker) Steps() uint64 { return w.steps.Load() }

// LastError returns the error that ended the last run, or nil.
func (w *Worker) LastError() error {
	for _, x := range append([]*Worker{w}, w.lanes...) {
		if p := x.lastErr.Load(); p != nil {
			return *p
		}
	}
	return nil
}

// Metrics returns a copy of the counters.
func (w *Worker) Metrics() Metrics {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.metrics
}

// publish adds the counters of a tick to the worker's.
func (w *Worker) publish() {
	if w.tally == (Metrics{}) {
		return
	}
	h := w.head()
	if w.paced {
		h.lanePace.Store(int64(max(w.pace, 1)))
	}
	h.mu.Lock()
	h.metrics.add(&w.tally)
	m := h.metrics
	h.mu.Unlock()
	w.tally = Metrics{}
	if sink := w.sink().Metrics; sink != nil {
		sink(w.id, m)
	}
}

// logOf logs an event of d, whose frame may not be decoded yet.
func (w *Worker) logOf(d *Delivery, ev LogEvent) {
	if w.sink().Log != nil {
		id := d.ID
		if _, err := checkMessage(d.Frame); id == nil && err == nil {
			id = frameID(d.Frame)
		}
		ev.ID, ev.Attempt = string(id), d.Attempts
		w.log(ev)
	}
}

func (w *Worker) log(ev LogEvent) {
	if sink := w.sink().Log; sink != nil {
		ev.Worker = w.id
		sink(ev)
	}
}
