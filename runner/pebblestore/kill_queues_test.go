package pebblestore_test

import (
	"bufio"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"

	"wamble/internal/prooftest"
	"wamble/runner"
	"wamble/runner/pebblestore"
)

// killQueues in the environment makes this test binary the process that
// TestKillQueues kills.
const killQueues = "WAMBLE_KILL_QUEUES"

// killJob is a job of the queue "jobs".
type killJob struct{ N int }

// openQueues opens a directory with a queue and a schedule, which each process declares
// again. With handle its jobs are run: each counts itself and has a result.
func openQueues(dir string, handle bool, sinks runner.Sinks) (*runner.Runner, *runner.Queue[killJob], error) {
	r, err := runner.Open(pebblestore.At(dir, pebblestore.Options{Durability: pebblestore.Write}), runner.Options{
		Create: true, Policy: killPolicy, KeepHistory: 1 << 20, Sinks: sinks,
	})
	if err != nil {
		return nil, nil, err
	}
	q, err := runner.NewQueue[killJob](r, "jobs")
	if err == nil && handle {
		q, err = runner.Handle(r, "jobs", func(_ context.Context, j *runner.Job[killJob]) error {
			if j.Args.N%7 == 3 && j.Attempts == 1 {
				return errors.New("not at first")
			}
			if _, err := bump(j.Tx, "did/"+string(j.ID)); err != nil {
				return err
			}
			return j.SetResult(j.Args.N)
		}, runner.WorkerOptions{Concurrency: 3})
	}
	if err == nil {
		err = q.Every(context.Background(), "beat", "1s", killJob{N: -1})
	}
	return r, q, err
}

// postQueues posts unique jobs for ever, and writes the id of each that was
// acknowledged to descriptor 3. Each is posted twice: it exists, or is done.
func postQueues(dir, life string) error {
	_, q, err := openQueues(dir, true, runner.Sinks{})
	if err != nil {
		return err
	}
	if err := q.Worker().Start(context.Background()); err != nil {
		return err
	}
	acks := os.NewFile(3, "acks")
	for n := 0; ; n++ {
		id := fmt.Sprintf("%s.%d", life, n)
		if _, err := q.Post(context.Background(), killJob{N: n}, runner.Unique(id), runner.Once(id)); err != nil {
			return err
		}
		if _, err := fmt.Fprintln(acks, id); err != nil {
			return err
		}
		if _, err := q.Post(context.Background(), killJob{N: n}, runner.Unique(id), runner.Once(id)); err != nil &&
			!errors.Is(err, runner.ErrExists) {
			return err
		}
	}
}

// TestKillQueues kills a process with a named queue and a schedule repeatedly: the history
// has every job that was acknowledged, a unique job that is done was run once, and the
// schedule exists once.
func TestKillQueues(t *testing.T) {
	t.Parallel()
	seed := prooftest.Seed(t)
	rng := rand.New(rand.NewPCG(seed, 0))
	dir := filepath.Join(t.TempDir(), "runner")
	var acked []string
	lives := prooftest.Sized(2, 20, 200)
	for life := range lives {
		acked = append(acked, killedAfter(t, dir, life, 1+rng.IntN(300))...)
		r, _, err := openQueues(dir, false, runner.Sinks{})
		if err != nil {
			t.Fatal(err)
		}
		checkJobs(t, r, acked, false)
		if err := r.Close(); err != nil {
			t.Fatal(err)
		}
	}
	settled := make(chan struct{}, 1)
	r, q, err := openQueues(dir, true, runner.Sinks{Metrics: func(uint64, runner.Metrics) {
		select {
		case settled <- struct{}{}:
		default:
		}
	}})
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	if err := q.Worker().Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	for r.Stats().Inboxes[0].Depth > 0 {
		<-settled
	}
	q.Worker().Stop() // counts change before the commit that makes them true
	if err := q.Worker().Join(); err != nil {
		t.Fatal(err)
	}
	checkJobs(t, r, acked, true)
	t.Logf("measured: %d kills, %d jobs acknowledged: none lost, none doubled", lives, len(acked))
}

// killedAfter runs the process until so many jobs were acknowledged, and returns them.
func killedAfter(t *testing.T, dir string, life, after int) (acked []string) {
	t.Helper()
	runUntilKilled(t, life, func(acks io.Reader, kill func()) {
		for lines := bufio.NewScanner(acks); lines.Scan(); {
			if acked = append(acked, lines.Text()); len(acked) == after {
				kill()
			}
		}
	}, killQueues+"="+dir)
	return acked
}

// checkJobs compares the history of each job with its effects.
func checkJobs(t *testing.T, r *runner.Runner, acked []string, all bool) {
	t.Helper()
	if s := r.Schedules(); len(s) != 1 || s[0].Name != "beat" || s[0].Queue != "jobs" {
		t.Fatalf("the schedules are %+v", s)
	}
	for _, id := range acked {
		m, err := r.Message("jobs", id)
		if err != nil {
			t.Fatalf("job %s was acknowledged: %v", id, err)
		}
		var did uint64
		err = r.View(func(get func([]byte) ([]byte, error)) error {
			b, err := get([]byte("did/" + id))
			if err == nil {
				did = binary.BigEndian.Uint64(b)
			}
			if errors.Is(err, runner.ErrNotFound) {
				err = nil
			}
			return err
		})
		switch {
		case err != nil:
			t.Fatal(err)
		case did > 1:
			t.Fatalf("job %s was done %d times", id, did)
		case m.State == runner.Done && did != 1:
			t.Fatalf("job %s is said to be done, and was done %d times", id, did)
		case all && (m.State != runner.Done || did != 1):
			t.Fatalf("job %s is %v at the end, and was done %d times", id, m.State, did)
		}
	}
}
