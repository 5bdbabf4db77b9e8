package observe

import (
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"wamble/internal/loop"
	"wamble/internal/profile"
	"wamble/internal/transport"
	"wamble/runner"
)

// Each metric that a host looks at first has its own value.
func TestMetricValues(t *testing.T) {
	s := loop.Figures{
		Stats: profile.Stats{Moves: 2}, Queue: runner.InboxStats{Depth: 3, OldestAge: 4 * time.Second},
		Shed:    loop.ByClass[uint64]{11, 12, 13},
		Streams: transport.GatewayStats{Evicted: 10},
		UDP:     transport.UDPStats{Received: 5, Sent: 6, Lost: 7, Refused: 8, Unsent: 9},
	}
	got := map[string]float64{}
	for _, m := range metrics {
		if m.value != nil {
			got[m.name] = m.value(&s)
			continue
		}
		m.values(&s, func(label string, v float64) { got[m.name+" "+label] = v })
	}
	for name, want := range map[string]float64{
		"moves_total": 2, "queue_depth": 3, "queue_age_seconds": 4, "datagrams_total received": 5,
		"datagrams_total sent": 6,
		"datagrams_total lost": 7, "datagrams_total refused": 8, "datagrams_total unsent": 9,
		"connections_evicted_total": 10, "datagrams_shed_total player": 11, "datagrams_shed_total proven": 12,
		"datagrams_shed_total rest": 13,
	} {
		if got[name] != want {
			t.Errorf("%s: %v, want %v", name, got[name], want)
		}
	}
}

// TestOperations: every metric that docs/operations.md names exists.
func TestOperations(t *testing.T) {
	text, err := os.ReadFile("../../docs/operations.md")
	if err != nil {
		t.Fatal(err)
	}
	known := known(t)
	named := regexp.MustCompile(`\bwamble_[a-z_]+\b`).FindAllString(string(text), -1)
	if len(named) < 10 {
		t.Fatalf("only %d metrics are named", len(named))
	}
	for _, name := range named {
		if !slices.Contains(known, name) {
			t.Errorf("%s is none of %s", name, strings.Join(known, ", "))
		}
	}
}

// TestEveryMetric: each row of the tables has a description, and gives a value for every
// profile.
func TestEveryMetric(t *testing.T) {
	c := newCollector(nil).single
	out := make(chan prometheus.Metric, 1000)
	c.collect(&loop.Figures{}, out, "default")
	close(out)
	given := map[*prometheus.Desc]bool{}
	for m := range out {
		given[m.Desc()] = true
	}
	for i, m := range metrics {
		if m.name == "" || m.help == "" || !given[c.metrics[i]] {
			t.Errorf("metric %q has no help or no value", m.name)
		}
	}
	for i, d := range distributions {
		if d.name == "" || d.help == "" || !given[c.distributions[i]] {
			t.Errorf("distribution %q has no help or no value", d.name)
		}
	}
}
