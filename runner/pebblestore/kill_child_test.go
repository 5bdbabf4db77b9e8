package pebblestore_test

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"strconv"
	"sync"
	"testing"
	"time"

	"wamble/runner"
	"wamble/runner/pebblestore"
)

// killDir in the environment makes this test binary the process that TestKill kills: it works
// in that directory until it is killed.
const (
	killDir   = "WAMBLE_KILL_DIR"
	killMode  = "WAMBLE_KILL_DURABILITY"
	killRound = "WAMBLE_KILL_ROUND"
)

func TestMain(m *testing.M) {
	if dir := os.Getenv(killDir); dir != "" {
		fmt.Fprintln(os.Stderr, liveUntilKilled(dir))
		os.Exit(3)
	}
	if dir := os.Getenv(killQueues); dir != "" {
		fmt.Fprintln(os.Stderr, postQueues(dir, os.Getenv(killRound)))
		os.Exit(3)
	}
	os.Exit(m.Run())
}

// The inboxes of the process that is killed. A message is posted to stageOne, some
// twice, and sent on from there.
const (
	stageOne   = 7  // several workers, one message at a time
	stageTwo   = 8  // several workers with batches
	stageTimer = 9  // gets timers of stageOne
	stageOrder = 10 // an ordered worker, which sends every message on to
	stageLog   = 11 // an ordered worker with batches
)

// killStages are the stages after stageOne: the inbox, which messages come there from which
// stage, and the name under which the handlers count.
var killStages = []struct {
	inbox uint64
	name  string
	from  string
	every int // of the numbers of a producer
}{
	{stageTwo, "two", "one", 1},
	{stageTimer, "timer", "one", 4},
	{stageOrder, "order", "one", 2},
	{stageLog, "log", "order", 2},
}

// liveUntilKilled posts and handles messages for ever. It writes each acknowledgement that it
// got to descriptor 3, a line each:
//
//	p ID SEQ   message ID was posted as row SEQ
//	u N        the counter "updates" was set to N
//	c          a worker has met a conflict, told once
func liveUntilKilled(dir string) error {
	mode, err := strconv.Atoi(os.Getenv(killMode))
	if err != nil {
		return err
	}
	acks := os.NewFile(3, "acks")
	var once sync.Once
	sinks := runner.Sinks{Metrics: func(_ uint64, m runner.Metrics) {
		if m.Conflicts > 0 {
			once.Do(func() { fmt.Fprintln(acks, "c") })
		}
	}}
	r, err := runner.Open(pebblestore.At(dir, pebblestore.Options{Durability: pebblestore.Durability(mode)}),
		runner.Options{
			Create: true, Policy: killPolicy, Sinks: sinks,
		})
	if err != nil {
		return err
	}
	if _, err := startWorkers(context.Background(), r); err != nil {
		return err
	}
	var wg sync.WaitGroup
	failed := make(chan error, 16)
	for p := range 8 {
		wg.Go(func() { failed <- postForEver(r, acks, p) })
	}
	wg.Go(func() { failed <- updateForEver(r, acks) })
	return <-failed
}

func postForEver(r *runner.Runner, acks *os.File, producer int) error {
	for n := 0; ; n++ {
		id := fmt.Sprintf("%s.%d.%d", os.Getenv(killRound), producer, n)
		m := runner.Message{To: stageOne, ID: []byte(id), Payload: binary.BigEndian.AppendUint64(nil, uint64(n))}
		if n%5 == 0 {
			m.Flags |= runner.HighPriority
		}
		if n%3 == 0 {
			m.Flags |= runner.Dedupe
		}
		for range killPosts(n) {
			row, err := r.Post(context.Background(), &m)
			if err != nil {
				return err
			}
			// One write, so that a line is whole or not there at all.
			if _, err := fmt.Fprintf(acks, "p %s %d\n", id, row.Seq); err != nil {
				return err
			}
		}
	}
}

// killPosts is how often message n of a producer is posted: twice only if it has
// the flag Dedupe.
func killPosts(n int) int {
	if n%9 == 0 {
		return 2
	}
	return 1
}

func updateForEver(r *runner.Runner, acks *os.File) error {
	for {
		var n uint64
		_, err := r.Update(context.Background(), runner.AttemptPolicy{}, func(tx *runner.Tx) (err error) {
			n, err = bump(tx, "updates")
			return err
		})
		if err != nil {
			return err
		}
		if _, err := fmt.Fprintf(acks, "u %d\n", n); err != nil {
			return err
		}
	}
}

// bump adds one to a counter in the application's state.
func bump(tx *runner.Tx, key string) (uint64, error) {
	n, err := readCounter(tx, key)
	if err != nil {
		return 0, err
	}
	return n + 1, tx.Put([]byte(key), binary.BigEndian.AppendUint64(nil, n+1))
}

func readCounter(tx *runner.Tx, key string) (uint64, error) {
	b, err := tx.Get([]byte(key))
	switch {
	case errors.Is(err, runner.ErrNotFound):
		return 0, nil
	case err != nil:
		return 0, err
	case len(b) != 8:
		return 0, fmt.Errorf("counter %s has %d bytes", key, len(b))
	}
	return binary.BigEndian.Uint64(b), nil
}

