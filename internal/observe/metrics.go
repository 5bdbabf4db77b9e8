package observe

import (
	"context"
	"runtime"
	"strconv"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"

	"wamble"
	"wamble/internal/loop"
	"wamble/runner"
	"wamble/runner/runnerprom"
)

// metric is one row of the table of metrics: a name without "wamble_", a help text, and a
// function that reads it from the figures of a shard. A row with a label has many values.
type metric struct {
	name, help string
	kind       prometheus.ValueType
	label      string
	value      func(s *loop.Figures) float64
	values     func(s *loop.Figures, add func(label string, v float64))
}

const (
	counter = prometheus.CounterValue
	gauge   = prometheus.GaugeValue
)

func count(name, help string, v func(s *loop.Figures) uint64) metric {
	return metric{name: name, help: help, kind: counter, value: func(s *loop.Figures) float64 { return float64(v(s)) }}
}

func level(name, help string, v func(s *loop.Figures) float64) metric {
	return metric{name: name, help: help, kind: gauge, value: v}
}

func many(name, help, label string, kind prometheus.ValueType, values func(s *loop.Figures, add func(string, float64))) metric {
	return metric{name: name, help: help, label: label, kind: kind, values: values}
}

// journalPrefix begins the names of the journal's metrics, which runnerprom defines.
const journalPrefix = "wamble_journal"

