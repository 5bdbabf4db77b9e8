package storetest

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"strconv"
	"testing"

	"wamble/internal/store"
)

// writerEnv makes a test binary the writer of Kill; its value is the address.
const writerEnv = "WAMBLE_TEST_WRITER"

const killSeed = 7

// Writer must be called first in TestMain. In a process that Kill started it applies traffic
// endlessly to the store that open returns for Kill's address, and reports every batch; in any
// other process it returns at once.
func Writer(open func(address string) (store.Store, error)) {
	address := os.Getenv(writerEnv)
	if address == "" {
		return
	}
	err := write(open, address, os.Stdout)
	fmt.Fprintln(os.Stderr, "writer:", err)
	os.Exit(1) // the process should be killed before
}

// write applies batches until a failure.
func write(open func(string) (store.Store, error), address string, acks io.Writer) error {
	s, err := open(address)
	if err != nil {
		return err
	}
	ctx := context.Background()
	tr, b := NewTraffic(40, killSeed)
	at, err := s.Cursor(ctx, b.Journal, b.Profile)
	if err != nil {
		return err
	}
	for ; ; b = tr.next64() {
		if b.Through > at {
			if _, err := Deliver(ctx, s, b); err != nil {
				return err
			}
		}
		if _, err := fmt.Fprintln(acks, b.Through); err != nil {
			return err
		}
	}
}

// next64 returns a batch of 1 to 64 moves.
func (tr *Traffic) next64() store.Batch { return tr.Batch(1 + tr.rng.IntN(64)) }

// Kill starts this test binary as a writer to the store at address, kills it with SIGKILL after
// a random number of acknowledged batches, and repeats that. Then s, which the caller opened on
// the same address, must have all acknowledged batches and at most one more, each move once.
func Kill(t *testing.T, s store.Store, address string, rounds int, rng *rand.Rand) {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	_, start := NewTraffic(40, killSeed)
	acked := uint64(0)
	for range rounds {
		cmd := exec.Command(self, "-test.run=^$")
		cmd.Env = append(os.Environ(), writerEnv+"="+address)
		cmd.Stderr = os.Stderr
		out, err := cmd.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		lines := bufio.NewScanner(out)
		for goal := acked + 1 + rng.Uint64N(20); acked < goal && lines.Scan(); {
			if acked, err = strconv.ParseUint(lines.Text(), 10, 64); err != nil {
				t.Fatal(err)
			}
		}
		if err := cmd.Process.Kill(); err != nil {
			t.Fatal(err)
		}
		for lines.Scan() { // acknowledged before the kill
			if acked, err = strconv.ParseUint(lines.Text(), 10, 64); err != nil {
				t.Fatal(err)
			}
		}
		_ = cmd.Wait() // fails: it was killed
		at, err := s.Cursor(t.Context(), start.Journal, start.Profile)
		if err != nil {
			t.Fatal(err)
		}
		if at < acked || at > acked+1 {
			t.Fatalf("the cursor stands at %d after %d was acknowledged", at, acked)
		}
		acked = min(acked, at)
	}
	at, err := s.Cursor(t.Context(), start.Journal, start.Profile)
	if err != nil {
		t.Fatal(err)
	}
	tr, b := NewTraffic(40, killSeed)
	batches := []store.Batch{b}
	for b.Through < at {
		b = tr.next64()
		batches = append(batches, b)
	}
	t.Logf("measured: %d batches over %d kills", at, rounds)
	Holds(t, s, batches)
}