// killPolicy lets no message become a dead letter because of kills or conflicts.
var killPolicy = runner.Policy{RetryBudget: 1000, LeaseTTL: time.Minute, RetryDelay: 2 * time.Millisecond,
	RetryDelayMax: 20 * time.Millisecond}

// startWorkers starts the workers of both processes: of the one that is killed,
// and at the end of the one that cleans up.
func startWorkers(ctx context.Context, r *runner.Runner) ([]*runner.Worker, error) {
	var all []*runner.Worker
	for _, k := range []struct {
		id    uint64
		count int
		o     runner.WorkerOptions
	}{
		{stageOne, 3, runner.WorkerOptions{Handler: handleOne, MaxBatch: 32}},
		{stageTwo, 2, runner.WorkerOptions{Batch: handleTwo, MaxBatch: 32}},
		{stageTimer, 1, runner.WorkerOptions{Handler: handleTimer}},
		{stageOrder, 1, runner.WorkerOptions{Handler: handleOrder, MaxBatch: 32, Ordered: true, Concurrency: 3}},
		{stageLog, 1, runner.WorkerOptions{Batch: handleLog, MaxBatch: 32, Ordered: true}},
	} {
		for range k.count {
			w, err := r.NewWorker(k.id, k.o)
			if err == nil {
				err = w.Start(ctx)
			}
			if err != nil {
				return nil, err
			}
			all = append(all, w)
		}
	}
	return all, nil
}

// handleOne has every kind of effect. Some messages fail at first, some for
// good. All workers of the stage count with the same key, so that they meet
// conflicts.
func handleOne(_ context.Context, tx *runner.Tx, d *runner.Delivery) error {
	n := binary.BigEndian.Uint64(d.Payload)
	switch {
	case n%61 == 60:
		return runner.Discard(errors.New("not wanted"))
	case n%11 == 10 && d.Attempts == 1:
		return errors.New("not at first")
	case n%71 == 70 && d.Attempts == 1:
		panic("not at all at first")
	}
	if err := bumpBoth(tx, "one", d); err != nil {
		return err
	}
	if err := tx.Emit(d.ID); err != nil {
		return err
	}
	for _, s := range killStages {
		if s.from != "one" || n%uint64(s.every) != 0 {
			continue
		}
		next := runner.Message{To: s.inbox, ID: d.ID, Payload: d.Payload}
		send := tx.Send
		if s.inbox == stageTimer {
			next.Kind = runner.Timer
			send = func(m *runner.Message) error {
				return tx.Arm(time.Now().Add(time.Duration(n%20)*time.Millisecond), m)
			}
		}
		if err := send(&next); err != nil {
			return err
		}
	}
	return nil
}

// bumpBoth counts a run of a stage, in all and for one message.
func bumpBoth(tx *runner.Tx, stage string, d *runner.Delivery) error {
	if _, err := bump(tx, stage); err != nil {
		return err
	}
	_, err := bump(tx, stage+"/"+string(d.ID))
	return err
}

// handleTwo reads, besides its own, a counter that other handlers change all the time.
func handleTwo(_ context.Context, b *runner.Batched) error {
	if len(b.Deliveries)%4 == 0 {
		if _, err := readCounter(b.Tx, "updates"); err != nil {
			return err
		}
	}
	for i := range b.Deliveries {
		if err := bumpBoth(b.Tx, "two", &b.Deliveries[i]); err != nil {
			return err
		}
	}
	return nil
}

func handleTimer(_ context.Context, tx *runner.Tx, d *runner.Delivery) error {
	return bumpBoth(tx, "timer", d)
}

// handleOrder meets conflicts and fails now and then; nothing may pass a message
// meanwhile.
func handleOrder(_ context.Context, tx *runner.Tx, d *runner.Delivery) error {
	n := binary.BigEndian.Uint64(d.Payload)
	switch {
	case n%22 == 20 && d.Attempts == 1:
		return errors.New("not at first")
	case n%8 == 6:
		if _, err := readCounter(tx, "updates"); err != nil {
			return err
		}
	}
	if err := inOrder(tx, "order", d); err != nil {
		return err
	}
	return tx.Send(&runner.Message{To: stageLog, ID: d.ID, Payload: d.Payload})
}

func handleLog(_ context.Context, b *runner.Batched) error {
	for i := range b.Deliveries {
		if err := inOrder(b.Tx, "log", &b.Deliveries[i]); err != nil {
			return err
		}
	}
	_, err := readCounter(b.Tx, "timer") // which another request changes now and then
	return err
}

// inOrder counts a message of an ordered stage. One that comes after a later one is
// discarded: then it is a dead letter, which the test finds.
func inOrder(tx *runner.Tx, stage string, d *runner.Delivery) error {
	last, err := readCounter(tx, stage+".last")
	if err != nil {
		return err
	}
	if d.Row.Seq <= last {
		return runner.Discard(fmt.Errorf("row %d comes after row %d", d.Row.Seq, last))
	}
	if err := tx.Put([]byte(stage+".last"), binary.BigEndian.AppendUint64(nil, d.Row.Seq)); err != nil {
		return err
	}
	return bumpBoth(tx, stage, d)
}
