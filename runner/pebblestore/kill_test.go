package pebblestore_test

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"wamble/internal/prooftest"
	"wamble/runner"
	"wamble/runner/pebblestore"
)

// killsBetween is the number of kills after which all work is finished.
const killsBetween = 20

// TestKill kills a process that posts and handles messages, with signal 9 at random points,
// repeatedly over the same directory. After each kill it inspects the directory, without
// recovering, and now and then, and after the last, it finishes all work: nothing that was
// acknowledged is lost, every effect has happened once, and ordered effects in order. Workers
// compete, handle batches, are ordered, and meet conflicts.
func TestKill(t *testing.T) {
	t.Parallel()
	kills := prooftest.Sized(2, 25, 500)
	for _, mode := range []struct {
		name string
		d    pebblestore.Durability
	}{{"fsync", pebblestore.Fsync}, {"write", pebblestore.Write}} {
		t.Run(mode.name, func(t *testing.T) {
			t.Parallel()
			s := prooftest.Seed(t)
			h := &killHarness{
				t: t, dir: filepath.Join(t.TempDir(), "runner"), mode: mode.d,
				rng: rand.New(rand.NewPCG(s, uint64(mode.d))),
				ids: map[string]*killed{}, seqs: map[string]string{},
			}
			for round := range kills {
				h.round = round
				h.live()
				h.look()
				if round%killsBetween == killsBetween-1 {
					h.finish() // an inspection takes as long as work is left
					t.Logf("after %d deaths everything was finished: %d messages", round+1, h.acked)
				}
			}
			h.finish()
			if h.acked == 0 || h.epoch == 0 || h.conflicts == 0 && kills > 20 {
				t.Fatalf("%d messages and %d starts were acknowledged, and %d met conflicts; the test proved nothing",
					h.acked, h.epoch, h.conflicts)
			}
			t.Logf("measured: %d kills, %d messages and %d updates acknowledged, %d dead letters, conflicts in %d lives: none lost, none doubled",
				kills, h.acked, h.updates, h.dead, h.conflicts)
		})
	}
}

// killHarness has what is known of the directory: the records of the killed processes, and
// the findings after each kill.
type killHarness struct {
	t       *testing.T
	dir     string
	mode    pebblestore.Durability
	rng     *rand.Rand
	round   int
	ids     map[string]*killed
	seqs    map[string]string // rows that were acknowledged, and for which id
	updates uint64            // the highest acknowledged
	acked   int
	outbox  uint64 // the outbox was read up to here
	journal runner.JournalID
	epoch   uint32
	dead    int
	// conflicts counts the processes in which a worker met one.
	conflicts int
}

// killed has what is known of one message.
type killed struct {
	n       int
	acked   bool
	emitted bool
	over    bool           // found in its last place
	done    map[string]int // how often, by stage
}

// live runs the process until it is killed: after some acknowledgements, or one time in five,
// not the first, after a random moment.
func (h *killHarness) live() {
	h.t.Helper()
	runUntilKilled(h.t, h.round, func(acks io.Reader, kill func()) {
		after := 1 + h.rng.IntN(prooftest.Sized(300, 1500, 1500))
		if h.rng.IntN(5) == 0 && h.round > 0 {
			moment := time.AfterFunc(time.Duration(h.rng.IntN(60_000))*time.Microsecond, kill)
			defer moment.Stop()
			after = -1
		}
		h.read(acks, after, kill)
	}, killDir+"="+h.dir, fmt.Sprintf("%s=%d", killMode, h.mode))
}

// runUntilKilled runs this test binary in the mode of env; read gets what it writes to
// descriptor 3, and kills it.
func runUntilKilled(t *testing.T, round int, read func(acks io.Reader, kill func()), env ...string) {
	t.Helper()
	cmd := exec.Command(os.Args[0], "-test.run=^$")
	cmd.Env = append(append(os.Environ(), fmt.Sprintf("%s=%d", killRound, round)), env...)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	acks, theirs, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer acks.Close()
	cmd.ExtraFiles = []*os.File{theirs}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	theirs.Close()
	read(acks, func() { cmd.Process.Kill() })
	err = cmd.Wait()
	var exit *exec.ExitError
	if !errors.As(err, &exit) || exit.Sys().(syscall.WaitStatus).Signal() != syscall.SIGKILL {
		t.Fatalf("round %d: the process ended with %v before it was killed: %s", round, err, &stderr)
	}
}

