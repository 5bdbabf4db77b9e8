package pebblestore

import (
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"
)

// TestBridgeBehindFence: a Pebble that fails while it takes over blocks no caller that
// crosses the bridge, for which Close would wait; it blocks only its own goroutines.
func TestBridgeBehindFence(t *testing.T) {
	t.Parallel()
	fs := vfs.NewMem()
	s := &Storage{fs: fs, dir: "runner"}
	if err := fs.MkdirAll("runner", 0o700); err != nil {
		t.Fatal(err)
	}
	file, err := fs.Create(s.bridgePath(), vfs.WriteCategoryUnspecified)
	if err != nil {
		t.Fatal(err)
	}
	file.Close()
	f := newFencedFS(fs, "runner", Fsync, func(error) {})
	f.strict = true
	f.close()
	returned := make(chan struct{})
	go func() {
		s.removeBridge(f)
		close(returned)
	}()
	select {
	case <-returned:
	case <-time.After(3 * time.Minute):
		t.Fatal("it does not return")
	}
	if _, err := fs.Stat(s.bridgePath()); err != nil {
		t.Errorf("a closed fence let a write through: %v", err)
	}
}
