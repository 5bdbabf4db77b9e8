package runner

import (
	"context"
	"errors"
	"strings"
	"sync/atomic"
	"testing"
)

// TestCommitterPanics: a panic in the committer fails the runner and not the process: every
// waiting caller is answered once, and a reopened runner works.
func TestCommitterPanics(t *testing.T) {
	r, err := Open(NewTestStorage(), Options{Create: true, MinFree: -1})
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	e := r.engine()
	// All of them wait when the committer takes them: one group, whose second request panics.
	held, release := make(chan struct{}), make(chan struct{})
	first := &funcOp{waiter: e.newWaiter(), f: func(*commit) error { close(held); <-release; return nil }}
	ops := []*funcOp{
		{waiter: e.newWaiter(), f: func(*commit) error { return nil }},
		{waiter: e.newWaiter(), f: func(*commit) error { panic("a test panics in the committer") }},
		{waiter: e.newWaiter(), f: func(*commit) error { return nil }},
	}
	if err := e.k.submit(first, 1, 0); err != nil {
		t.Fatal(err)
	}
	<-held
	for _, o := range ops {
		if err := e.k.submit(o, 1, 0); err != nil {
			t.Fatal(err)
		}
	}
	close(release)
	if err := <-first.ch; err != nil {
		t.Errorf("the request before: %v", err)
	}
	for i, o := range ops {
		if err := <-o.ch; !errors.Is(err, ErrFailed) {
			t.Errorf("request %d: got %v, want ErrFailed", i, err)
		}
	}
	<-e.k.stopped
	for i, o := range ops {
		if len(o.ch) != 0 {
			t.Errorf("request %d was answered twice", i)
		}
	}
	if r.State() != Failed ||
		!strings.Contains(r.Err().Error(), "the runner panicked: a test panics in the committer") {
		t.Errorf("the runner is %v: %v", r.State(), r.Err())
	}
	if err := r.Reopen(); err != nil {
		t.Fatal(err)
	}
	if err := r.engine().do(t.Context(), func(*commit) error { return nil }); err != nil {
		t.Errorf("after reopening: %v", err)
	}
}

// TestAnswerPanics: a panic in a caller's callback fails the runner, and the others of the
// group are answered.
func TestAnswerPanics(t *testing.T) {
	r, err := Open(NewTestStorage(), Options{Create: true, MinFree: -1})
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	e := r.engine()
	g := r.NewGroup(func(*Group, error) { panic("a test panics in a callback") })
	if err := g.Add(&Message{To: 1, ID: []byte("a"), Payload: []byte("x")}); err != nil {
		t.Fatal(err)
	}
	held, release := make(chan struct{}), make(chan struct{})
	first := &funcOp{waiter: e.newWaiter(), f: func(*commit) error { close(held); <-release; return nil }}
	if err := e.k.submit(first, 1, 0); err != nil {
		t.Fatal(err)
	}
	<-held
	if err := r.Submit(g); err != nil {
		t.Fatal(err)
	}
	behind := &funcOp{waiter: e.newWaiter(), f: func(*commit) error { return nil }}
	if err := e.k.submit(behind, 1, 0); err != nil {
		t.Fatal(err)
	}
	close(release)
	if err := <-behind.ch; !errors.Is(err, ErrFailed) {
		t.Errorf("got %v, want ErrFailed", err)
	}
	if <-e.k.stopped; r.State() != Failed {
		t.Errorf("the runner is %v", r.State())
	}
}

// TestWorkerPanics: a panic in a worker outside of its handler fails the runner; reopened,
// the same worker goes on, and the message is run.
func TestWorkerPanics(t *testing.T) {
	var quiet atomic.Bool
	var runs atomic.Int32
	r, err := Open(NewTestStorage(), Options{Create: true, MinFree: -1, Sinks: Sinks{Log: func(LogEvent) {
		if !quiet.Load() {
			panic("a test panics in a sink")
		}
	}}})
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	done := make(chan struct{})
	w, err := r.NewWorker(7, WorkerOptions{MaxIdle: 1, Handler: func(context.Context, *Tx, *Delivery) error {
		if runs.Add(1) == 1 {
			return errors.New("not at first")
		}
		close(done)
		return nil
	}})
	if err != nil {
		t.Fatal(err)
	}
	failed := r.Failed()
	if err := w.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	if _, err := r.Post(t.Context(), &Message{To: 7, ID: []byte("a"), Payload: []byte("x")}); err != nil {
		t.Fatal(err)
	}
	<-failed
	if !strings.Contains(r.Err().Error(), "the runner panicked: a test panics in a sink") {
		t.Errorf("it failed with %v", r.Err())
	}
	quiet.Store(true)
	if err := r.Reopen(); err != nil {
		t.Fatal(err)
	}
	<-done
	w.Stop()
	if err := w.Join(); err != nil {
		t.Errorf("the worker ended with %v", err)
	}
}