// metrics is the table of metrics of profiles. Each has the label profile.
var metrics = []metric{
	level("up", "1 while players are served.", func(s *loop.Figures) float64 { return truth(s.Up) }),
	count("steps_total", "Steps of the loop.", func(s *loop.Figures) uint64 { return s.Stats.Steps }),
	count("moves_total", "Moves that were accepted.", func(s *loop.Figures) uint64 { return s.Stats.Moves }),
	count("moves_repeated_total", "Moves that were known already.", func(s *loop.Figures) uint64 { return s.Stats.Repeats }),
	count("moves_rejected_total", "Moves that were refused.", func(s *loop.Figures) uint64 { return s.Stats.Rejected }),
	count("hellos_total", "Sessions that were greeted.", func(s *loop.Figures) uint64 { return s.Stats.Hellos }),
	count("new_players_total", "Sessions that were made.", func(s *loop.Figures) uint64 { return s.Stats.NewPlayers }),
	count("offers_total", "Hellos by UDP without a proof of their address; nothing is kept of them.", func(s *loop.Figures) uint64 { return s.Stats.Offers }),
	count("games_finished_total", "Games that ended.", func(s *loop.Figures) uint64 { return s.Stats.Finished }),
	count("payouts_total", "Shares of pots that were paid.", func(s *loop.Figures) uint64 { return s.Stats.Scores.Payouts }),
	count("rating_changes_total", "Ratings that a finished game changed.", func(s *loop.Figures) uint64 { return s.Stats.Scores.Ratings }),
	count("predictions_total", "Predictions that were accepted.", func(s *loop.Figures) uint64 { return s.Stats.Scores.Predictions }),
	level("predictions", "Predictions in memory: those that are open, and what they follow from.", func(s *loop.Figures) float64 { return float64(s.Gauges.Predictions) }),
	count("boards_released_total", "Boards that were taken from their holder.", func(s *loop.Figures) uint64 { return s.Stats.Released }),
	count("loads_total", "Questions to the database.", func(s *loop.Figures) uint64 { return s.Stats.Loads }),
	count("refused_total", "Requests answered with an ERROR.", func(s *loop.Figures) uint64 { return s.Stats.Refused }),
	count("panics_total", "Panics that were caught: see the dumps in the data directory.", func(s *loop.Figures) uint64 { return s.Panics }),
	count("packets_quarantined_total", "Packets that were refused because what they ask for has made the profile panic twice.", func(s *loop.Figures) uint64 { return s.Refused }),
	count("boards_damaged_total", "Stored boards that could not be restored as they were.", func(s *loop.Figures) uint64 { return s.Stats.Damaged }),
	level("sessions", "Sessions in memory.", func(s *loop.Figures) float64 { return float64(s.Gauges.Players) }),
	level("sessions_present", "Sessions whose player is there.", func(s *loop.Figures) float64 { return float64(s.Gauges.LivePlayers) }),
	level("bots_present", "Of the sessions whose player is there, those that are programs.", func(s *loop.Figures) float64 { return float64(s.Gauges.Bots) }),
	level("watchers", "Sessions that watch.", func(s *loop.Figures) float64 { return float64(s.Gauges.Watchers) }),
	level("answers_held", "Answers that wait for the journal.", func(s *loop.Figures) float64 { return float64(s.Gauges.Held) }),
	level("loads_waiting", "Questions to the database under way.", func(s *loop.Figures) float64 { return float64(s.Gauges.Loading) }),
	many("boards", "Boards by status.", "status", gauge, func(s *loop.Figures, add func(string, float64)) {
		for i, n := range s.Boards {
			add(wamble.BoardStatus(i).String(), float64(n))
		}
	}),
	level("players_waiting", "Players for whom there is no board; who waits longest gets the next.", func(s *loop.Figures) float64 { return float64(s.Gauges.Waiting) }),
	level("boards_asleep", "Free boards that are not dealt: fewer players are here than it takes to play on all.", func(s *loop.Figures) float64 { return float64(s.Gauges.AsleepBoards) }),
	level("boards_awake", "Boards in play.", func(s *loop.Figures) float64 { return float64(s.Gauges.Boards - s.Gauges.AsleepBoards) }),
	level("players_here", "Players who hold a board and are not gone.", func(s *loop.Figures) float64 { return float64(s.Gauges.Here) }),
	count("boards_given_total", "Boards that players got.", func(s *loop.Figures) uint64 { return s.Stats.Deals.Given }),
	count("boards_given_own_total", "Boards that a player got on which they had moved last themselves.", func(s *loop.Figures) uint64 { return s.Stats.Deals.Own }),
	count("boards_given_fresh_total", "Boards that a player got on which nobody had moved.", func(s *loop.Figures) uint64 { return s.Stats.Deals.Fresh }),
	count("boards_given_same_total", "Boards that a player got on which they had made their last move: they were not switched to another one.", func(s *loop.Figures) uint64 { return s.Stats.Deals.Same }),
	count("answers_total", "Moves that followed another one.", func(s *loop.Figures) uint64 { return s.Stats.Deals.Answers }),
	{name: "answers_waited_seconds_total", help: "How long boards have waited for these answers, together.", kind: counter, value: func(s *loop.Figures) float64 { return s.Stats.Deals.Waited.Seconds() }},
	count("visits_total", "Visits of people that have ended.", func(s *loop.Figures) uint64 { return s.Stats.Deals.Visits }),
	count("visits_saw_end_total", "Of these visits, those that have seen the end of a game in which the visitor had moved.", func(s *loop.Figures) uint64 { return s.Stats.Deals.SawEnd }),
	level("boards_opening", "Boards in play with fewer than 20 moves.", func(s *loop.Figures) float64 { return float64(s.Health.Opening) }),
	level("boards_frozen", "Boards in play on which nobody has moved for an hour.", func(s *loop.Figures) float64 { return float64(s.Health.Frozen) }),
	level("boards_waited_seconds", "How long boards in play have waited for their next move, together.", func(s *loop.Figures) float64 { return s.Health.Waited.Seconds() }),
	level("boards_waited_longest_seconds", "The longest that a board in play has waited for its next move.", func(s *loop.Figures) float64 { return s.Health.Longest.Seconds() }),
	many("leases_left", "Numbers that are left for new rows.", "sequence", gauge, func(s *loop.Figures, add func(string, float64)) {
		add("boards", float64(s.Gauges.BoardIDs))
		add("sessions", float64(s.Gauges.SessionIDs))
	}),
	many("link_total", "What the reliable delivery has seen and done.", "event", counter, func(s *loop.Figures, add func(string, float64)) {
		s.Link.Each(func(name, _ string, v uint64) { add(name, float64(v)) })
	}),
	many("datagrams_total", "Datagrams: received, sent, lost (receive buffer full), refused (by the kernel), unsent (send buffer full).",
		"fate", counter, func(s *loop.Figures, add func(string, float64)) {
			add("received", float64(s.UDP.Received))
			add("sent", float64(s.UDP.Sent))
			add("lost", float64(s.UDP.Lost))
			add("refused", float64(s.UDP.Refused))
			add("unsent", float64(s.UDP.Unsent))
		}),
	many("datagrams_shed_total", "Datagrams that were dropped because more came than could be processed in time, by class: of players, of proven addresses, of the rest.",
		"class", counter, func(s *loop.Figures, add func(string, float64)) {
			for class, n := range s.Shed {
				add(loop.ClassNames[class], float64(n))
			}
		}),
	count("packets_passed_total", "Packets of players that came through another machine.", func(s *loop.Figures) uint64 { return s.UDP.Passed }),
	level("websockets", "WebSocket connections.", func(s *loop.Figures) float64 { return float64(s.Streams.Open) }),
	count("websockets_refused_total", "WebSocket handshakes that failed.", func(s *loop.Figures) uint64 { return s.Streams.Refused }),
	count("websockets_overrun_total", "WebSocket connections ended because they did not read.", func(s *loop.Figures) uint64 { return s.Streams.Overrun }),
	count("connections_evicted_total", "TCP connections ended to make room for another: all places were taken.", func(s *loop.Figures) uint64 { return s.Streams.Evicted }),
	level("queue_depth", "Messages of the journal that the database does not have yet.", func(s *loop.Figures) float64 { return float64(s.Queue.Depth) }),
	level("queue_age_seconds", "Age of the oldest of them: the lag of the database.", func(s *loop.Figures) float64 { return s.Queue.OldestAge.Seconds() }),
	level("certificate_expires_timestamp_seconds", "When the TLS certificate ends, in seconds since 1970; 0 without TLS.", func(s *loop.Figures) float64 {
		return float64(max(s.CertificateEnds.Unix(), 0))
	}),
	level("store_away", "1 while the database cannot be asked.", func(s *loop.Figures) float64 { return truth(s.Store.Away) }),
	level("store_refuses", "1 while the database takes no moves.", func(s *loop.Figures) float64 { return truth(s.Store.Refuses) }),
	level("store_brake", "Share of its time that the loop was held lately, because the database is behind.", func(s *loop.Figures) float64 { return s.Store.Backpressure }),
}

