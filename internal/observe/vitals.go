package observe

import (
	"context"
	"time"

	"wamble/internal/loop"
)

// Vitals has the counters at a moment. The console draws the differences of two.
type Vitals struct {
	At       int64           `json:"at"`     // ms since 1970
	Bounds   []float64       `json:"bounds"` // upper bounds of the latency buckets, in seconds
	Profiles []ProfileVitals `json:"profiles"`
}

// ProfileVitals has the counters of one profile.
type ProfileVitals struct {
	Name    string   `json:"name"`
	Moves   uint64   `json:"moves"`
	Latency []uint64 `json:"latency"` // moves by latency bucket, one more than bounds
	Queue   uint64   `json:"queue"`
}

// LookAt returns the counters of profiles at this moment.
func LookAt(ctx context.Context, profiles []*loop.Runtime) Vitals {
	v := Vitals{At: time.Now().UnixMilli(), Bounds: loop.LatencyBounds, Profiles: []ProfileVitals{}}
	for _, rt := range profiles {
		figures, name := rt.Figures(ctx), rt.Config().Name
		// The shards of a profile are adjacent.
		if n := len(v.Profiles); n == 0 || v.Profiles[n-1].Name != name {
			v.Profiles = append(v.Profiles,
				ProfileVitals{Name: name, Latency: make([]uint64, len(figures.ToSent.Counts))})
		}
		p := &v.Profiles[len(v.Profiles)-1]
		p.Moves, p.Queue = p.Moves+figures.Stats.Moves, p.Queue+figures.Queue.Depth
		for i, n := range figures.ToSent.Counts {
			p.Latency[i] += n
		}
	}
	return v
}
