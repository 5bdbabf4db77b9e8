package pebblestore_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/cockroachdb/pebble/v2/vfs/errorfs"

	"wamble/internal/prooftest"
	"wamble/runner"
	"wamble/runner/pebblestore"
)

// succession is a world whose first process has made a bridge and was replaced, with
// everything that the kernel had of its files.
func succession(t *testing.T, s uint64) (*world, *vfs.MemFS) {
	t.Helper()
	x := newWorld(s)
	fs := vfs.NewCrashableMem()
	storage := pebblestore.AtFS(fs, "/r", pebblestore.Options{})
	storage.SmallBridge()
	if err := x.open(storage); err != nil {
		t.Fatal(err)
	}
	x.steps(t, x.rng.IntN(60))
	if err := storage.PrepareBridge(); err != nil {
		t.Fatal(err)
	}
	x.steps(t, x.rng.IntN(10))
	next := fs.CrashClone(vfs.CrashCloneCfg{UnsyncedDataPercent: 100, RNG: newRand(s)})
	if err := x.r.Close(); err != nil {
		t.Fatal(err)
	}
	return x, next
}

func (x *world) steps(t *testing.T, n int) {
	t.Helper()
	for range n {
		if err := x.step(context.Background()); err != nil {
			t.Fatal(err)
		}
	}
}

// bridge opens the world over its bridge. Pebble opens for writing when release is called.
func (x *world) bridge(fs vfs.FS) (_ *pebblestore.Storage, release func(), err error) {
	storage := pebblestore.AtFS(fs, "/r", pebblestore.Options{Bridge: true})
	held := make(chan struct{})
	storage.HoldCross(held)
	x.held = true
	release = sync.OnceFunc(func() {
		x.held = false
		close(held)
	})
	return storage, release, x.open(storage)
}

// TestBridge: rows that are committed to the bridge are read at once, by an inspection from
// outside, and by Pebble when it has taken over. The next process finds no bridge.
func TestBridge(t *testing.T) {
	t.Parallel()
	x, fs := succession(t, prooftest.Seed(t))
	epoch := x.r.Epoch()
	storage, release, err := x.bridge(fs)
	if err != nil {
		t.Fatal(err)
	}
	defer release()
	if got, want := x.r.Epoch(), epoch+1; got != want {
		t.Errorf("epoch: got %d, want %d", got, want)
	}
	x.steps(t, 60)
	if places := whereabouts(t, x.r); len(places) < len(x.acked) {
		t.Errorf("got %d messages, want %d", len(places), len(x.acked))
	}
	if err := storage.PrepareBridge(); err == nil {
		t.Error("a bridge was made while another is in use")
	}
	look, err := runner.OpenReadOnly(pebblestore.AtFS(fs.CrashClone(vfs.CrashCloneCfg{}), "/r", pebblestore.Options{}), x.options())
	if err != nil {
		t.Fatal(err)
	}
	rows, err := look.Inbox(7, 0, 100000)
	if want := x.r.Stats().Inboxes[0].Depth; err != nil || uint64(len(rows)) != want {
		t.Errorf("a look at the bridge: got %d rows, %v, want %d", len(rows), err, want)
	}
	if err := look.Close(); err != nil {
		t.Error(err)
	}
	release()
	x.steps(t, 60)
	if err := x.r.Flush(); err != nil { // it waits for Pebble
		t.Fatal(err)
	}
	x.steps(t, 60)
	if err := x.r.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := fs.Stat("/r/bridge"); err == nil {
		t.Error("the bridge is still there")
	}
	if err := x.open(storage); err != nil {
		t.Fatal(err)
	}
	defer x.r.Close()
	for _, w := range x.workers {
		if err := w.Remove(); err != nil {
			t.Fatal(err)
		}
	}
	x.check(t, x.r, x.acked)
}

// TestCrashOnBridge stops the file system at a random write of a process that began with a
// bridge, keeps a random part of the unsynced data, and checks the rest.
func TestCrashOnBridge(t *testing.T) {
	t.Parallel()
	s := prooftest.Seed(t)
	for round := range prooftest.Sized(4, 200, 5_000) {
		crashOnBridge(t, s+uint64(round))
		if t.Failed() {
			t.Fatalf("round %d: repeat with WAMBLE_SEED=%d", round, s+uint64(round))
		}
	}
}

