package server

import (
	"context"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"

	"wamble"
	"wamble/runner"
)

// metric is one row of the table of metrics: a name without "wamble_", what it
// says, and how it is read from a snapshot. A row with a label has many values.
type metric struct {
	name, help string
	kind       prometheus.ValueType
	label      string
	value      func(s *snapshot) float64
	values     func(s *snapshot, add func(label string, v float64))
}

const (
	counter = prometheus.CounterValue
	gauge   = prometheus.GaugeValue
)

func count(name, help string, v func(s *snapshot) uint64) metric {
	return metric{name: name, help: help, kind: counter, value: func(s *snapshot) float64 { return float64(v(s)) }}
}

func level(name, help string, v func(s *snapshot) float64) metric {
	return metric{name: name, help: help, kind: gauge, value: v}
}

func many(name, help, label string, kind prometheus.ValueType, values func(s *snapshot, add func(string, float64))) metric {
	return metric{name: name, help: help, label: label, kind: kind, values: values}
}

// metrics is the one table of metrics. Each has the label profile.
var metrics = []metric{
	level("up", "1 while players are served.", func(s *snapshot) float64 { return truth(s.up) }),
	count("steps_total", "Steps of the loop.", func(s *snapshot) uint64 { return s.stats.Steps }),
	count("moves_total", "Moves that were accepted.", func(s *snapshot) uint64 { return s.stats.Moves }),
	count("moves_repeated_total", "Moves that were known already.", func(s *snapshot) uint64 { return s.stats.Repeats }),
	count("moves_rejected_total", "Moves that were refused.", func(s *snapshot) uint64 { return s.stats.Rejected }),
	count("hellos_total", "Sessions that were greeted.", func(s *snapshot) uint64 { return s.stats.Hellos }),
	count("new_players_total", "Sessions that were made.", func(s *snapshot) uint64 { return s.stats.NewPlayers }),
	count("games_finished_total", "Games that ended.", func(s *snapshot) uint64 { return s.stats.Finished }),
	count("payouts_total", "Shares of pots that were paid.", func(s *snapshot) uint64 { return s.stats.Scores.Payouts }),
	count("rating_changes_total", "Ratings that a finished game changed.", func(s *snapshot) uint64 { return s.stats.Scores.Ratings }),
	count("predictions_total", "Predictions that were accepted.", func(s *snapshot) uint64 { return s.stats.Scores.Predictions }),
	level("predictions", "Predictions in memory: those that are open, and what they follow from.", func(s *snapshot) float64 { return float64(s.gauges.Predictions) }),
	level("feed_games", "Finished games that the feed keeps, of all profiles.", func(s *snapshot) float64 { return float64(s.runner.Outbox) }),
	count("boards_released_total", "Boards that were taken from their holder.", func(s *snapshot) uint64 { return s.stats.Released }),
	count("loads_total", "Questions to the database.", func(s *snapshot) uint64 { return s.stats.Loads }),
	count("refused_total", "Requests answered with an ERROR.", func(s *snapshot) uint64 { return s.stats.Refused }),
	count("boards_damaged_total", "Stored boards that could not be restored as they were.", func(s *snapshot) uint64 { return s.stats.Damaged }),
	level("sessions", "Sessions in memory.", func(s *snapshot) float64 { return float64(s.gauges.Players) }),
	level("sessions_present", "Sessions whose player is there.", func(s *snapshot) float64 { return float64(s.gauges.LivePlayers) }),
	level("watchers", "Sessions that watch.", func(s *snapshot) float64 { return float64(s.gauges.Watchers) }),
	level("answers_held", "Answers that wait for the journal.", func(s *snapshot) float64 { return float64(s.gauges.Held) }),
	level("loads_waiting", "Questions to the database under way.", func(s *snapshot) float64 { return float64(s.gauges.Loading) }),
	many("boards", "Boards by status.", "status", gauge, func(s *snapshot, add func(string, float64)) {
		for i, n := range s.boards {
			add(wamble.BoardStatus(i).String(), float64(n))
		}
	}),
	many("leases_left", "Numbers that are left for new rows.", "sequence", gauge, func(s *snapshot, add func(string, float64)) {
		add("boards", float64(s.gauges.BoardIDs))
		add("sessions", float64(s.gauges.SessionIDs))
	}),
	many("link_total", "What the reliable delivery has seen and done.", "event", counter, func(s *snapshot, add func(string, float64)) {
		s.link.Each(func(name, _ string, v uint64) { add(name, float64(v)) })
	}),
	many("datagrams_total", "Datagrams: received, sent, lost (receive buffer full), refused (by the kernel), unsent (send buffer full).",
		"fate", counter, func(s *snapshot, add func(string, float64)) {
			add("received", float64(s.udp.Received))
			add("sent", float64(s.udp.Sent))
			add("lost", float64(s.udp.Lost))
			add("refused", float64(s.udp.Refused))
			add("unsent", float64(s.udp.Unsent))
		}),
	level("websockets", "WebSocket connections.", func(s *snapshot) float64 { return float64(s.streams.Open) }),
	count("websockets_refused_total", "WebSocket handshakes that failed.", func(s *snapshot) uint64 { return s.streams.Refused }),
	count("websockets_overrun_total", "WebSocket connections ended because they did not read.", func(s *snapshot) uint64 { return s.streams.Overrun }),
	level("queue_depth", "Messages of the journal that the database does not have yet.", func(s *snapshot) float64 { return float64(s.queue.Depth) }),
	level("queue_age_seconds", "Age of the oldest of them: the lag of the database.", func(s *snapshot) float64 { return s.queue.OldestAge.Seconds() }),
	level("store_away", "1 while the database cannot be asked.", func(s *snapshot) float64 { return truth(s.store.away) }),
	level("store_refuses", "1 while the database takes no moves.", func(s *snapshot) float64 { return truth(s.store.refuses) }),
	level("store_brake", "Share of its time that the loop leaves to the drain, because the database is behind a load that lasts.", func(s *snapshot) float64 { return s.store.brake }),
	level("dead_letters", "Intents that the database refused for good.", func(s *snapshot) float64 { return float64(s.runner.DeadLetters) }),
	count("journal_commits_total", "Group commits of the journal.", func(s *snapshot) uint64 { return s.runner.Commits }),
	many("journal_state", "1 for the state that the journal is in.", "state", gauge, func(s *snapshot, add func(string, float64)) {
		for state := runner.Stopped; state <= runner.Failed; state++ {
			add(state.String(), truth(s.runner.State == state))
		}
	}),
}

