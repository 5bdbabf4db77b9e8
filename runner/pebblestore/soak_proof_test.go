//go:build proof

package pebblestore_test

import (
	"context"
	"encoding/binary"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"wamble/internal/prooftest"
	"wamble/runner"
	"wamble/runner/pebblestore"
)

// The load of TestSoak.
const (
	soakProducers = 16
	soakWaiting   = 20_000    // messages that may wait at most
	soakDisk      = 512 << 20 // bytes that the directory may have at most
)

// TestSoak runs producers, a worker with every kind of effect, a drain of the outbox and a
// reader for five minutes (WAMBLE_SOAK=1, else 20 seconds). The speed of every fifth is
// printed; that it does not decay is for people to see. Asserted is that every message took
// effect once, that the numbers add up, and that the directory stays small however much
// passes through it.
func TestSoak(t *testing.T) {
	prooftest.Needs(t, "minutes")
	length := prooftest.Sized(0, 20*time.Second, 5*time.Minute)
	s := &soak{t: t, dir: filepath.Join(t.TempDir(), "runner"), room: make(chan struct{}, soakWaiting)}
	s.open()
	ctx, stop := context.WithTimeout(t.Context(), length)
	defer stop()
	var beside, producers sync.WaitGroup
	besideCtx, stopBeside := context.WithCancel(t.Context())
	defer stopBeside()
	beside.Go(func() { s.drainOutbox(besideCtx) })
	beside.Go(func() { s.watch(besideCtx, length/5) })
	for p := range soakProducers {
		producers.Go(func() { s.produce(ctx, p) })
	}
	producers.Wait()
	// All space given back means that all messages are settled.
	for range soakWaiting {
		s.room <- struct{}{}
	}
	stopBeside()
	beside.Wait()
	s.check()
	if err := s.r.Close(); err != nil {
		t.Fatal(err)
	}
}

type soak struct {
	t       *testing.T
	dir     string
	r       *runner.Runner
	room    chan struct{}
	posted  atomic.Uint64
	eighths atomic.Uint64 // of these, the ones that are emitted
	doomed  atomic.Uint64 // of these, the ones that become dead letters
	done    uint64        // worker's goroutine
	passed  atomic.Uint64
	emitted atomic.Uint64
	largest atomic.Int64
}

func (s *soak) open() {
	s.t.Helper()
	r, err := runner.Open(pebblestore.At(s.dir, pebblestore.Options{}),
		runner.Options{Create: true, Sinks: runner.Sinks{Metrics: s.progress}})
	if err != nil {
		s.t.Fatal(err)
	}
	s.r = r
	w, err := r.NewWorker(7, runner.WorkerOptions{Handler: s.handle})
	if err == nil {
		err = w.Start(context.Background())
	}
	if err != nil {
		s.t.Fatal(err)
	}
}

// progress frees the space of settled messages whose commit is durable.
func (s *soak) progress(_ uint64, m runner.Metrics) {
	for now := m.Successes + m.DeadLetters; s.done < now; s.done++ {
		<-s.room
	}
	s.passed.Store(s.done)
}

// handle counts, writes one of a thousand keys, emits one message in eight,
// fails one in fifty at first and one in a thousand for good.
func (s *soak) handle(_ context.Context, tx *runner.Tx, d *runner.Delivery) error {
	n := binary.BigEndian.Uint64(d.Payload)
	switch {
	case n%1000 == 999:
		return runner.Discard(errors.New("one in a thousand"))
	case n%50 == 49 && d.Attempts == 1:
		return runner.Retry(errors.New("one in fifty"), 20*time.Millisecond)
	}
	if _, err := bump(tx, "soak"); err != nil {
		return err
	}
	if err := tx.Put(binary.BigEndian.AppendUint64([]byte("soak/"), n%1000), d.Payload); err != nil || n%8 != 0 {
		return err
	}
	return tx.Emit(d.ID)
}