// distribution is one row of the table of histograms.
type distribution struct {
	name, help string
	of         func(s *loop.Figures) *loop.Histogram
	labels     prometheus.Labels // of this row; nil for the only one of the name
}

// ageOf is the row of a class of datagrams.
func ageOf(class int) distribution {
	return distribution{"datagram_age_seconds", "How long datagrams had waited when they were processed, by class; only of those that waited in a queue.",
		func(s *loop.Figures) *loop.Histogram { return &s.Ages[class] }, prometheus.Labels{"class": loop.ClassNames[class]}}
}

var distributions = []distribution{
	{"move_durable_seconds", "From reading a move to its being durable.", func(s *loop.Figures) *loop.Histogram { return &s.ToDurable }, nil},
	{"move_sent_seconds", "From reading a move to its answer being sent.", func(s *loop.Figures) *loop.Histogram { return &s.ToSent }, nil},
	{"journal_group_frames", "Requests per group commit.", func(s *loop.Figures) *loop.Histogram { return &s.Groups }, nil},
	ageOf(0), ageOf(1), ageOf(2),
}

func truth(b bool) float64 {
	if b {
		return 1
	}
	return 0
}

// collector exports the figures of all profiles. With several shards a profile's metrics also
// have the label shard.
type collector struct {
	profiles        func() []*loop.Runtime
	single, sharded descs
}

// descs has the descriptions of the rows, in their order.
type descs struct{ metrics, distributions []*prometheus.Desc }

