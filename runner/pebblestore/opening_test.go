package pebblestore_test

import (
	"context"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/cockroachdb/pebble/v2/vfs/errorfs"

	"wamble/internal/prooftest"
	"wamble/runner"
	"wamble/runner/pebblestore"
)

// TestCrashWhileOpening loses power at every single write, sync, rename and removal of an
// opening (make test: at one of six), with more or less of the unsynced data. Everything that
// was acknowledged is there afterwards, and messages posted at the next opening survive it
// too.
func TestCrashWhileOpening(t *testing.T) {
	t.Parallel()
	open := func(fs vfs.FS) *runner.Runner {
		t.Helper()
		r, err := runner.Open(pebblestore.AtFS(fs, "/journal", pebblestore.Options{}),
			runner.Options{Create: true, MinFree: -1})
		if err != nil {
			t.Fatal(err)
		}
		return r
	}
	post := func(r *runner.Runner, n int) {
		t.Helper()
		for i := range n {
			if _, err := r.Post(context.Background(), &runner.Message{To: 7, ID: fmt.Append(nil, "m", i)}); err != nil {
				t.Fatal(err)
			}
		}
	}
	depth := func(r *runner.Runner) uint64 { return r.Stats().Inboxes[0].Depth }
	for seed, percent := range []int{0, 50} {
		// The directory after a crash: messages in a table and in a log.
		before := vfs.NewCrashableMem()
		r := open(before)
		post(r, 20)
		if err := r.Flush(); err != nil {
			t.Fatal(err)
		}
		post(r, 20)
		crashed := before.CrashClone(vfs.CrashCloneCfg{UnsyncedDataPercent: percent, RNG: newRand(uint64(seed))})
		if err := r.Close(); err != nil {
			t.Fatal(err)
		}
		for point := int64(1); ; point += prooftest.Sized[int64](6, 1, 1) {
			fs := crashed.CrashClone(vfs.CrashCloneCfg{UnsyncedDataPercent: 100, RNG: newRand(1)})
			var count atomic.Int64
			var after *vfs.MemFS
			r := open(errorfs.Wrap(fs, errorfs.InjectorFunc(func(op errorfs.Op) error {
				if counts(op) && count.Add(1) == point {
					after = fs.CrashClone(vfs.CrashCloneCfg{UnsyncedDataPercent: percent, RNG: newRand(uint64(point))})
				}
				return nil
			})))
			post(r, 5)
			acked := fs.CrashClone(vfs.CrashCloneCfg{RNG: newRand(2)})
			if err := r.Close(); err != nil {
				t.Fatal(err)
			}
			if after == nil {
				if point < 20 {
					t.Errorf("an opening has only %d writes", point)
				}
				break
			}
			r = open(after)
			if got := depth(r); got < 40 || got > 45 {
				t.Errorf("crash at write %d, %d %% kept: %d messages, want 40 and up to 5 more", point, percent, got)
			}
			r.Close()
			r = open(acked)
			if got := depth(r); got != 45 {
				t.Errorf("crash after the opening: %d messages, want 45", got)
			}
			r.Close()
		}
	}
}

// TestDirectorySyncWhileOpening makes each sync of the directory fail while Pebble opens: Open
// says so, and the next one finds everything.
func TestDirectorySyncWhileOpening(t *testing.T) {
	t.Parallel()
	for point := int64(1); ; point++ {
		fs := vfs.NewMem()
		var count atomic.Int64
		var armed atomic.Bool
		storage := pebblestore.AtFS(errorfs.Wrap(fs, errorfs.InjectorFunc(func(op errorfs.Op) error {
			if armed.Load() && op.Kind == errorfs.OpFileSync && op.Path == "/r" && count.Add(1) == point {
				return errorfs.ErrInjected
			}
			return nil
		})), "/r", pebblestore.Options{})
		open := func() (*runner.Runner, error) {
			return runner.Open(storage, runner.Options{Create: true, MinFree: -1})
		}
		r, err := open()
		if err != nil {
			t.Fatal(err)
		}
		if _, err := r.Post(context.Background(), &runner.Message{To: 7, ID: []byte("m")}); err != nil {
			t.Fatal(err)
		}
		if err := r.Close(); err != nil {
			t.Fatal(err)
		}
		armed.Store(true)
		r, err = open()
		armed.Store(false)
		failed := count.Load() >= point
		if failed != (err != nil && strings.Contains(err.Error(), errorfs.ErrInjected.Error())) {
			t.Errorf("sync %d of the directory failed: %t, and Open returned %v", point, failed, err)
		}
		if err != nil {
			if r, err = open(); err != nil {
				t.Fatal(err)
			}
		}
		if depth := r.Stats().Inboxes[0].Depth; depth != 1 {
			t.Errorf("sync %d: %d messages, want 1", point, depth)
		}
		r.Close()
		if !failed {
			if point == 1 {
				t.Error("opening syncs no directory")
			}
			return
		}
	}
}
