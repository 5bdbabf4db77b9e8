package pebblestore_test

import (
	"errors"
	"path/filepath"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/cockroachdb/pebble/v2/vfs/errorfs"

	"wamble/internal/prooftest"
	"wamble/runner"
	"wamble/runner/pebblestore"
)

// TestWriteErrorEverySpelling: an error for which Pebble would end the process fails
// the runner, however its directory is spelled, and it can be opened again.
func TestWriteErrorEverySpelling(t *testing.T) {
	for _, dir := range []string{"data", "./data", "sub//data", "data/", "./sub/../data", "."} {
		t.Run(strings.ReplaceAll(dir, "/", "_"), func(t *testing.T) {
			t.Chdir(t.TempDir())
			var broken atomic.Bool
			fs := errorfs.Wrap(vfs.Default, errorfs.InjectorFunc(func(op errorfs.Op) error {
				next := op.Kind == errorfs.OpCreate || op.Kind == errorfs.OpReuseForWrite
				if broken.Load() && next && strings.HasSuffix(op.Path, ".log") {
					return syscall.EIO
				}
				return nil
			}))
			r, err := runner.Open(pebblestore.AtFS(fs, dir, pebblestore.Options{}),
				runner.Options{Create: true, MinFree: -1})
			if err != nil {
				t.Fatal(err)
			}
			defer r.Close()
			broken.Store(true)
			if err := r.Flush(); !errors.Is(err, runner.ErrFailed) {
				t.Errorf("flush without a next log: %v, want ErrFailed", err)
			}
			<-r.Failed()
			broken.Store(false)
			if err := r.Reopen(); err != nil {
				t.Fatal(err)
			}
			if _, err := r.Post(t.Context(), &runner.Message{To: 7, ID: []byte("kept")}); err != nil {
				t.Error(err)
			}
		})
	}
}

// TestCheckpointFails: a checkpoint that cannot be written does not touch the journal,
// whatever the name of its directory begins with.
func TestCheckpointFails(t *testing.T) {
	for _, name := range []string{"journal.bak", "journal/bak", "elsewhere"} {
		t.Run(filepath.Base(name), func(t *testing.T) {
			t.Chdir(t.TempDir())
			fs := errorfs.Wrap(vfs.Default, errorfs.InjectorFunc(func(op errorfs.Op) error {
				if strings.HasPrefix(op.Path, name) && (op.Kind == errorfs.OpCreate || op.Kind == errorfs.OpFileSync) {
					return syscall.ENOSPC
				}
				return nil
			}))
			r, err := runner.Open(pebblestore.AtFS(fs, "journal", pebblestore.Options{}),
				runner.Options{Create: true, MinFree: -1})
			if err != nil {
				t.Fatal(err)
			}
			defer r.Close()
			if err := r.Checkpoint(name); !errors.Is(err, syscall.ENOSPC) {
				t.Errorf("checkpoint: %v, want ENOSPC", err)
			}
			if _, err := r.Post(t.Context(), &runner.Message{To: 7, ID: []byte("m")}); err != nil {
				t.Errorf("after it: %v", err)
			}
		})
	}
}

// TestOpenOnFullDisk: the disk is full from a single write of an opening on, which then
// fails; with free space again the next one succeeds in the same process, and everything is
// there. Each storage is new, so that no compaction runs beside an opening that fails: Pebble
// closes its cache under it, and may panic.
func TestOpenOnFullDisk(t *testing.T) {
	t.Parallel()
	points, every := 0, prooftest.Sized[int64](12, 3, 1)
	for point := int64(1); openOnFullDisk(t, point); point += every {
		points += int(every)
	}
	if points < 15 {
		t.Errorf("an opening has only %d writes", points)
	}
}

// openOnFullDisk reports whether an opening has so many writes.
func openOnFullDisk(t *testing.T, point int64) bool {
	t.Helper()
	var count, full atomic.Int64
	fs := errorfs.Wrap(vfs.NewMem(), errorfs.InjectorFunc(func(op errorfs.Op) error {
		if n := full.Load(); n > 0 && counts(op) && count.Add(1) >= n && op.Kind != errorfs.OpRemove {
			return syscall.ENOSPC
		}
		return nil
	}))
	storage := pebblestore.AtFS(fs, "/journal", pebblestore.Options{})
	open := func() (*runner.Runner, error) {
		return runner.Open(storage, runner.Options{Create: true, MinFree: -1})
	}
	r, err := open()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := r.Post(t.Context(), &runner.Message{To: 7, ID: []byte("m")}); err != nil {
		t.Fatal(err)
	}
	if err := r.Close(); err != nil {
		t.Fatal(err)
	}
	full.Store(point)
	r, err = open()
	full.Store(0)
	if err == nil {
		r.Close()
	}
	if r, err = open(); err != nil {
		t.Fatalf("after a disk that was full at write %d: %v", point, err)
	}
	defer r.Close()
	if d := r.Stats().Inboxes[0].Depth; d != 1 {
		t.Fatalf("after a disk that was full at write %d: %d messages, want 1", point, d)
	}
	return count.Load() >= point
}
