package loader

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net/netip"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"
)

// The echo that a benchmark loads runs in a process of its own: this binary,
// called with this variable.
const echoVariable = "WAMBLE_TEST_ECHO"

func TestMain(m *testing.M) {
	if os.Getenv(echoVariable) != "" {
		serveEcho()
		return
	}
	os.Exit(m.Run())
}

// serveEcho prints its address, and ends with its standard input.
func serveEcho() {
	e, err := OpenEcho(netip.MustParseAddrPort("127.0.0.1:0"))
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	fmt.Println(e.Addr())
	go e.Serve()
	io.Copy(io.Discard, os.Stdin)
}

func startEcho(tb testing.TB) netip.AddrPort {
	tb.Helper()
	exe, err := os.Executable()
	if err != nil {
		tb.Fatal(err)
	}
	cmd := exec.Command(exe)
	cmd.Env = append(os.Environ(), echoVariable+"=1")
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
	line, err := bufio.NewReader(stdout).ReadString('\n')
	if err != nil {
		tb.Fatal(err)
	}
	return netip.MustParseAddrPort(strings.TrimSpace(line))
}

// BenchmarkLoader measures what a move costs the loader, against an echo in
// another process: with one socket for all clients, and with one for each.
func BenchmarkLoader(b *testing.B) {
	for _, separate := range []bool{false, true} {
		for _, clients := range []int{1, 16, 128, 1000} {
			name := fmt.Sprintf("separate=%v/clients=%d", separate, clients)
			b.Run(name, func(b *testing.B) {
				address := startEcho(b)
				for range b.N {
					r, err := Run(context.Background(), Options{Server: address, Clients: clients, Duration: time.Second, Separate: separate})
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
