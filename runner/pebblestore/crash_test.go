package pebblestore_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/cockroachdb/pebble/v2/vfs/errorfs"

	"wamble/internal/prooftest"
	"wamble/runner"
	"wamble/runner/internal/mailbox"
	"wamble/runner/pebblestore"
	"wamble/runner/runnertest"
)

// world drives a runner at random and records what was acknowledged. Its inbox has an ordered
// worker or two that compete, with a handler or a batch handler; other requests change what
// the handlers have read.
type world struct {
	rng     *rand.Rand
	clock   *runnertest.Clock
	r       *runner.Runner
	workers []*runner.Worker
	next    int

	mu    sync.Mutex
	acked map[string]bool // ids of messages and timers that must not be lost
	tried map[string]bool // ids that may or may not be there
}

func newWorld(s uint64) *world {
	return &world{
		rng: rand.New(rand.NewPCG(s, 1)), clock: runnertest.NewClock(1000),
		acked: map[string]bool{}, tried: map[string]bool{},
	}
}

func (x *world) options() runner.Options {
	return runner.Options{Create: true, Now: x.clock.Now, Sleep: x.clock.Sleep, MinFree: -1}
}

func (x *world) open(s runner.Storage) error {
	r, err := runner.Open(s, x.options())
	if err != nil {
		return err
	}
	x.r, x.workers = r, nil
	o := runner.WorkerOptions{Ordered: x.rng.IntN(4) == 0}
	for range 2 {
		o.MaxBatch, o.Handler, o.Batch = 1+x.rng.IntN(8), x.handle, nil
		if x.rng.IntN(3) == 0 {
			o.Handler, o.Batch = nil, x.handleBatch
		}
		w, err := r.NewWorker(7, o)
		if err != nil {
			return err
		}
		if x.workers = append(x.workers, w); o.Ordered {
			break
		}
	}
	return nil
}

// handle completes most messages: state and outbox record that.
func (x *world) handle(ctx context.Context, tx *runner.Tx, d *runner.Delivery) error {
	switch x.rng.IntN(8) {
	case 0:
		return runner.Retry(errors.New("again"), 0)
	case 1:
		return runner.Discard(errors.New("never"))
	case 2:
		if err := x.disturb(ctx, tx); err != nil {
			return err
		}
	}
	return complete(tx, d)
}

// handleBatch is handle for a batch: some of its messages fail, or all.
func (x *world) handleBatch(ctx context.Context, b *runner.Batched) error {
	if x.rng.IntN(4) == 0 {
		if err := x.disturb(ctx, b.Tx); err != nil {
			return err
		}
	}
	for i := range b.Deliveries {
		switch x.rng.IntN(12) {
		case 0:
			b.Fail(i, runner.Discard(errors.New("never")))
			continue
		case 1:
			return runner.Retry(errors.New("again"), 0)
		}
		if err := complete(b.Tx, &b.Deliveries[i]); err != nil {
			return err
		}
	}
	return nil
}

// disturb reads in tx a value that another request changes then, so that its commit meets a
// conflict.
func (x *world) disturb(ctx context.Context, tx *runner.Tx) error {
	key := []byte("disturbed")
	if _, err := tx.Get(key); err != nil && !errors.Is(err, runner.ErrNotFound) {
		return err
	}
	_, err := x.r.Update(ctx, runner.AttemptPolicy{},
		func(tx *runner.Tx) error { return tx.Put(key, []byte{byte(x.rng.Uint32())}) })
	return err
}

func complete(tx *runner.Tx, d *runner.Delivery) error {
	key := append([]byte("done/"), d.ID...)
	if _, err := tx.Get(key); err == nil {
		return fmt.Errorf("%s was done before", d.ID)
	}
	if err := tx.Put(key, []byte{1}); err != nil {
		return err
	}
	return tx.Emit(d.ID)
}

func (x *world) newID() string {
	x.next++
	id := fmt.Sprintf("m%d", x.next)
	x.mu.Lock()
	x.tried[id] = true
	x.mu.Unlock()
	return id
}

func (x *world) ack(ids ...string) {
	x.mu.Lock()
	defer x.mu.Unlock()
	for _, id := range ids {
		x.acked[id] = true
	}
}