// wide returns the metrics of the whole server. They have no label profile, so that a sum
// counts them once.
func wide(journals func() map[int]*runner.Runner, version string) []prometheus.Collector {
	build := prometheus.NewGaugeVec(prometheus.GaugeOpts{Name: "wamble_build_info", Help: "1; the labels say which program this is."}, []string{"version", "go"})
	build.WithLabelValues(version, runtime.Version()).Set(1)
	return []prometheus.Collector{build, prometheus.NewGaugeFunc(
		prometheus.GaugeOpts{Name: "wamble_feed_games", Help: "Finished games that the feed keeps."},
		func() (n float64) {
			for _, r := range journals() {
				n += float64(r.Stats().Outbox)
			}
			return n
		},
	)}
}

// registry returns the metrics of the running profiles, the journal, HTTP, and the Go runtime.
// In a cluster the metrics of this program have the label node, and those of the journal the
// label part.
func registry(o AdminOptions) *prometheus.Registry {
	all := prometheus.NewRegistry()
	all.MustRegister(collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	var r prometheus.Registerer = all
	journals := func() map[int]*runner.Runner { return map[int]*runner.Runner{0: o.Journal} }
	journal := runnerprom.New(o.Journal, journalPrefix)
	if o.Parts != nil {
		r = prometheus.WrapRegistererWith(prometheus.Labels{"node": o.Node}, all)
		journals = o.Parts
		journal = runnerprom.NewSet(journalPrefix, []string{"part"}, func() (list []runnerprom.Labelled) {
			for part, r := range o.Parts() {
				list = append(list, runnerprom.Labelled{Runner: r, Values: []string{strconv.Itoa(part)}})
			}
			return list
		})
	}
	if o.Parts != nil {
		r.MustRegister(prometheus.NewGaugeFunc(prometheus.GaugeOpts{Name: "wamble_standby",
			Help: "1 if this machine has no part of the journal, and waits for one."}, func() float64 {
			if len(o.Parts()) > 0 {
				return 0
			}
			return 1
		}))
	}
	r.MustRegister(newCollector(o.Profiles), journal)
	r.MustRegister(wide(journals, o.Version)...)
	if o.Web != nil {
		r.MustRegister(o.Web)
	}
	return all
}

func newCollector(profiles func() []*loop.Runtime) *collector {
	return &collector{profiles: profiles, single: newDescs("profile"), sharded: newDescs("profile", "shard")}
}

func newDescs(labels ...string) (d descs) {
	labels = labels[:len(labels):len(labels)]
	for _, m := range metrics {
		of := labels
		if m.label != "" {
			of = append(labels, m.label)
		}
		d.metrics = append(d.metrics, prometheus.NewDesc("wamble_"+m.name, m.help, of, nil))
	}
	for _, m := range distributions {
		d.distributions = append(d.distributions, prometheus.NewDesc("wamble_"+m.name, m.help, labels, m.labels))
	}
	return d
}

// Describe implements prometheus.Collector. Each name is described once, without the label
// shard.
func (c *collector) Describe(out chan<- *prometheus.Desc) {
	for _, d := range append(c.single.metrics[:len(c.single.metrics):len(c.single.metrics)], c.single.distributions...) {
		out <- d
	}
}

// Collect implements prometheus.Collector.
func (c *collector) Collect(out chan<- prometheus.Metric) {
	for _, rt := range c.profiles() {
		figures := rt.Figures(context.Background())
		name, shard := rt.Config().Name, rt.Shard()
		if shard.Of > 1 {
			c.sharded.collect(&figures, out, name, strconv.Itoa(shard.Index))
		} else {
			c.single.collect(&figures, out, name)
		}
	}
}

func (d *descs) collect(s *loop.Figures, out chan<- prometheus.Metric, labels ...string) {
	labels = labels[:len(labels):len(labels)]
	for i, m := range metrics {
		if m.value != nil {
			out <- prometheus.MustNewConstMetric(d.metrics[i], m.kind, m.value(s), labels...)
			continue
		}
		m.values(s, func(label string, v float64) {
			out <- prometheus.MustNewConstMetric(d.metrics[i], m.kind, v, append(labels, label)...)
		})
	}
	for i, m := range distributions {
		h := m.of(s)
		n, below := h.Total()
		out <- prometheus.MustNewConstHistogram(d.distributions[i], n, h.Sum, below, labels...)
	}
}
