package server

import (
	"context"
	"fmt"
	"io"
	"net/netip"
	"strings"
	"testing"
	"time"

	"wamble"
	"wamble/internal/loader"
	"wamble/internal/store/postgres/pgtest"
)

// BenchmarkRestart measures the gap in service after kill -9 under full load: from the kill
// until the first move is accepted, with each number of boards on each store. One operation
// is one kill.
func BenchmarkRestart(b *testing.B) {
	for _, size := range []int{1000, 100_000, 1_000_000} {
		for _, kind := range []string{"sqlite", "postgres"} {
			b.Run(fmt.Sprintf("%s/boards=%d", kind, size), func(b *testing.B) {
				text := fmt.Sprintf(`(def max-boards %d) (def min-boards %d)`, 2*size, size)
				if kind == "postgres" {
					text += postgresConf(pgtest.Empty(b))
				}
				dir, text := b.TempDir(), staying(b, conf(text))
				s := spawn(b, dir, text)
				p := join(b, s.address(), wamble.Token{})
				served, longest := time.Duration(0), time.Duration(0)
				for b.Loop() {
					load := startLoad(b, loader.Options{Server: netip.MustParseAddrPort("127.0.0.1:" + s.port),
						Clients: 128})
					awaitRestartFile(b, dir, 1)
					s.kill()
					killed := time.Now()
					s = spawn(b, dir, text)
					for moves := len(p.played); len(p.played) == moves; {
						ctx, cancel := context.WithTimeout(b.Context(), patience)
						p.move(ctx)
						cancel()
					}
					took := time.Since(killed)
					served, longest = served+took, max(longest, took)
					load.end()
				}
				s.end()
				b.ReportMetric(served.Seconds()/float64(b.N), "s-to-first-move")
				b.ReportMetric(longest.Seconds(), "s-longest")
			})
		}
	}
}

// BenchmarkTakeOver measures the gap in service after kill -9 of the machine that has the
// journal in PostgreSQL, of which 2 s are its lease, with each number of boards: from the
// kill until the standby accepts a move. One operation is one kill.
func BenchmarkTakeOver(b *testing.B) {
	for _, size := range []int{1000, 10_000, 100_000} {
		b.Run(fmt.Sprintf("boards=%d", size), func(b *testing.B) {
			db := pgtest.Start(b, true).Migrated(b)
			text := func(node string) string {
				return shared(db, node) + fmt.Sprintf("(def max-boards %d) (def min-boards %d)\n", 2*size, size)
			}
			s := spawn(b, b.TempDir(), text("m0"))
			served, n := time.Duration(0), 0
			for b.Loop() {
				movesPerSecond(b, s.port, 128)
				n++
				next := &machine{dir: b.TempDir(), text: text(fmt.Sprint("m", n))}
				var out io.Reader
				next.child, out = begin(b, next.dir, next.text)
				until(b, "it waits", func() bool { return strings.HasPrefix(next.state(b), "standby of ") })
				s.kill()
				killed := time.Now()
				s = next.child
				s.awaitReady(out)
				p := join(b, s.address(), wamble.Token{})
				for len(p.played) == 0 {
					p.move(b.Context())
				}
				served += time.Since(killed)
			}
			s.end()
			b.ReportMetric(served.Seconds()/float64(b.N), "s-to-first-move")
			b.ReportMetric(0, "ns/op")
		})
	}
}