func crashOnBridge(t *testing.T, s uint64) {
	x, fs := succession(t, s)
	point := int64(1 + x.rng.IntN(120))
	percent := []int{0, 30, 70, 100}[x.rng.IntN(4)]
	var count atomic.Int64
	var clone *vfs.MemFS
	acked := map[string]bool{}
	inject := errorfs.InjectorFunc(func(op errorfs.Op) error {
		if counts(op) && count.Add(1) == point {
			x.mu.Lock()
			defer x.mu.Unlock()
			maps.Copy(acked, x.acked)
			clone = fs.CrashClone(vfs.CrashCloneCfg{UnsyncedDataPercent: percent, RNG: newRand(s)})
		}
		return nil
	})
	_, release, err := x.bridge(errorfs.Wrap(fs, inject))
	if err != nil {
		t.Fatal(err)
	}
	crossing := x.rng.IntN(60)
	for n := 0; n < 5000 && count.Load() < point; n++ {
		if n == crossing {
			release()
		}
		x.steps(t, 1)
	}
	release()
	if err := x.r.Close(); err != nil {
		t.Fatal(err)
	}
	if clone == nil {
		t.Fatalf("%d writes, the crash was planned at %d", count.Load(), point)
	}
	storage := pebblestore.AtFS(clone, "/r", pebblestore.Options{Bridge: x.rng.IntN(2) == 0})
	r, err := runner.Open(storage, x.options())
	if err != nil {
		t.Fatalf("reopen after crash at write %d: %v", point, err)
	}
	defer r.Close()
	if lost := storage.Lost(); lost != 0 {
		t.Errorf("%d acknowledged writes are missing", lost)
	}
	x.check(t, r, acked)
}

// TestFaultOnBridge makes one write after the other fail in a process that began with a
// bridge. Reopening finds everything that was acknowledged.
func TestFaultOnBridge(t *testing.T) {
	t.Parallel()
	s := prooftest.Seed(t)
	failed := 0
	tried, every := 0, prooftest.Sized(16, 1, 1)
	for round := 0; round < prooftest.Sized(80, 80, 2000); round += every {
		tried++
		if faultOnBridge(t, s+uint64(round), int64(1+round)) {
			failed++
		}
		if t.Failed() {
			t.Fatalf("fault at write %d: repeat with WAMBLE_SEED=%d", 1+round, s)
		}
	}
	if failed < tried/4 {
		t.Errorf("only %d of %d faults surfaced", failed, tried)
	}
}

func faultOnBridge(t *testing.T, s uint64, point int64) (surfaced bool) {
	x, fs := succession(t, s)
	var count atomic.Int64
	var off atomic.Bool
	inject := errorfs.InjectorFunc(func(op errorfs.Op) error {
		if !off.Load() && counts(op) && count.Add(1) == point {
			return fmt.Errorf("write %d: %w", point, errorfs.ErrInjected)
		}
		return nil
	})
	storage, release, err := x.bridge(errorfs.Wrap(fs, inject))
	defer release()
	if err != nil {
		surfaced = true
		if err := x.open(storage); err != nil {
			t.Fatalf("second open: %v", err)
		}
	}
	defer func() { x.r.Close() }()
	crossing := x.rng.IntN(40)
	for n := 0; n < 600 && count.Load() < point+5; n++ {
		if n == crossing {
			release()
		}
		if err := x.step(context.Background()); err != nil {
			surfaced = true
			if !errors.Is(err, runner.ErrFailed) && x.r.State() != runner.Failed {
				t.Errorf("got %v in state %v, want a failed runner", err, x.r.State())
			}
			break
		}
	}
	release()
	off.Store(true)
	for _, w := range x.workers {
		if err := w.Remove(); err != nil && !errors.Is(err, runner.ErrFailed) {
			t.Error(err)
		}
	}
	if err := x.r.Reopen(); err != nil {
		t.Fatalf("reopen: %v", err)
	}
	x.check(t, x.r, x.acked)
	return surfaced
}