// step takes one random step and returns its error.
func (x *world) step(ctx context.Context) error {
	x.clock.Advance(1e6)
	switch x.rng.IntN(10) {
	case 0, 1, 2:
		id := x.newID()
		m := runner.Message{To: 7, ID: []byte(id), Payload: make([]byte, x.rng.IntN(300))}
		m.Flags = []runner.Flags{0, 0, runner.HighPriority, runner.Dedupe}[x.rng.IntN(4)]
		_, err := x.r.Post(ctx, &m)
		if err == nil {
			x.ack(id)
		}
		return err
	case 3, 4:
		return x.group()
	case 5:
		id := x.newID()
		due := x.clock.Now().Add(time.Duration(x.rng.Int64N(6)-3) * time.Millisecond)
		_, err := x.r.Arm(ctx, due, &runner.Message{To: 7, ID: []byte(id)})
		if err == nil {
			x.ack(id)
		}
		return err
	case 6:
		switch x.rng.IntN(4) {
		case 0:
			return x.r.Flush()
		case 1:
			return x.claim(ctx)
		}
		_, err := x.r.ReplayDeadLetters(ctx, runner.DeadFilter{})
		return err
	}
	_, err := x.workers[x.rng.IntN(len(x.workers))].Tick(ctx)
	return err
}

// claim takes the lease of any row for some ticks, as another program may.
func (x *world) claim(ctx context.Context) error {
	rows, err := x.r.Inbox(7, 0, 100)
	if err != nil || len(rows) == 0 {
		return err
	}
	row := rows[x.rng.IntN(len(rows))].Row
	err = mailbox.Claim(ctx, x.r, row.Worker, row.Seq, x.clock.Now().Add(3*time.Millisecond))
	if errors.Is(err, runner.ErrLeased) {
		err = nil
	}
	return err
}

func (x *world) group() error {
	answer := make(chan error, 1)
	g := x.r.NewGroup(func(_ *runner.Group, err error) { answer <- err })
	var ids []string
	for range 1 + x.rng.IntN(12) {
		ids = append(ids, x.newID())
		if err := g.Add(&runner.Message{To: 7, ID: []byte(ids[len(ids)-1])}); err != nil {
			return err
		}
	}
	if err := x.r.Submit(g); err != nil {
		return err
	}
	err := <-answer
	if err == nil {
		x.ack(ids...)
	}
	return err
}

