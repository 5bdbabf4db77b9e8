//go:build proof

package pebblestore_test

import (
	"context"
	"errors"
	"math"
	"math/rand/v2"
	"strconv"
	"sync/atomic"
	"testing"
	"time"

	"wamble/internal/prooftest"
	"wamble/runner"
	"wamble/runner/pebblestore"
)

// drainSome handles messages, until none is left or after some rounds.
func drainSome(t *testing.T, r *runner.Runner, rounds int) {
	t.Helper()
	w, err := r.NewWorker(7, runner.WorkerOptions{Handler: func(context.Context, *runner.Tx,
		*runner.Delivery) error {
		return nil
	}})
	if err != nil {
		t.Fatal(err)
	}
	for n := 1; n > 0 && rounds > 0; rounds-- {
		if n, err = w.Tick(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Remove(); err != nil {
		t.Fatal(err)
	}
}

// await waits until ok holds, and fails the test after three minutes.
func await(t *testing.T, what string, ok func() bool) {
	t.Helper()
	for end := time.Now().Add(3 * time.Minute); !ok(); time.Sleep(20 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("never: %s", what)
		}
	}
}

// TestSmallDisk: a journal uses about the space of its content; on a small disk it refuses
// before the disk is full, never fails, and recovers by itself when its messages are handled.
func TestSmallDisk(t *testing.T) {
	prooftest.Needs(t, "minutes")
	const mb = 1 << 20
	for _, mode := range []pebblestore.Durability{pebblestore.Fsync, pebblestore.Write} {
		fs := newSmallFS(100 * mb)
		r, err := runner.Open(pebblestore.AtFS(fs, "/journal", pebblestore.Options{Durability: mode}),
			runner.Options{Create: true, MinFree: 8 * mb})
		if err != nil {
			t.Fatal(err)
		}
		defer r.Close()
		if n, err := postMany(t, r, 100); err != nil {
			t.Fatalf("after %d: %v", n, err)
		}
		if used := fs.usage(); used > 12*mb {
			t.Errorf("mode %d: %d MB for 3 MB of messages", mode, used/mb)
		}
		for round := range 2 {
			posted, err := postMany(t, r, 100_000)
			if !errors.Is(err, runner.ErrNoSpace) {
				t.Fatalf("mode %d, round %d: after %d messages %v, want ErrNoSpace", mode, round, posted, err)
			}
			if posted < 200 {
				t.Errorf("mode %d, round %d: full after %d messages of 32 KB", mode, round, posted)
			}
			if r.State() != runner.ReadOnly {
				t.Errorf("state %v", r.State())
			}
			drainSome(t, r, math.MaxInt)
			await(t, "running after a complete drain", func() bool { return r.State() == runner.Running })
		}
	}
}

// TestFlushHasRoom: however late a flush begins, and however many memtables wait for it, the
// disk has space for it.
func TestFlushHasRoom(t *testing.T) {
	prooftest.Needs(t, "minutes")
	const mb = 1 << 20
	for _, mode := range []pebblestore.Durability{pebblestore.Fsync, pebblestore.Write} {
		fs, late := newSmallFS(100*mb), make(chan struct{})
		fs.slow = func() error { <-late; return nil }
		r, err := runner.Open(pebblestore.AtFS(fs, "/journal", pebblestore.Options{Durability: mode}),
			runner.Options{Create: true, MinFree: 8 * mb})
		if err != nil {
			t.Fatal(err)
		}
		defer r.Close()
		if n, err := postMany(t, r, 100_000); !errors.Is(err, runner.ErrNoSpace) {
			t.Fatalf("mode %d: after %d messages %v, want ErrNoSpace", mode, n, err)
		}
		drainSome(t, r, math.MaxInt)
		close(late)
		await(t, "running after a complete drain", func() bool { return r.State() == runner.Running })
	}
}

// TestSmallDiskSeeds: a small disk whose tables are written fast, slowly, or not at all for a
// while never stops a journal for good: posts, refusals, drains and compactions in any order,
// and when all messages are taken away it recovers by itself.
func TestSmallDiskSeeds(t *testing.T) {
	prooftest.Needs(t, "minutes")
	for range prooftest.Sized(1, 20, 1000) {
		seed := prooftest.Seed(t)
		t.Run(strconv.FormatUint(seed, 10), func(t *testing.T) {
			t.Parallel() // it waits most of the time
			smallDisk(t, rand.New(rand.NewPCG(seed, 0)))
		})
	}
}

func smallDisk(t *testing.T, random *rand.Rand) {
	const mb = 1 << 20
	fs := newSmallFS(int64(24+random.IntN(24)) * mb)
	var late atomic.Int64 // tables are not written before that time, in ns
	pause := time.Duration(random.IntN(3)) * 50 * time.Microsecond
	fs.slow = func() error {
		time.Sleep(time.Until(time.Unix(0, late.Load())) + pause)
		return nil
	}
	s := pebblestore.AtFS(fs, "/journal", pebblestore.Options{Durability: pebblestore.Durability(random.IntN(2))})
	s.SmallTables(1<<(19+random.IntN(5)), 2+random.IntN(8))
	r, err := runner.Open(s, runner.Options{Create: true, MinFree: int64(3+random.IntN(4)) * mb})
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	for range 3 + random.IntN(6) {
		switch random.IntN(5) {
		case 0:
			late.Store(time.Now().UnixNano() + random.Int64N(int64(300*time.Millisecond)))
		case 1, 2:
			part := payload[:1<<10+random.IntN(len(payload)-1<<10)]
			for range random.IntN(32 * mb / len(part)) {
				_, err := r.Post(t.Context(), &runner.Message{To: 7, ID: []byte("m"), Payload: part})
				if errors.Is(err, runner.ErrNoSpace) {
					break
				}
				if err != nil {
					t.Fatal(err)
				}
			}
		case 3:
			drainSome(t, r, 1+random.IntN(20))
		default:
			drainSome(t, r, math.MaxInt)
			await(t, "running after a complete drain", func() bool { return r.State() == runner.Running })
		}
	}
	drainSome(t, r, math.MaxInt)
	await(t, "running after the last drain", func() bool { return r.State() == runner.Running })
	if err := r.Close(); err != nil {
		t.Error(err)
	}
}

func (s *smallFS) usage() int64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.used
}