// distribution is one row of the table of histograms.
type distribution struct {
	name, help string
	of         func(s *snapshot) *histogram
}

var distributions = []distribution{
	{"move_durable_seconds", "From reading a move to its being durable.", func(s *snapshot) *histogram { return &s.toDurable }},
	{"move_sent_seconds", "From reading a move to its answer being sent.", func(s *snapshot) *histogram { return &s.toSent }},
	{"journal_group_frames", "Requests per group commit.", func(s *snapshot) *histogram { return &s.groups }},
}

func truth(b bool) float64 {
	if b {
		return 1
	}
	return 0
}

// collector turns snapshots of all profiles into metrics.
type collector struct {
	server        *Server
	metrics       []*prometheus.Desc
	distributions []*prometheus.Desc
}

// registry returns the metrics of this server, and of the Go runtime.
func (s *Server) registry() *prometheus.Registry {
	r := prometheus.NewRegistry()
	r.MustRegister(newCollector(s), collectors.NewGoCollector(),
		collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	return r
}

func newCollector(s *Server) *collector {
	c := &collector{server: s}
	for _, m := range metrics {
		labels := []string{"profile"}
		if m.label != "" {
			labels = append(labels, m.label)
		}
		c.metrics = append(c.metrics, prometheus.NewDesc("wamble_"+m.name, m.help, labels, nil))
	}
	for _, d := range distributions {
		c.distributions = append(c.distributions, prometheus.NewDesc("wamble_"+d.name, d.help, []string{"profile"}, nil))
	}
	return c
}

// Describe implements prometheus.Collector.
func (c *collector) Describe(out chan<- *prometheus.Desc) {
	for _, d := range c.metrics {
		out <- d
	}
	for _, d := range c.distributions {
		out <- d
	}
}

// Collect implements prometheus.Collector.
func (c *collector) Collect(out chan<- prometheus.Metric) {
	for _, k := range c.server.keepers() {
		look := k.look(context.Background())
		c.collect(k.name, &look, out)
	}
}

func (c *collector) collect(profile string, s *snapshot, out chan<- prometheus.Metric) {
	for i, m := range metrics {
		if m.value != nil {
			out <- prometheus.MustNewConstMetric(c.metrics[i], m.kind, m.value(s), profile)
			continue
		}
		m.values(s, func(label string, v float64) {
			out <- prometheus.MustNewConstMetric(c.metrics[i], m.kind, v, profile, label)
		})
	}
	for i, d := range distributions {
		h := d.of(s)
		n, below := h.total()
		out <- prometheus.MustNewConstHistogram(c.distributions[i], n, h.sum, below, profile)
	}
}