// check checks a recovered runner: everything acknowledged is in exactly one place, nothing
// is half applied, counts are true, and all work can be finished.
func (x *world) check(t *testing.T, r *runner.Runner, acked map[string]bool) {
	t.Helper()
	places := whereabouts(t, r)
	for id := range acked {
		if places[id] != 1 {
			t.Errorf("acknowledged %s is in %d places", id, places[id])
		}
	}
	for id, n := range places {
		if n != 1 || !x.tried[id] {
			t.Errorf("%s is in %d places (tried %v)", id, n, x.tried[id])
		}
	}
	ctx := context.Background()
	if _, err := r.ReplayDeadLetters(ctx, runner.DeadFilter{}); err != nil {
		t.Fatal(err)
	}
	x.clock.Advance(3600 * 1e9)
	w, err := r.NewWorker(7, runner.WorkerOptions{Handler: func(_ context.Context, tx *runner.Tx,
		d *runner.Delivery) error {
		return complete(tx, d)
	}})
	if err != nil {
		t.Fatal(err)
	}
	for range 2000 {
		s := r.Stats()
		if len(s.Inboxes) == 0 || s.Inboxes[0].Depth == 0 && s.Timers == 0 {
			break
		}
		if _, err := w.Tick(ctx); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Remove(); err != nil {
		t.Fatal(err)
	}
	dead, err := r.DeadLetters(runner.DeadFilter{}, runner.Row{}, 10000)
	if err != nil {
		t.Fatal(err)
	}
	crashed := map[string]bool{}
	for _, d := range dead {
		m, err := runner.DecodeMessage(d.Frame)
		if err != nil || d.Cause != runner.CauseCrash {
			t.Errorf("dead letter %v: %v, %v", d.Row, d.Reason, err)
		}
		crashed[string(m.ID)] = true
	}
	out := outboxIDs(t, r)
	for id := range acked {
		if out[id] != 1 && !crashed[id] {
			t.Errorf("%s took effect %d times", id, out[id])
		}
	}
	if s := r.Stats(); s.DeadLetters != uint64(len(dead)) || s.Timers != 0 || len(s.Inboxes) > 0 &&
		s.Inboxes[0].Depth != 0 {
		t.Errorf("counts at the end: %+v", s)
	}
}

func outboxIDs(t *testing.T, r *runner.Runner) map[string]int {
	t.Helper()
	rows, err := r.Outbox(0, 100000)
	if err != nil {
		t.Fatal(err)
	}
	out := map[string]int{}
	for _, row := range rows {
		out[string(row.Message)]++
	}
	if n := r.Stats().Outbox; n != uint64(len(rows)) {
		t.Errorf("the outbox has %d rows and counts %d", len(rows), n)
	}
	return out
}

// whereabouts counts the places of every id: inbox, timers, dead letters, or
// done, where done means both its state and its outbox row.
func whereabouts(t *testing.T, r *runner.Runner) map[string]int {
	t.Helper()
	places := map[string]int{}
	add := func(frame []byte) {
		m, err := runner.DecodeMessage(frame)
		if err != nil {
			t.Errorf("stored frame: %v", err)
			return
		}
		places[string(m.ID)]++
	}
	rows, err := r.Inbox(7, 0, 100000)
	if err != nil {
		t.Fatal(err)
	}
	for _, row := range rows {
		add(row.Frame)
	}
	for _, in := range r.Stats().Inboxes {
		if in.Worker == 7 && in.Depth != uint64(len(rows)) {
			t.Errorf("the inbox has %d rows and counts %d", len(rows), in.Depth)
		}
	}
	timers, err := r.Timers(runner.TimerID{}, 100000)
	if err != nil {
		t.Fatal(err)
	}
	for _, x := range timers {
		add(x.Frame)
	}
	err = r.EachDeadLetter(runner.DeadFilter{}, runner.Row{},
		func(d runner.DeadLetter) bool { add(d.Frame); return true })
	if err != nil {
		t.Fatal(err)
	}
	out := outboxIDs(t, r)
	done := 0
	_, err = r.Update(context.Background(), runner.AttemptPolicy{}, func(tx *runner.Tx) error {
		return tx.Range([]byte("done/"), []byte("done0"), func(key, _ []byte) bool {
			id := string(key[len("done/"):])
			places[id]++
			done++
			if out[id] != 1 {
				t.Errorf("%s is done but has %d outbox rows", id, out[id])
			}
			return true
		})
	})
	if err != nil {
		t.Fatal(err)
	}
	if done != len(out) {
		t.Errorf("%d ids are done, %d are in the outbox", done, len(out))
	}
	return places
}

// TestCrash stops the file system at random writes or syncs of random runs, ten of each run,
// keeps a random part of the unsynced data, and checks the rest.
func TestCrash(t *testing.T) {
	t.Parallel()
	s := prooftest.Seed(t)
	runs := prooftest.Sized(4, 200, 10_000)
	for run := range runs {
		crashRun(t, s+uint64(run))
		if t.Failed() {
			t.Fatalf("run %d: repeat with WAMBLE_SEED=%d", run, s+uint64(run))
		}
	}
	t.Logf("measured: %d crash points", runs*crashPoints)
}

// crashPoints is how many crashes of one run are checked.
const crashPoints = 10

// crash is the state after a crash, and what was acknowledged before it.
type crash struct {
	point int64
	fs    *vfs.MemFS
	acked map[string]bool
}

// counts reports whether a fault may be injected at an operation: at each write, but of the
// zeros ahead of a log only at some.
func counts(op errorfs.Op) bool {
	return op.Kind.ReadOrWrite() == errorfs.OpIsWrite && (op.Kind != errorfs.OpFileWriteAt || op.Offset%(128<<10) == 0)
}

func crashRun(t *testing.T, s uint64) {
	x := newWorld(s)
	fs := vfs.NewCrashableMem()
	left := map[int64]bool{}
	last := int64(0)
	for len(left) < crashPoints {
		point := int64(1 + x.rng.IntN(250))
		left[point] = true
		last = max(last, point)
	}
	percent := []int{0, 30, 70, 100}[x.rng.IntN(4)]
	var count atomic.Int64
	var crashes []crash
	inject := errorfs.InjectorFunc(func(op errorfs.Op) error {
		if !counts(op) {
			return nil
		}
		point := count.Add(1)
		x.mu.Lock()
		defer x.mu.Unlock()
		if left[point] {
			fs := fs.CrashClone(vfs.CrashCloneCfg{UnsyncedDataPercent: percent, RNG: newRand(s + uint64(point))})
			crashes = append(crashes, crash{point, fs, maps.Clone(x.acked)})
		}
		return nil
	})
	ctx := context.Background()
	if err := x.open(pebblestore.AtFS(errorfs.Wrap(fs, inject), "/r", pebblestore.Options{})); err != nil {
		t.Fatal(err)
	}
	for range 5000 {
		if count.Load() >= last {
			break
		}
		if err := x.step(ctx); err != nil {
			t.Fatal(err)
		}
	}
	if err := x.r.Close(); err != nil {
		t.Fatal(err)
	}
	if len(crashes) != crashPoints {
		t.Fatalf("%d writes and %d crashes, the last was planned at %d", count.Load(), len(crashes), last)
	}
	for _, c := range crashes {
		storage := pebblestore.AtFS(c.fs, "/r", pebblestore.Options{})
		r, err := runner.Open(storage, x.options())
		if err != nil {
			t.Fatalf("reopen after crash at write %d: %v", c.point, err)
		}
		if lost := storage.Lost(); lost != 0 {
			t.Errorf("%d acknowledged writes are missing", lost)
		}
		x.check(t, r, c.acked)
		if err := r.Close(); err != nil {
			t.Error(err)
		}
		if t.Failed() {
			t.Fatalf("after the crash at write %d", c.point)
		}
	}
}

// TestFault makes one write or sync after the other fail (make test: a sample of them). The error surfaces
// or does no harm; after it nothing is acknowledged; reopening finds all that
// was.
func TestFault(t *testing.T) {
	t.Parallel()
	s := prooftest.Seed(t)
	failed := 0
	tried, every := 0, prooftest.Sized(15, 1, 1)
	for round := 0; round < prooftest.Sized(150, 150, 3000); round += every {
		tried++
		if faultOnce(t, s+uint64(round), int64(1+round)) {
			failed++
		}
		if t.Failed() {
			t.Fatalf("fault at write %d: repeat with WAMBLE_SEED=%d", 1+round, s)
		}
	}
	if t.Logf("%d of %d faults surfaced", failed, tried); failed < tried/3 {
		t.Error("hardly any did")
	}
}

func faultOnce(t *testing.T, s uint64, point int64) (surfaced bool) {
	x := newWorld(s)
	fs := vfs.NewMem()
	var count atomic.Int64
	var off atomic.Bool
	inject := errorfs.InjectorFunc(func(op errorfs.Op) error {
		if !off.Load() && counts(op) && count.Add(1) == point {
			return errorfs.ErrInjected
		}
		return nil
	})
	storage := pebblestore.AtFS(errorfs.Wrap(fs, inject), "/r", pebblestore.Options{})
	ctx := context.Background()
	if err := x.open(storage); err != nil {
		// It failed while opening: the next time it must open.
		if err := x.open(storage); err != nil {
			t.Fatalf("second open: %v", err)
		}
		surfaced = true
	}
	defer func() { x.r.Close() }()
	for range 600 {
		if count.Load() >= point+5 {
			break
		}
		if err := x.step(ctx); err != nil {
			surfaced = true
			if !errors.Is(err, runner.ErrFailed) && x.r.State() != runner.Failed {
				t.Errorf("got %v in state %v, want a failed runner", err, x.r.State())
			}
			break
		}
	}
	if x.r.State() == runner.Failed {
		surfaced = true
		if _, err := x.r.Post(ctx, &runner.Message{To: 7, ID: []byte("late")}); !errors.Is(err, runner.ErrFailed) {
			t.Errorf("a failed runner answered a post with %v", err)
		}
	}
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

func newRand(s uint64) *rand.Rand { return rand.New(rand.NewPCG(s, 2)) }
