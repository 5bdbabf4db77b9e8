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
// The buckets of Latency add up to Attempts, and Conflicts + Busy = Retryable.
type Metrics struct {
	Attempts     uint64 // handler runs
	Successes    uint64 // handler runs that succeeded and were committed
	Retryable    uint64 // Conflicts + Busy
	Conflicts    uint64 // commits and handlers that met ErrConflict
	Busy         uint64 // Retry outcomes
	Interrupted  uint64 // runs that failed after the end of their context, or for lack of space
	NonRetryable uint64 // all other failures, panics included
	Panics       uint64 // those of NonRetryable that are panics
	Requeues     uint64 // messages moved back to the tail
	DeadLetters  uint64 // messages moved to the dead letters
	Duplicates   uint64 // messages dropped because their id was completed before
	Expired      uint64 // claims of rows with an expired lease
	LeasesLost   uint64 // outcomes dropped because another claimant has the lease
	LoopErrors   uint64 // rounds of a started worker that failed because the runner was failed or stopped
	TimersFired  uint64 // those of Attempts that are timers

	Latency Latency // duration of handler runs
	// Waiting is the time from the commit of a message to its first run, to a millisecond or
	// one per cent.
	Waiting Latency
}

// Latency is a histogram of durations.
type Latency struct {
	Total, Max time.Duration
	// Buckets counts durations: bucket i has those below 2^i microseconds that are not in a
	// lower bucket, the last bucket all others.
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

// Bound returns the upper bound of bucket i.
func (l *Latency) Bound(i int) time.Duration { return time.Microsecond << i }

// Count returns the number of durations.
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

// add adds the counters of one tick.
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

// Metrics returns the counters of every queue that has had a worker since the runner was
// opened, by number, summed over its workers.
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

// Stats describes the whole runner.
type Stats struct {
	State   State
	Journal JournalID
	// Epoch is the number of starts of this storage, including this one.
	Epoch  uint32
	Schema Version
	// Inboxes are sorted by worker.
	Inboxes []InboxStats
	// Outbox, Timers and DeadLetters are row counts.
	Outbox, Timers, DeadLetters uint64
	// NextDue is when the earliest timer is due; zero if there is none.
	NextDue time.Time
	// TimerLag is how long the earliest timer has been due.
	TimerLag time.Duration
	// OutboxLag is the time since the oldest row of the outbox was committed;
	// for rows of an earlier process, since this one started.
	OutboxLag time.Duration
	// Commits is the number of group commits, Ops that of the operations in them.
	Commits, Ops uint64
	// LastGroup is the number of operations in the last group.
	LastGroup int
	// Lost is how many acknowledged writes were missing when the storage was opened, 0 if that is
	// unknown.
	Lost uint64
	// Memory is the memory that the storage uses in bytes, 0 if unknown.
	Memory uint64
}

// InboxStats describes one inbox.
type InboxStats struct {
	Worker uint64
	// Name is empty for an inbox without a name.
	Name string
	// Paused says that PauseQueue is in effect.
	Paused bool
	// Draining says that DrainQueue is in effect.
	Draining bool
	// Depth is the number of messages, including leased and parked ones.
	Depth uint64
	// Running is the number of messages that handlers are running.
	Running int
	// Leased is the number of held messages, most of which wait for their turn, Parked that of messages that wait for a delayed
	// retry.
	Leased, Parked int
	// NextSeq is the next sequence number.
	NextSeq uint64
	// HeadSeq is the lowest sequence number that may still exist.
	HeadSeq uint64
	// OldestAge is the time since the oldest unfinished row was committed; for
	// rows of an earlier process, since this one started.
	OldestAge time.Duration
}
