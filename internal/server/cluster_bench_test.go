package server

import (
	"fmt"
	"io"
	"net/netip"
	"os"
	"testing"
	"time"

	"wamble/internal/loader"
	"wamble/internal/store/postgres/pgtest"
)

// asEcho is set in a child process that is a bare echo, until its standard input ends.
const asEcho = "WAMBLE_TEST_ECHO"

func beEcho() {
	e, err := loader.OpenEcho(netip.MustParseAddrPort("127.0.0.1:0"), nil)
	if err != nil {
		panic(err)
	}
	fmt.Println(e.Addr().Port())
	go e.Serve()
	io.Copy(io.Discard, os.Stdin)
}

// spawnEcho starts an echo in a process of its own, and returns its port.
func spawnEcho(t testing.TB) (port string, end func()) {
	t.Helper()
	cmd, in, out := converse(t, asEcho+"=1")
	if _, err := fmt.Fscanln(out, &port); err != nil {
		t.Fatal(err)
	}
	return port, func() {
		in.Close()
		cmd.Wait()
	}
}

// BenchmarkJournal compares the journal in PostgreSQL, with a synchronous standby on the
// same disk, with that on disk, and with a bare echo, in one run: moves a second, and
// their ratios. Both servers keep their games in that database.
func BenchmarkJournal(b *testing.B) {
	primary := pgtest.Start(b, true)
	primary.Standby(b)
	for _, clients := range []int{128, 512} {
		b.Run(fmt.Sprint(clients, " clients"), func(b *testing.B) {
			rates := map[string]float64{}
			for b.Loop() {
				for _, journal := range []string{"disk", "postgres"} {
					text := staying(b, conf(postgresConf(primary.Migrated(b)))) +
						fmt.Sprintf("(def journal %q) (def min-boards %d)\n", journal, 2*clients)
					s := spawn(b, b.TempDir(), text)
					rates[journal] += movesPerSecond(b, s.port, clients)
					s.end()
				}
				port, end := spawnEcho(b)
				rates["echo"] += movesPerSecond(b, port, clients)
				end()
			}
			b.ReportMetric(rates["disk"]/float64(b.N), "disk-moves/s")
			b.ReportMetric(rates["postgres"]/float64(b.N), "postgres-moves/s")
			b.ReportMetric(rates["echo"]/float64(b.N), "echo-moves/s")
			b.ReportMetric(rates["postgres"]/rates["disk"], "ratio")
			b.ReportMetric(rates["postgres"]/rates["echo"], "of-echo")
			b.ReportMetric(0, "ns/op")
		})
	}
}

// movesPerSecond lets clients move for five seconds, and returns how many moves a second were
// answered.
func movesPerSecond(b *testing.B, port string, clients int) float64 {
	b.Helper()
	r, err := loader.Run(b.Context(), loader.Options{
		Server: netip.MustParseAddrPort("127.0.0.1:" + port), Clients: clients, Mode: loader.Moves,
		Duration: 5 * time.Second, Greet: patience, Drain: patience,
	})
	if err != nil {
		b.Fatal(err)
	}
	return float64(r.Answered) / r.Elapsed.Seconds()
}
