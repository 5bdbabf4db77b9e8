// Package runnerprom exports a runner's metrics to Prometheus.
//
//	prometheus.MustRegister(runnerprom.New(r, "runner"))
//
// The tables below have the names of all metrics. Metrics of a queue have the label queue: its
// name, or its number if it has none.
package runnerprom

import (
	"github.com/prometheus/client_golang/prometheus"

	"wamble/runner"
)

// whole is a metric of the whole runner.
type whole struct {
	name, help string
	kind       prometheus.ValueType
	value      func(s *runner.Stats) float64
}

const (
	counter = prometheus.CounterValue
	gauge   = prometheus.GaugeValue
)

var wholes = []whole{
	{"dead_letters", "Messages that failed for good and wait for somebody.", gauge, func(s *runner.Stats) float64 { return float64(s.DeadLetters) }},
	{"timers", "Timers that are armed.", gauge, func(s *runner.Stats) float64 { return float64(s.Timers) }},
	{"timer_lag_seconds", "How long the earliest timer has been due.", gauge, func(s *runner.Stats) float64 { return s.TimerLag.Seconds() }},
	{"outbox", "Messages that wait to leave.", gauge, func(s *runner.Stats) float64 { return float64(s.Outbox) }},
	{"outbox_age_seconds", "Age of the oldest of them.", gauge, func(s *runner.Stats) float64 { return s.OutboxLag.Seconds() }},
	{"lost_writes", "Acknowledged writes that were missing when the storage was opened.", gauge, func(s *runner.Stats) float64 { return float64(s.Lost) }},
	{"memory_bytes", "What the storage holds in memory: it grows with what is committed, up to a bound.", gauge, func(s *runner.Stats) float64 { return float64(s.Memory) }},
	{"commits_total", "Group commits.", counter, func(s *runner.Stats) float64 { return float64(s.Commits) }},
	{"operations_total", "Operations in group commits.", counter, func(s *runner.Stats) float64 { return float64(s.Ops) }},
}

// level is a metric of the current content of a queue.
type level struct {
	name, help string
	value      func(s *runner.InboxStats) float64
}

var levels = []level{
	{"queue_depth", "Messages in a queue, those that run and those that wait for a retry included.", func(s *runner.InboxStats) float64 { return float64(s.Depth) }},
	{"queue_leased", "Messages of a queue that a worker has.", func(s *runner.InboxStats) float64 { return float64(s.Leased) }},
	{"queue_parked", "Messages of a queue that wait for a delayed retry.", func(s *runner.InboxStats) float64 { return float64(s.Parked) }},
	{"queue_age_seconds", "Age of the oldest message of a queue.", func(s *runner.InboxStats) float64 { return s.OldestAge.Seconds() }},
	{"queue_paused", "1 while a queue is paused.", func(s *runner.InboxStats) float64 { return truth(s.Paused) }},
	{"queue_draining", "1 while a queue takes nothing new.", func(s *runner.InboxStats) float64 { return truth(s.Draining) }},
}

// count is a counter of a queue's workers since the runner was opened.
type count struct {
	name, help string
	value      func(m *runner.Metrics) uint64
}

var counts = []count{
	{"runs_total", "Runs of handlers.", func(m *runner.Metrics) uint64 { return m.Attempts }},
	{"successes_total", "Runs that ended well and were committed.", func(m *runner.Metrics) uint64 { return m.Successes }},
	{"failures_total", "Runs that failed otherwise than by Retry or a conflict, panics included.", func(m *runner.Metrics) uint64 { return m.NonRetryable }},
	{"panics_total", "Runs that panicked.", func(m *runner.Metrics) uint64 { return m.Panics }},
	{"busy_total", "Runs that asked for a retry.", func(m *runner.Metrics) uint64 { return m.Busy }},
	{"conflicts_total", "Runs whose transaction met a conflict.", func(m *runner.Metrics) uint64 { return m.Conflicts }},
	{"interrupted_total", "Runs that ended with their worker.", func(m *runner.Metrics) uint64 { return m.Interrupted }},
	{"retries_total", "Messages that went back to be delivered again.", func(m *runner.Metrics) uint64 { return m.Requeues }},
	{"dead_lettered_total", "Messages that became dead letters.", func(m *runner.Metrics) uint64 { return m.DeadLetters }},
	{"duplicates_total", "Messages that were dropped because their id was done.", func(m *runner.Metrics) uint64 { return m.Duplicates }},
	{"leases_expired_total", "Messages that were taken over from a lease that had run out.", func(m *runner.Metrics) uint64 { return m.Expired }},
	{"leases_lost_total", "Runs whose result was dropped because somebody else had taken the message.", func(m *runner.Metrics) uint64 { return m.LeasesLost }},
	{"timers_fired_total", "Runs of messages that a timer had delivered.", func(m *runner.Metrics) uint64 { return m.TimersFired }},
	{"worker_errors_total", "Rounds of workers that a failed runner ended.", func(m *runner.Metrics) uint64 { return m.LoopErrors }},
}

