package runner

import (
	"context"
	"math/rand/v2"
	"time"
)

// Options of Open. The zero value serves.
type Options struct {
	// Schema is the application's version. A stored marker of another major
	// is refused; one of a lower minor is refused too unless Migrate is set; one of a
	// higher minor unless the program that wrote it said, with Needs, that this one can
	// go on.
	Schema Version
	// Needs is the oldest version whose programs can go on with what this one keeps, so
	// that both can take over from each other while one release follows the other; zero:
	// Schema. After an older program the marker is still that of the newer one, and
	// Migrate is not called again.
	Needs Version
	// Create writes the marker into a storage that has none. Without it such a
	// storage is refused with ErrNoSchema.
	Create bool
	// Migrate changes the application's state from an older minor to Schema.
	// What it writes and the new marker become durable together.
	Migrate func(tx *Tx, from Version) error

	// MaxFrame bounds a message frame in bytes; default 1 MiB.
	MaxFrame int
	// MaxQueued bounds the bytes that wait for the committer; default 64 MiB.
	MaxQueued int
	// MinFree is the free-space watermark in bytes: below it nothing new is
	// accepted. What the storage needs for what it holds is not counted as free.
	// Default 64 MiB; negative turns it off.
	MinFree int64

	// EndLeases says of a checkpoint that is restored that nobody runs who holds a
	// lease in it: the leases are over. Otherwise they hold until their deadline.
	EndLeases bool

	// Codec makes the payloads of Queue and Handle; default JSON.
	Codec Codec
	// KeepHistory is how many finished messages of each named queue are remembered;
	// default 1,000, negative means none.
	KeepHistory int

	// Policy is the default of every worker.
	Policy Policy
	// Middleware wraps the handler of every worker that has one, the first
	// outermost, outside of WorkerOptions.Middleware.
	Middleware []Middleware
	// Sinks are called synchronously, from the goroutine of the worker that
	// caused them; they must not block nor call back into the runner.
	Sinks Sinks

	// Now and Sleep replace the clock in tests. The default clock never goes
	// back: a wall clock that is set forward is followed within a second, one
	// that is set back moves only timers.
	Now   func() time.Time
	Sleep SleepFunc

	// Wall is the wall clock that timers go by, and that the default clock follows;
	// default is that of the machine.
	Wall func() time.Time

	// elapsed is the same clock for durations, which costs half as much.
	elapsed func() time.Duration
	// ownClock says that Now was replaced.
	ownClock bool
}

// SleepFunc waits until d has passed, wake delivers or ctx is done.
type SleepFunc func(ctx context.Context, wake <-chan struct{}, d time.Duration)

// Sinks receive what happens. Any may be nil.
type Sinks struct {
	// Log receives failures and what became of the messages.
	Log func(LogEvent)
	// Metrics receives a copy of a worker's counters after every tick that
	// changed them, once when the worker joins and once at a reset.
	Metrics func(worker uint64, m Metrics)
	// Replay receives every attempt, its result and what became of it.
	Replay func(ReplayEvent)
}

// Policy tunes leases and retries. A value of zero or less means the default.
type Policy struct {
	// LeaseTTL is how long a claim holds; default 1 s.
	LeaseTTL time.Duration
	// RetryBudget is the number of deliveries a message gets before it
	// becomes a dead letter; default 4.
	RetryBudget int
	// RequeueAttempts bounds the attempts at settling a batch that meets
	// conflicts with other transactions before the messages that meet them
	// have failed; default 4.
	RequeueAttempts int
	// RetryDelay is the longest wait before a failed message is delivered again
	// when its handler names none; it doubles with every failure up to
	// RetryDelayMax. The wait is drawn from the upper half, by the number of the
	// message's row: the same again when the same happens again. Defaults 1 second
	// and 1 minute; a negative RetryDelay means at once.
	RetryDelay    time.Duration
	RetryDelayMax time.Duration
	// Backoff, if set, replaces that wait. It is called by the worker with the
	// delivery that failed, and must not keep it. If it panics it counts as not set.
	Backoff func(d *Delivery, err error) time.Duration
	// DedupeFor is how long a completed message id is remembered; default 24 h.
	DedupeFor time.Duration
	// StopOnError stops the worker when a handler fails with an error that is
	// neither Retry, Discard nor a conflict. Tick then returns the error.
	StopOnError bool
}

// DefaultPolicy returns the policy that the zero value stands for, as the original's
// policy_default.
func DefaultPolicy() Policy { return Policy{}.withDefaults() }

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

// set gives *v its default when it is zero or less.
func set[T int | int64 | time.Duration](v *T, def T) {
	if *v <= 0 {
		*v = def
	}
}

// delay is the wait after the n-th failure, n from 1, of the message at row.
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

// backoff is the wait before d, which failed with err, is delivered again.
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
	o.Policy = o.Policy.withDefaults()
	if o.Now == nil {
		c := newClock(o.Wall)
		o.Now, o.elapsed, o.Wall = c.now, c.elapsed, c.wall
	} else if o.elapsed == nil {
		o.ownClock = true
		now, start := o.Now, o.Now()
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
