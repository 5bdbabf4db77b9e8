package server

import (
	"context"
	"net/netip"
	"testing"
	"time"

	"wamble/internal/loader"
)

// BenchmarkSpectators measures 50 players who move on boards of a real server, with one
// watcher or with 1,000, over UDP. One operation is a run of a few seconds. It reports the
// updates that watchers got per second, the share of one processor that the server used (with
// its start and the hellos), and how long the players waited for their moves.
func BenchmarkSpectators(b *testing.B) {
	for _, tc := range []struct {
		name     string
		watchers int
		options  string
	}{
		{"1 watcher", 1, ""},
		{"1000 watchers", 1000, ""},
		{"1000 watchers without a bound", 1000, "(def spectator-packets-per-sec 0) (def spectator-total-packets-per-sec 0)"},
	} {
		b.Run(tc.name, func(b *testing.B) {
			var updates, moves, cpu float64
			var p99 time.Duration
			for i := range b.N {
				c := spawn(b, b.TempDir(),
					conf("(def max-players 100000) (def max-client-sessions 100000) (def max-boards 100000) (def max-spectators -1)"+tc.options))
				r, err := loader.Run(context.Background(), loader.Options{
					Server: netip.MustParseAddrPort("127.0.0.1:" + c.port), Mode: loader.Spectate, Clients: tc.watchers,
					Players: 50,
					Think:   20 * time.Millisecond, Duration: 5 * time.Second, Greet: time.Minute, Seed: uint64(i),
				})
				c.end()
				if err != nil {
					b.Fatal(err)
				}
				seconds := r.Elapsed.Seconds()
				updates += float64(r.Roles[loader.Watcher].Answered) / seconds
				moves += float64(r.Roles[loader.Player].Answered) / seconds
				cpu += (c.cmd.ProcessState.UserTime() + c.cmd.ProcessState.SystemTime()).Seconds() / seconds
				p99 = max(p99, r.Roles[loader.Player].Latency.Quantile(0.99))
			}
			b.ReportMetric(updates/float64(b.N), "updates/s")
			b.ReportMetric(moves/float64(b.N), "moves/s")
			b.ReportMetric(cpu/float64(b.N), "cpus")
			b.ReportMetric(float64(p99.Microseconds())/1000, "players-p99-ms")
			b.ReportMetric(0, "ns/op")
		})
	}
}
