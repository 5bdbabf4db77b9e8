package runner

import (
	"maps"
	"math/bits"
	"time"
)

// LatencyBuckets is the number of buckets of a Latency.
const LatencyBuckets = 32

// Metrics are the reliability counters of a worker.
//
// Always: the buckets of Latency sum to Attempts, and Conflicts + Busy = Retryable.
type Metrics struct {
	Attempts     uint64 // handler runs
	Successes    uint64 // handler runs that ended well and were committed
	Retryable    uint64 // Conflicts + Busy
	Conflicts    uint64 // commits and handlers that met ErrConflict
	Busy         uint64 // outcomes that are Retry
	Interrupted  uint64 // runs that failed after their context had ended, or without room
	NonRetryable uint64 // all other failures, panics included
	Panics       uint64 // of these, panics
	Requeues     uint64 // messages sent back to the tail
	DeadLetters  uint64 // messages moved to the dead letters
	Duplicates   uint64 // messages dropped because their id was done before
	Expired      uint64 // claims taken over from a lease that ran out
	LeasesLost   uint64 // outcomes dropped because the lease was taken over
	LoopErrors   uint64 // rounds of a started worker that a failed or stopped runner ended
	TimersFired  uint64 // of Attempts, those of timers

	Latency Latency // of handler runs
	// Waiting is the time that messages wait from their commit until they are first
	// run, to a millisecond or a hundredth.
	Waiting Latency
}

// Latency is a histogram of durations.
type Latency struct {
	Total, Max time.Duration
	// Buckets counts runs by duration: bucket i holds those below 2^i
	// microseconds that are not in a lower one, the last bucket the rest.
	Buckets [LatencyBuckets]uint64
}

func (m *Metrics) observe(d time.Duration) {
	m.Attempts++
	m.Latency.observe(d)
}

func (l *Latency) observe(d time.Duration) {
	d = max(d, 0)
	l.Total += d
	l.Max = max(l.Max, d)
	l.Buckets[min(bits.Len64(uint64(d.Microseconds())), LatencyBuckets-1)]++
}

// Bound is the upper bound of bucket i, that of the last included in it.
func (l *Latency) Bound(i int) time.Duration { return time.Microsecond << i }

// Count is the number of durations in it.
func (l *Latency) Count() (n uint64) {
	for _, k := range l.Buckets {
		n += k
	}
	return n
}

func (l *Latency) add(t *Latency) {
	l.Total += t.Total
	l.Max = max(l.Max, t.Max)
	for i, n := range t.Buckets {
		l.Buckets[i] += n
	}
}

func (m *Metrics) failed(o outcome) {
	switch {
	case o.verdict == verdictFree:
		m.Interrupted++
	case o.conflict:
		m.Retryable++
		m.Conflicts++
	case o.retryable:
		m.Retryable++
		m.Busy++
	default:
		m.NonRetryable++
		if o.cause == CausePanic {
			m.Panics++
		}
	}
}

// add adds what happened in one tick.
func (m *Metrics) add(t *Metrics) {
	for _, p := range [...][2]*uint64{
		{&m.Attempts, &t.Attempts}, {&m.Successes, &t.Successes}, {&m.Retryable, &t.Retryable},
		{&m.Conflicts, &t.Conflicts}, {&m.Busy, &t.Busy}, {&m.NonRetryable, &t.NonRetryable},
		{&m.Panics, &t.Panics}, {&m.Requeues, &t.Requeues}, {&m.DeadLetters, &t.DeadLetters},
		{&m.Duplicates, &t.Duplicates}, {&m.Expired, &t.Expired}, {&m.LeasesLost, &t.LeasesLost},
		{&m.TimersFired, &t.TimersFired}, {&m.Interrupted, &t.Interrupted},
		{&m.LoopErrors, &t.LoopErrors},
	} {
		*p[0] += *p[1]
	}
	m.Latency.add(&t.Latency)
	m.Waiting.add(&t.Waiting)
}

// Metrics returns the counters of every queue that had a worker since the runner was
// opened, by its number: those of all its workers together.
func (r *Runner) Metrics() map[uint64]Metrics {
	r.mu.Lock()
	defer r.mu.Unlock()
	all := maps.Clone(r.past)
	if all == nil {
		all = map[uint64]Metrics{}
	}
	for _, w := range r.workers {
		sum, own := all[w.id], w.Metrics()
		sum.add(&own)
		all[w.id] = sum
	}
	return all
}

// Stats is a picture of the whole runner.
type Stats struct {
	State   State
	Journal JournalID
	// Epoch counts the starts of this storage, this one included.
	Epoch  uint32
	Schema Version
	// Inboxes are sorted by worker.
	Inboxes []InboxStats
	// Outbox, Timers and DeadLetters are row counts.
	Outbox, Timers, DeadLetters uint64
	// NextDue is when the earliest timer is due; zero without timers.
	NextDue time.Time
	// TimerLag is how long the earliest timer has been due.
	TimerLag time.Duration
	// OutboxLag is the time since the oldest row of the outbox was committed;
	// for rows of an earlier process, since this one started.
	OutboxLag time.Duration
	// Commits counts group commits, Ops the operations in them.
	Commits, Ops uint64
	// LastGroup is the number of operations in the last group.
	LastGroup int
	// Memory is what the storage holds in memory, 0 if it does not tell.
	Memory uint64
}

// InboxStats is a picture of one inbox.
type InboxStats struct {
	Worker uint64
	// Name is empty for an inbox that has only its number.
	Name string
	// Paused says that PauseQueue holds its workers.
	Paused bool
	// Draining says that DrainQueue lets it take nothing new.
	Draining bool
	// Depth counts rows, leased and parked ones included.
	Depth uint64
	// Leased counts rows that somebody holds, Parked those that wait for a
	// delayed retry.
	Leased, Parked int
	// NextSeq is the sequence number that the next message gets.
	NextSeq uint64
	// HeadSeq is the lowest that may still exist.
	HeadSeq uint64
	// OldestAge is the time since the oldest unfinished row was committed; for
	// rows of an earlier process, since this one started.
	OldestAge time.Duration
}
