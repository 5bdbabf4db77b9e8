package loader

import (
	"net/netip"
	"os"
	"path/filepath"
	"testing"
	"time"

	"wamble/wire"
)

// TestEchoKeeps: an echo with a log has each request in it before it answers.
func TestEchoKeeps(t *testing.T) {
	log, err := os.Create(filepath.Join(t.TempDir(), "log"))
	if err != nil {
		t.Fatal(err)
	}
	defer log.Close()
	e, err := OpenEcho(netip.MustParseAddrPort("127.0.0.1:0"), log)
	if err != nil {
		t.Fatal(err)
	}
	ended := make(chan struct{})
	go func() { defer close(ended); e.Serve() }()
	r := play(t, t.Context(), Options{Server: e.Addr(), Mode: Moves, Clients: 2, Duration: 200 * time.Millisecond})
	e.Close()
	<-ended
	kept, err := os.ReadFile(log.Name())
	if err != nil {
		t.Fatal(err)
	}
	if r.Answered == 0 || uint64(len(kept)) < r.Answered*wire.HeaderSize {
		t.Errorf("%d moves were answered, and %d bytes kept", r.Answered, len(kept))
	}
}
