package loader

import (
	"context"
	"fmt"
	"io"
	"net/netip"
	"os"
	"os/exec"
	"testing"
	"time"
)

// The servers that a benchmark loads run in processes of their own: this binary,
// called with this variable and one of these names.
const servantVariable = "WAMBLE_TEST_SERVANT"

var servants = map[string]func(*Echo) error{"echo": (*Echo).Serve, "linked": linked}

func TestMain(m *testing.M) {
	if name := os.Getenv(servantVariable); name != "" {
		serve(servants[name])
		return
	}
	os.Exit(m.Run())
}

// serve prints its address, and ends with its standard input.
func serve(servant func(*Echo) error) {
	e, err := OpenEcho(netip.MustParseAddrPort("[::]:0"), nil)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	fmt.Println(e.Addr().Port())
	go servant(e)
	io.Copy(io.Discard, os.Stdin)
}

// servant is a server in a process of its own.
type servant struct {
	addr netip.AddrPort
	pid  int
}

func startServant(tb testing.TB, name string) servant {
	tb.Helper()
	exe, err := os.Executable()
	if err != nil {
		tb.Fatal(err)
	}
	cmd := exec.Command(exe)
	cmd.Env = append(os.Environ(), servantVariable+"="+name)
	cmd.Stderr = os.Stderr
	stdin, err := cmd.StdinPipe()
	if err != nil {
		tb.Fatal(err)
	}
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		tb.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() {
		stdin.Close()
		cmd.Wait()
	})
	var port uint16
	if _, err := fmt.Fscanln(stdout, &port); err != nil {
		tb.Fatal(err)
	}
	return servant{netip.AddrPortFrom(netip.AddrFrom4([4]byte{127, 0, 0, 1}), port), cmd.Process.Pid}
}

// BenchmarkLoader measures what a move costs the loader, against an echo in
// another process: with one socket for all clients, and with one for each.
func BenchmarkLoader(b *testing.B) {
	for _, separate := range []bool{false, true} {
		for _, clients := range []int{1, 16, 128, 1000} {
			name := fmt.Sprintf("separate=%v/clients=%d", separate, clients)
			b.Run(name, func(b *testing.B) {
				address := startServant(b, "echo").addr
				for range b.N {
					r, err := Run(context.Background(),
						Options{Server: address, Clients: clients, Duration: time.Second, Separate: separate})
					if err != nil {
						b.Fatal(err)
					}
					b.ReportMetric(r.PerSecond(), "moves/s")
					b.ReportMetric(float64(r.Loader.Nanoseconds())/float64(max(r.Answered, 1)), "loader-ns/move")
					b.ReportMetric(float64(r.Latency.Quantile(0.99).Microseconds()), "p99-µs")
					b.ReportMetric(0, "ns/op")
				}
			})
		}
	}
}
