package admin_test

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"wamble/runner"
	"wamble/runner/admin"
	"wamble/runner/memstore"
)

// TestDeadByID: where messages share an id, a dead letter's id never selects a waiting one,
// and an id of several dead letters selects none.
func TestDeadByID(t *testing.T) {
	r, err := runner.Open(memstore.New(), runner.Options{Create: true, MinFree: -1})
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	d := admin.New(r, admin.Options{Refuse: func(_ string, a admin.Args) error {
		if a.State != runner.Dead.String() {
			return fmt.Errorf("%s: %w", a.State, admin.ErrRefused)
		}
		return nil
	}})
	post := func() {
		t.Helper()
		if _, err := r.Post(t.Context(), &runner.Message{To: 7, ID: []byte("i")}); err != nil {
			t.Fatal(err)
		}
	}
	bury := func() {
		t.Helper()
		post()
		w, err := r.NewWorker(7, runner.WorkerOptions{Handler: func(context.Context, *runner.Tx,
			*runner.Delivery) error {
			return runner.Discard(nil)
		}})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := w.Tick(t.Context()); err != nil {
			t.Fatal(err)
		}
		if err := w.Remove(); err != nil {
			t.Fatal(err)
		}
	}
	try := func(what string, a admin.Args, want error, dead, waiting uint64) {
		t.Helper()
		a.Queue = "7"
		_, err := d.Do(t.Context(), "delete", a)
		s := r.Stats()
		if !errors.Is(err, want) || s.DeadLetters != dead || s.Inboxes[0].Depth != waiting {
			t.Errorf("%s: got %v, %d dead and %d waiting, want %v, %d and %d", what, err, s.DeadLetters,
				s.Inboxes[0].Depth, want, dead, waiting)
		}
	}
	bury()
	bury()
	post()
	try("of several", admin.Args{ID: "i", State: "dead"}, runner.ErrInvalid, 2, 1)
	try("of several, without a state", admin.Args{ID: "i"}, runner.ErrInvalid, 2, 1)
	try("by number", admin.Args{Number: 1, State: "dead"}, nil, 1, 1)
	try("the only one", admin.Args{ID: "i"}, nil, 0, 1)
	try("none is left", admin.Args{ID: "i", State: "dead"}, runner.ErrNotFound, 0, 1)
	try("one that waits", admin.Args{ID: "i"}, admin.ErrRefused, 0, 1)
}

// TestRetryFound: one dead letter that cannot be replayed does not stop the others.
func TestRetryFound(t *testing.T) {
	r, err := runner.Open(memstore.New(), runner.Options{Create: true, MinFree: -1})
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	if _, err := r.Post(t.Context(), &runner.Message{To: 7, ID: []byte("sought")}); err != nil {
		t.Fatal(err)
	}
	w, err := r.NewWorker(7, runner.WorkerOptions{Batch: func(_ context.Context, b *runner.Batched) error {
		b.DeadLetter(0, []byte("sought, but no frame"), errors.New("no"))
		b.DeadLetter(0, b.Deliveries[0].Frame, errors.New("no"))
		return nil
	}})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := w.Tick(t.Context()); err != nil || r.Stats().DeadLetters != 2 {
		t.Fatalf("%d dead letters, %v, want 2", r.Stats().DeadLetters, err)
	}
	d := admin.New(r, admin.Options{})
	got, err := d.Do(t.Context(), "retry", admin.Args{Queue: "7", State: "dead", All: true, Find: "sought"})
	if want := (admin.Done{Count: 1}); err != nil || got != want || r.Stats().DeadLetters != 1 {
		t.Errorf("got %v, %v, and %d dead letters are left, want 1 retried and 1 left", got, err, r.Stats().DeadLetters)
	}
}