// latency is a histogram of a queue.
type latency struct {
	name, help string
	value      func(m *runner.Metrics) *runner.Latency
}

var latencies = []latency{
	{"wait_seconds", "From the commit of a message to its first run.", func(m *runner.Metrics) *runner.Latency { return &m.Waiting }},
	{"run_seconds", "Time that handlers run.", func(m *runner.Metrics) *runner.Latency { return &m.Latency }},
}

// The exported buckets are every second one of runner.Latency, from 16 µs up.
const (
	firstBucket = 4
	bucketStep  = 2
)

// Labelled is a runner with the values of its labels.
type Labelled struct {
	Runner *runner.Runner
	Values []string
}

// Collector is a prometheus.Collector.
type Collector struct {
	runners   func() []Labelled
	wholes    []*prometheus.Desc
	state     *prometheus.Desc
	levels    []*prometheus.Desc
	counts    []*prometheus.Desc
	latencies []*prometheus.Desc
}

// New returns a collector of r's metrics, whose names begin with prefix and an underscore.
func New(r *runner.Runner, prefix string) *Collector {
	return NewSet(prefix, nil, func() []Labelled { return []Labelled{{Runner: r}} })
}

// NewSet returns a collector of the metrics of the current runners, which are distinguished by
// labels.
func NewSet(prefix string, labels []string, runners func() []Labelled) *Collector {
	labels = labels[:len(labels):len(labels)]
	describe := func(name, help string, more ...string) *prometheus.Desc {
		return prometheus.NewDesc(prefix+"_"+name, help, append(labels, more...), nil)
	}
	c := &Collector{runners: runners, state: describe("state", "1 for the state that the runner is in.", "state")}
	for _, m := range wholes {
		c.wholes = append(c.wholes, describe(m.name, m.help))
	}
	for _, m := range levels {
		c.levels = append(c.levels, describe(m.name, m.help, "queue"))
	}
	for _, m := range counts {
		c.counts = append(c.counts, describe(m.name, m.help, "queue"))
	}
	for _, m := range latencies {
		c.latencies = append(c.latencies, describe(m.name, m.help, "queue"))
	}
	return c
}

// Names returns the names of all metrics, for checks of dashboards and alerts.
func Names(prefix string) []string {
	names := []string{prefix + "_state"}
	for _, m := range wholes {
		names = append(names, prefix+"_"+m.name)
	}
	for _, m := range levels {
		names = append(names, prefix+"_"+m.name)
	}
	for _, m := range counts {
		names = append(names, prefix+"_"+m.name)
	}
	for _, m := range latencies {
		names = append(names, prefix+"_"+m.name)
	}
	return names
}

// Describe implements prometheus.Collector.
func (c *Collector) Describe(out chan<- *prometheus.Desc) {
	out <- c.state
	for _, list := range [][]*prometheus.Desc{c.wholes, c.levels, c.counts, c.latencies} {
		for _, d := range list {
			out <- d
		}
	}
}

// Collect implements prometheus.Collector.
func (c *Collector) Collect(out chan<- prometheus.Metric) {
	for _, r := range c.runners() {
		c.collect(r.Runner, r.Values[:len(r.Values):len(r.Values)], out)
	}
}

func (c *Collector) collect(r *runner.Runner, of []string, out chan<- prometheus.Metric) {
	s := r.Stats()
	for state := runner.Stopped; state <= runner.Failed; state++ {
		out <- prometheus.MustNewConstMetric(c.state, gauge, truth(s.State == state), append(of, state.String())...)
	}
	for i, m := range wholes {
		out <- prometheus.MustNewConstMetric(c.wholes[i], m.kind, m.value(&s), of...)
	}
	for k := range s.Inboxes {
		in := &s.Inboxes[k]
		for i, m := range levels {
			out <- prometheus.MustNewConstMetric(c.levels[i], gauge, m.value(in), append(of, r.QueueName(in.Worker))...)
		}
	}
	for number, m := range r.Metrics() {
		labels := append(of, r.QueueName(number))
		for i, row := range counts {
			out <- prometheus.MustNewConstMetric(c.counts[i], counter, float64(row.value(&m)), labels...)
		}
		for i, row := range latencies {
			l := row.value(&m)
			out <- prometheus.MustNewConstHistogram(c.latencies[i], l.Count(), l.Total.Seconds(), below(l), labels...)
		}
	}
}

// below returns the number of durations up to each bound in seconds.
func below(l *runner.Latency) map[float64]uint64 {
	sums, n := map[float64]uint64{}, uint64(0)
	for i, k := range l.Buckets[:runner.LatencyBuckets-1] {
		n += k
		if i >= firstBucket && (i-firstBucket)%bucketStep == 0 {
			sums[l.Bound(i).Seconds()] = n
		}
	}
	return sums
}

func truth(b bool) float64 {
	if b {
		return 1
	}
	return 0
}
