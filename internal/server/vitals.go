package server

import (
	"context"
	"time"

	"wamble/internal/loop"
)

// vitals are the counters of a moment. The console draws the differences of two.
type vitals struct {
	At       int64           `json:"at"`     // ms since 1970
	Bounds   []float64       `json:"bounds"` // upper ends of the classes of latency, in seconds
	Profiles []profileVitals `json:"profiles"`
}

// profileVitals are those of one profile.
type profileVitals struct {
	Name    string   `json:"name"`
	Moves   uint64   `json:"moves"`
	Latency []uint64 `json:"latency"` // moves by class, one more than bounds
	Queue   uint64   `json:"queue"`
}

func (s *Server) vitals(ctx context.Context) vitals {
	v := vitals{At: time.Now().UnixMilli(), Bounds: loop.LatencyBounds, Profiles: []profileVitals{}}
	for _, k := range s.keepers() {
		look := k.Look(ctx)
		v.Profiles = append(v.Profiles, profileVitals{
			Name: k.name, Moves: look.Stats.Moves, Latency: look.ToSent.Counts, Queue: look.Queue.Depth,
		})
	}
	return v
}
