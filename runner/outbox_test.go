package runner_test

import (
	"errors"
	"testing"

	"wamble/runner"
	"wamble/runner/memstore"
	"wamble/runner/runnertest"
)

// TestOutboxEndIsDurable: rows of a commit under way are not counted before they are durable,
// and never if it fails: their numbers are given again.
func TestOutboxEndIsDurable(t *testing.T) {
	s := runnertest.NewFaulty(memstore.New())
	r, err := runner.Open(s, runner.Options{Create: true, MinFree: -1})
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	emit := func() error {
		_, err := r.Update(t.Context(), runner.AttemptPolicy{},
			func(tx *runner.Tx) error { return tx.Emit([]byte("a")) })
		return err
	}
	ends := func(when string, want uint64) {
		t.Helper()
		rows, err := r.Outbox(0, 10)
		if got := r.OutboxEnd(); got != want || err != nil || uint64(len(rows)) != want {
			t.Errorf("%s: the end is %d with %d rows (%v), want %d", when, got, len(rows), err, want)
		}
	}
	ends("at first", 0)
	if err := emit(); err != nil {
		t.Fatal(err)
	}
	ends("stored", 1)

	held, release := s.Hang()
	done := make(chan error, 1)
	go func() { done <- emit() }()
	<-held
	ends("on its way", 1)
	release()
	if err := <-done; err != nil {
		t.Fatal(err)
	}
	ends("arrived", 2)

	s.FailAfter(0, errors.New("the disk is gone"))
	if err := emit(); !errors.Is(err, runner.ErrFailed) {
		t.Fatalf("got %v, want ErrFailed", err)
	}
	if got := r.OutboxEnd(); got != 2 {
		t.Errorf("after a failure the end is %d, want 2", got)
	}
	if err := r.Reopen(); err != nil {
		t.Fatal(err)
	}
	ends("opened again", 2)
}