// read records the acknowledgements, and kills after that many lines.
func (h *killHarness) read(acks io.Reader, after int, kill func()) {
	h.t.Helper()
	lines := bufio.NewScanner(acks)
	for n := 1; lines.Scan(); n++ {
		word := strings.Fields(lines.Text())
		switch {
		case len(word) == 3 && word[0] == "p":
			h.posted(word[1], word[2])
		case len(word) == 2 && word[0] == "u":
			u, err := strconv.ParseUint(word[1], 10, 64)
			if err != nil || u <= h.updates {
				h.t.Fatalf("round %d: update %q after %d: %v", h.round, word[1], h.updates, err)
			}
			h.updates = u
		case len(word) == 1 && word[0] == "c":
			h.conflicts++
		default:
			h.t.Fatalf("round %d: got line %q", h.round, lines.Text())
		}
		if n == after {
			kill()
		}
	}
	if err := lines.Err(); err != nil {
		h.t.Fatal(err)
	}
	// The one message of each producer whose answer may not have come.
	for p := range 8 {
		n := 0
		for h.ids[killID(h.round, p, n)] != nil {
			n++
		}
		h.ids[killID(h.round, p, n)] = &killed{n: n}
	}
}

func killID(round, producer, n int) string { return fmt.Sprintf("%d.%d.%d", round, producer, n) }

func (h *killHarness) posted(id, seq string) {
	h.t.Helper()
	n, err := strconv.Atoi(id[strings.LastIndexByte(id, '.')+1:])
	if err != nil {
		h.t.Fatal(err)
	}
	if other, used := h.seqs[seq]; used {
		h.t.Errorf("round %d: row %s was given to %s and to %s", h.round, seq, other, id)
	}
	h.seqs[seq] = id
	if h.ids[id] == nil {
		h.ids[id] = &killed{n: n, acked: true}
		h.acked++
	}
}

// look opens the directory as the kill left it and checks its content.
func (h *killHarness) look() {
	h.t.Helper()
	r, err := runner.OpenReadOnly(pebblestore.At(h.dir, pebblestore.Options{}), runner.Options{})
	if errors.Is(err, runner.ErrNoSchema) {
		if h.acked == 0 && h.updates == 0 {
			return // killed before it had a directory
		}
	}
	if err != nil {
		h.t.Fatalf("round %d: %v", h.round, err)
	}
	h.check(r)
	if err := r.Close(); err != nil {
		h.t.Fatal(err)
	}
}

// finish lets the workers end all work and checks for the last time.
func (h *killHarness) finish() {
	h.t.Helper()
	ctx, cancel := context.WithTimeout(h.t.Context(), 5*time.Minute)
	defer cancel()
	progress := make(chan struct{}, 1)
	r, err := runner.Open(pebblestore.At(h.dir, pebblestore.Options{Durability: h.mode}),
		runner.Options{Policy: killPolicy, Sinks: runner.Sinks{
			Metrics: func(uint64, runner.Metrics) {
				select {
				case progress <- struct{}{}:
				default:
				}
			},
		}})
	if err != nil {
		h.t.Fatal(err)
	}
	workers, err := startWorkers(ctx, r)
	if err != nil {
		h.t.Fatal(err)
	}
	for busy(r) {
		select {
		case <-progress:
		case <-ctx.Done():
			h.t.Fatalf("work is left: %+v", r.Stats())
		}
	}
	// Counts change before the commit that makes them true: it is over when the workers have
	// stopped.
	for _, w := range workers {
		w.Stop()
		if err := w.Join(); err != nil {
			h.t.Fatal(err)
		}
	}
	h.round++
	h.check(r)
	for id, k := range h.ids {
		if k.acked && !k.over {
			h.t.Errorf("message %s was acknowledged and is not finished", id)
		}
	}
	if err := r.Close(); err != nil {
		h.t.Fatal(err)
	}
}

func busy(r *runner.Runner) bool {
	s := r.Stats()
	left := s.Timers
	for _, in := range s.Inboxes {
		left += in.Depth
	}
	return left > 0
}
