package runner

import (
	"context"
	"math/rand/v2"
	"time"
)

// Options configure a runner. The zero value is usable.
type Options struct {
	// Schema is the application's version. A stored marker with another major is refused; one
	// with a lower minor is refused unless Migrate is set; one with a higher minor is refused
	// unless the program that wrote it set Needs to at most this version.
	Schema Version
	// Needs is the oldest version whose programs can use the state that this one writes, so
	// that programs of two releases can take over from each other; zero means Schema. After an
	// older program has run, the marker is still that of the newer one, and Migrate is not
	// called again.
	Needs Version
	// Create writes the marker into a storage without one. Without Create such a storage is
	// refused with ErrNoSchema.
	Create bool
	// Migrate changes the application's state from an older minor version to Schema. Its writes
	// and the new marker become durable together.
	Migrate func(tx *Tx, from Version) error

	// MaxFrame bounds the bytes of a message frame; default 1 MiB.
	MaxFrame int
	// MaxQueued bounds the bytes that wait for the committer; default 64 MiB.
	MaxQueued int
	// MinFree is the least free space in bytes: below it nothing new is accepted. Space that
	// the storage needs for its present content does not count as free. Default 64 MiB;
	// negative disables it.
	MinFree int64

	// EndLeases says that no holder of a lease in a restored checkpoint is running: the leases
	// are over. Otherwise they are valid until their deadline.
	EndLeases bool

	// AcceptLoss opens a storage in which acknowledged writes are missing, which is otherwise
	// refused with ErrDamaged: a log was cut, or the disk has lost what it had synced. How many
	// are missing is logged, and in Stats.Lost. What is opened is a moment of the past: the
	// effects of what was done since are missing, and it may be done again.
	AcceptLoss bool

	// Codec encodes the payloads of Queue and Handle; default JSON.
	Codec Codec
	// KeepHistory is how many finished messages of each named queue are kept; default 1,000,
	// negative means none.
	KeepHistory int
	// KeepDead is how long dead letters are kept; 0 means until somebody drops them. Idle workers
	// drop those that are older, once an hour.
	KeepDead time.Duration

	// Policy is the default policy of workers.
	Policy Policy
	// Middleware wraps the handlers of all workers, the first outermost, outside of
	// WorkerOptions.Middleware.
	Middleware []Middleware
	// Sinks are called synchronously by the goroutine of a worker; they must not block nor call
	// the runner.
	Sinks Sinks

	// Now and Sleep replace the clock in tests. The default clock never goes back: it follows a
	// wall clock that is set forward within a second; one that is set back affects only timers.
	// Sleep waits until d has passed, wake receives or ctx is done.
	Now   func() time.Time
	Sleep func(ctx context.Context, wake <-chan struct{}, d time.Duration)

	// Wall is the wall clock for timers, which the default clock follows; the default is that
	// of the machine.
	Wall func() time.Time

	ownPolicy Policy // Policy without defaults
	// elapsed is the same clock for durations, at half the cost, steady without steps.
	elapsed func() time.Duration
	steady  func() time.Time
	// ownClock says that Now was set.
	ownClock bool
	// onFail is called in a goroutine when an engine has failed.
	onFail func(*engine)
}

// Sinks receive events. Each may be nil.
type Sinks struct {
	// Log receives failures and their consequences.
	Log func(LogEvent)
	// Metrics receives a copy of a worker's counters after every tick that has changed them,
	// and when the worker is added.
	Metrics func(worker uint64, m Metrics)
	// Replay receives every attempt, its result and its consequence.
	Replay func(ReplayEvent)
}

// Policy configures leases and retries. Zero or less means the default.
type Policy struct {
	// LeaseTTL is how long a claim is valid; default 1 s.
	LeaseTTL time.Duration
	// RetryBudget is how often a message is delivered before it becomes a dead letter; default
	// 4, for Handle 25.
	RetryBudget int
	// RequeueAttempts is how often a batch that meets conflicts with other transactions is
	// settled before the messages with conflicts have failed; default 4.
	RequeueAttempts int
	// RetryDelay is the longest wait before a failed message is delivered again, unless its
	// handler sets one; it doubles with every failure up to RetryDelayMax. The wait is drawn
	// from the upper half by the message's row, so that it is deterministic. Defaults 1 s and 1
	// min, for Handle 30 min; a negative RetryDelay means no wait.
	RetryDelay    time.Duration
	RetryDelayMax time.Duration
	// Backoff, if set, returns that wait instead. The worker calls it with the failed delivery,
	// which it must not keep. If it panics the wait above is used.
	Backoff func(d *Delivery, err error) time.Duration
	// DedupeFor is how long a completed message id is remembered; default 24 h.
	DedupeFor time.Duration
	// StopOnError stops the worker when a handler fails with an error that is not Retry,
	// Discard or a conflict. Tick then returns the error.
	StopOnError bool
}

func (p Policy) withDefaults() Policy {
	set(&p.LeaseTTL, time.Second)
	set(&p.RetryBudget, 4)
	set(&p.RequeueAttempts, 4)
	set(&p.RetryDelayMax, time.Minute)
	set(&p.DedupeFor, 24*time.Hour)
	if p.RetryDelay == 0 {
		p.RetryDelay = time.Second
	}
	return p
}

// set sets *v to its default if it is zero or less.
func set[T int | int64 | time.Duration](v *T, def T) {
	if *v <= 0 {
		*v = def
	}
}

// delay returns the wait after the n-th failure, n from 1, of the message at row.
func (p Policy) delay(n uint32, row Row) time.Duration {
	d := max(p.RetryDelay, 0)
	for i := n; i > 1 && d > 0 && d < p.RetryDelayMax; i-- {
		d *= 2
	}
	if d = min(d, p.RetryDelayMax); d < 2 {
		return d
	}
	rng := rand.NewPCG(row.Worker^uint64(n)<<32, row.Seq)
	return d/2 + time.Duration(rng.Uint64()%uint64(d-d/2+1))
}

// backoff returns the wait before d, which failed with err, is delivered again.
func (p *Policy) backoff(d *Delivery, err error) time.Duration {
	if p.Backoff != nil {
		var wait time.Duration
		if guard(func() error { wait = p.Backoff(d, err); return nil }) == nil {
			return wait
		}
	}
	return p.delay(d.Attempts, d.Row)
}

func (o Options) withDefaults() Options {
	set(&o.MaxFrame, 1<<20)
	set(&o.MaxQueued, 64<<20)
	if o.MinFree == 0 {
		o.MinFree = 64 << 20
	}
	if o.KeepHistory == 0 {
		o.KeepHistory = 1000
	}
	o.KeepHistory = max(o.KeepHistory, 0)
	if o.Codec == nil {
		o.Codec = JSON
	}
	o.ownPolicy = o.Policy
	o.Policy = o.Policy.withDefaults()
	if o.Now == nil {
		c := newClock(o.Wall)
		o.Now, o.elapsed, o.steady, o.Wall = c.now, c.elapsed, c.steady, c.wall
	} else if o.elapsed == nil {
		o.ownClock = true
		now, start := o.Now, o.Now()
		o.steady = now
		o.elapsed = func() time.Duration { return now().Sub(start) }
	}
	if o.Wall == nil {
		o.Wall = o.Now
	}
	if o.Sleep == nil {
		o.Sleep = sleep
	}
	return o
}

func sleep(ctx context.Context, wake <-chan struct{}, d time.Duration) {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
	case <-wake:
	case <-ctx.Done():
	}
}
