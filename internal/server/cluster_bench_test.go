package server

import (
	"fmt"
	"net/netip"
	"testing"
	"time"

	"wamble/internal/loader"
	"wamble/internal/store/postgres/pgtest"
)

// BenchmarkJournal compares the journal in PostgreSQL, with a synchronous standby on the
// same disk, with that on disk, in one run: moves a second, and their ratio. Both keep
// their games in that database.
func BenchmarkJournal(b *testing.B) {
	primary := pgtest.Start(b, true)
	primary.Follow(b)
	for _, clients := range []int{128, 512} {
		b.Run(fmt.Sprint(clients, " clients"), func(b *testing.B) {
			rates := map[string]float64{}
			for b.Loop() {
				for _, journal := range []string{"disk", "postgres"} {
					text := staying(b, conf(postgresConf(primary.Migrated(b)))) + fmt.Sprintf("(def journal %q) (def min-boards %d)\n", journal, 2*clients)
					s := spawn(b, b.TempDir(), text)
					r, err := loader.Run(b.Context(), loader.Options{
						Server: netip.MustParseAddrPort("127.0.0.1:" + s.port), Clients: clients, Mode: loader.Moves, Duration: 5 * time.Second, Greet: patience, Drain: patience,
					})
					s.end()
					if err != nil {
						b.Fatal(err)
					}
					rates[journal] += float64(r.Answered) / r.Elapsed.Seconds()
				}
			}
			b.ReportMetric(rates["disk"]/float64(b.N), "disk-moves/s")
			b.ReportMetric(rates["postgres"]/float64(b.N), "postgres-moves/s")
			b.ReportMetric(rates["postgres"]/rates["disk"], "ratio")
			b.ReportMetric(0, "ns/op")
		})
	}
}
