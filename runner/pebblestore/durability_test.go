package pebblestore_test

import (
	"context"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/cockroachdb/pebble/v2/vfs/errorfs"

	"wamble/runner"
	"wamble/runner/pebblestore"
)

// TestDurability: every post is written to the log before it returns, and is
// synced with Fsync and not with Write.
func TestDurability(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name  string
		mode  pebblestore.Durability
		syncs bool
	}{{"fsync", pebblestore.Fsync, true}, {"write", pebblestore.Write, false}} {
		t.Run(c.name, func(t *testing.T) {
			var writes, syncs atomic.Int64
			fs := errorfs.Wrap(vfs.NewMem(), errorfs.InjectorFunc(func(op errorfs.Op) error {
				if strings.HasSuffix(op.Path, ".log") {
					switch op.Kind {
					case errorfs.OpFileWrite:
						writes.Add(1)
					case errorfs.OpFileSync, errorfs.OpFileSyncData, errorfs.OpFileSyncTo:
						syncs.Add(1)
					}
				}
				return nil
			}))
			r, err := runner.Open(pebblestore.AtFS(fs, "/d", pebblestore.Options{Durability: c.mode}),
				runner.Options{Create: true, MinFree: -1})
			if err != nil {
				t.Fatal(err)
			}
			defer r.Close()
			for range 20 {
				w, s := writes.Load(), syncs.Load()
				if _, err := r.Post(context.Background(), &runner.Message{To: 7, ID: []byte("m")}); err != nil {
					t.Fatal(err)
				}
				if writes.Load() == w {
					t.Error("a post returned before it was written to the log")
				}
				if got := syncs.Load() > s; got != c.syncs {
					t.Errorf("synced: got %v, want %v", got, c.syncs)
				}
			}
		})
	}
}

// TestWriteSurvivesKill: data that the kernel has are kept when the process is killed, though
// nothing was synced.
func TestWriteSurvivesKill(t *testing.T) {
	t.Parallel()
	fs := vfs.NewCrashableMem()
	open := func(fs vfs.FS) *runner.Runner {
		r, err := runner.Open(pebblestore.AtFS(fs, "/d", pebblestore.Options{Durability: pebblestore.Write}),
			runner.Options{Create: true, MinFree: -1})
		if err != nil {
			t.Fatal(err)
		}
		return r
	}
	r := open(fs)
	defer r.Close()
	for range 50 {
		if _, err := r.Post(context.Background(), &runner.Message{To: 7, ID: []byte("m")}); err != nil {
			t.Fatal(err)
		}
	}
	// A kill keeps all of the page cache: 100 % of the unsynced data.
	after := open(fs.CrashClone(vfs.CrashCloneCfg{UnsyncedDataPercent: 100, RNG: newRand(1)}))
	defer after.Close()
	if got := after.Stats().Inboxes[0].Depth; got != 50 {
		t.Errorf("got %d messages, want 50", got)
	}
}
