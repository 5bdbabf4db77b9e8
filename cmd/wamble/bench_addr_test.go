package main

import (
	"bytes"
	"context"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"wamble/internal/config"
	"wamble/internal/server"
)

// TestBenchOfRunningServer loads a server that it has not started, and finds its moves in the
// database while that runs on.
func TestBenchOfRunningServer(t *testing.T) {
	t.Parallel()
	benchRunning(t, "")
}

func benchRunning(t *testing.T, database string) {
	dir, text := t.TempDir(), unlimited+database
	file, data := filepath.Join(dir, "running.conf"), filepath.Join(dir, "data")
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	c, err := config.Load(file, text, config.Params{})
	if err != nil {
		t.Fatal(err)
	}
	s, err := server.Open(server.Options{Config: c, Dir: data})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- s.Run(ctx) }()
	if err := s.WaitReady(ctx); err != nil {
		t.Fatal(err)
	}
	address := netip.AddrPortFrom(loopback, s.Profiles()[0].UDP.Port()).String()

	var out, errOut bytes.Buffer
	code := run([]string{"bench", "--addr", address, "--clients", "4", "--duration", "200ms", "--rounds", "1",
		"--verify", "--config", file, "--data", data}, strings.NewReader(""), &out, &errOut)
	if code != 0 || errOut.Len() > 0 {
		t.Errorf("exit code %d: %s", code, errOut.String())
	}
	for _, want := range []string{"with 4 clients against " + address, "missing 0, twice 0, different 0, extra 0"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("no %q in\n%s", want, out.String())
		}
	}
	cancel()
	if err := <-ended; err != nil {
		t.Error(err)
	}
}
