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

// killDir in the environment makes this test binary the process that
// TestKill kills: it works in that directory until it dies.
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
	os.Exit(m.Run())
}

// The workers of the process that is killed.
const (
	stageOne   = 7 // handles one message at a time, and sends it on to
	stageTwo   = 8 // which handles batches
	stageTimer = 9 // is sent timers by stageOne
)

// liveUntilKilled posts and handles messages for ever. Whatever was
// acknowledged to it, it writes to descriptor 3 afterwards, a line each:
//
//	p ID SEQ   message ID was posted as row SEQ
//	u N        the counter "updates" was set to N
func liveUntilKilled(dir string) error {
	mode, err := strconv.Atoi(os.Getenv(killMode))
	if err != nil {
		return err
	}
	r, err := runner.Open(pebblestore.At(dir, pebblestore.Options{Durability: pebblestore.Durability(mode)}), runner.Options{
		Create: true,
		Policy: runner.Policy{RetryBudget: 8, LeaseTTL: time.Minute},
	})
	if err != nil {
		return err
	}
	acks := os.NewFile(3, "acks")
	for _, w := range killWorkers {
		w, err := r.NewWorker(w.id, w.o)
		if err == nil {
			err = w.Start(context.Background())
		}
		if err != nil {
			return err
		}
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

// killWorkers are the workers of both processes: of the one that is killed,
// and at the end of the one that cleans up.
var killWorkers = []struct {
	id uint64
	o  runner.WorkerOptions
}{
	{stageOne, runner.WorkerOptions{Handler: handleOne, MaxBatch: 32}},
	{stageTwo, runner.WorkerOptions{Batch: handleBatch, MaxBatch: 32}},
	{stageTimer, runner.WorkerOptions{Handler: handleTimer}},
}

// handleOne has every kind of effect. Some messages fail at first, some for
// good.
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
	if _, err := bump(tx, "one"); err != nil {
		return err
	}
	if _, err := bump(tx, "one/"+string(d.ID)); err != nil {
		return err
	}
	if err := tx.Emit(d.ID); err != nil {
		return err
	}
	next := runner.Message{To: stageTwo, ID: d.ID}
	if err := tx.Send(&next); err != nil || n%4 != 0 {
		return err
	}
	next.To, next.Kind = stageTimer, runner.Timer
	return tx.Arm(time.Now().Add(time.Duration(n%20)*time.Millisecond), &next)
}

func handleBatch(_ context.Context, b *runner.Batched) error {
	for i := range b.Deliveries {
		if _, err := bump(b.Tx, "two"); err != nil {
			return err
		}
		if _, err := bump(b.Tx, "two/"+string(b.Deliveries[i].ID)); err != nil {
			return err
		}
	}
	return nil
}

func handleTimer(_ context.Context, tx *runner.Tx, d *runner.Delivery) error {
	if _, err := bump(tx, "timer"); err != nil {
		return err
	}
	_, err := bump(tx, "timer/"+string(d.ID))
	return err
}