func (s *soak) produce(ctx context.Context, producer int) {
	m := runner.Message{To: 7, Payload: make([]byte, 100)}
	for n := uint64(0); ctx.Err() == nil; n++ {
		s.room <- struct{}{}
		m.ID = binary.BigEndian.AppendUint64(append(m.ID[:0], byte(producer)), n)
		binary.BigEndian.PutUint64(m.Payload, n)
		// Not with ctx: a post that is given up may still have happened.
		if _, err := s.r.Post(context.Background(), &m); err != nil {
			s.t.Error(err)
			return
		}
		s.posted.Add(1)
		if n%8 == 0 {
			s.eighths.Add(1)
		}
		if n%1000 == 999 {
			s.doomed.Add(1)
		}
	}
}

func (s *soak) drainOutbox(ctx context.Context) {
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for ctx.Err() == nil {
		n, err := s.r.DrainOutbox(context.Background(), 10_000, func(runner.OutboxRow) error { return nil })
		if err != nil {
			s.t.Error(err)
			return
		}
		s.emitted.Add(uint64(n))
		select {
		case <-tick.C:
		case <-ctx.Done():
		}
	}
}

// watch prints the speed of every fifth, reads beside the work, and records the largest size
// of the directory.
func (s *soak) watch(ctx context.Context, fifth time.Duration) {
	report, look := time.NewTicker(fifth), time.NewTicker(fifth/20)
	defer report.Stop()
	defer look.Stop()
	var last uint64
	var first float64
	for {
		select {
		case <-ctx.Done():
			return
		case <-look.C:
			s.largest.Store(max(s.largest.Load(), s.size()))
			if _, err := s.r.Inbox(7, 0, 100); err != nil {
				s.t.Error(err)
			}
		case <-report.C:
			now := s.passed.Load()
			speed := float64(now-last) / fifth.Seconds()
			if first == 0 {
				first = speed
			}
			s.t.Logf("%.0f messages/s, %.2f of the first fifth; %d MB on disk", speed, speed/max(first, 1),
				s.size()>>20)
			last = now
		}
	}
}

func (s *soak) size() int64 {
	var sum int64
	err := filepath.WalkDir(s.dir, func(_ string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		info, err := d.Info()
		if err == nil {
			sum += info.Size()
		}
		return err
	})
	if err != nil && !errors.Is(err, os.ErrNotExist) { // Pebble removes files meanwhile
		s.t.Error(err)
	}
	return sum
}

func (s *soak) check() {
	s.t.Helper()
	n, err := s.r.DrainOutbox(context.Background(), 1<<30, func(runner.OutboxRow) error { return nil })
	if err != nil {
		s.t.Fatal(err)
	}
	s.emitted.Add(uint64(n))
	stats := s.r.Stats()
	var applied uint64
	_, err = s.r.Update(context.Background(), runner.AttemptPolicy{}, func(tx *runner.Tx) (err error) {
		applied, err = readCounter(tx, "soak")
		return err
	})
	if err != nil {
		s.t.Fatal(err)
	}
	posted, doomed := s.posted.Load(), s.doomed.Load()
	if posted == 0 || applied != posted-doomed || stats.DeadLetters != doomed {
		s.t.Errorf("posted %d, took effect %d and died %d, want %d dead", posted, applied, stats.DeadLetters, doomed)
	}
	if got, want := s.emitted.Load(), s.eighths.Load(); got != want || stats.Outbox != 0 {
		s.t.Errorf("the outbox gave %d messages and has %d left, want %d and none", got, stats.Outbox, want)
	}
	for _, in := range stats.Inboxes {
		if in.Depth != 0 {
			s.t.Errorf("inbox %d has %d messages left", in.Worker, in.Depth)
		}
	}
	if largest := s.largest.Load(); largest == 0 || largest > soakDisk {
		s.t.Errorf("the directory grew to %d bytes, want at most %d", largest, soakDisk)
	}
	s.t.Logf("%d messages, at most %d MB on disk", posted, s.largest.Load()>>20)
}
