package server

import (
	"testing"
	"time"

	"wamble/internal/loop"
	"wamble/internal/profile"
	"wamble/internal/transport"
	"wamble/runner"
)

// Each of what a host looks at first tells its own number.
func TestMetricValues(t *testing.T) {
	s := loop.Figures{
		Stats: profile.Stats{Moves: 2}, Queue: runner.InboxStats{Depth: 3, OldestAge: 4 * time.Second},
		UDP: transport.UDPStats{Received: 5, Sent: 6, Lost: 7, Refused: 8, Unsent: 9},
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
		"moves_total": 2, "queue_depth": 3, "queue_age_seconds": 4, "datagrams_total received": 5, "datagrams_total sent": 6,
		"datagrams_total lost": 7, "datagrams_total refused": 8, "datagrams_total unsent": 9,
	} {
		if got[name] != want {
			t.Errorf("%s: %v, want %v", name, got[name], want)
		}
	}
}
