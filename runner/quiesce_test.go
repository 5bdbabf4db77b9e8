package runner_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"wamble/runner"
)

// TestQuiescedWorkersSleep: a started worker of a quiesced runner sleeps until it is woken,
// though its inbox has messages.
func TestQuiescedWorkersSleep(t *testing.T) {
	slept := make(chan time.Duration, 1000)
	r := open(t, runner.Options{Sleep: func(ctx context.Context, wake <-chan struct{}, d time.Duration) {
		select {
		case slept <- d:
		default:
		}
		if d > 0 {
			select {
			case <-wake:
			case <-ctx.Done():
			}
		}
	}})
	running, goOn := make(chan struct{}, 10), make(chan struct{})
	start(t, r, 1, runner.WorkerOptions{MaxIdle: time.Hour,
		Handler: func(context.Context, *runner.Tx, *runner.Delivery) error {
			running <- struct{}{}
			<-goOn
			return runner.Retry(fmt.Errorf("again"), 0)
		}})
	postAll(t, r, 5, true)
	<-running
	quiet := make(chan error, 1)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := r.Quiesce(ctx); err == nil { // the worker is busy, but the request is noted
		t.Error("it rests in the middle of a message")
	}
	close(goOn)
	go func() { quiet <- r.Quiesce(t.Context()) }()
	if err := <-quiet; err != nil {
		t.Fatal(err)
	}
	for len(slept) > 0 {
		<-slept
	}
	for range 3 {
		postAll(t, r, 1, false) // wakes it
		if d := <-slept; d <= 0 {
			t.Fatalf("a quiesced worker sleeps for %v", d)
		}
	}
	r.Resume()
	<-running
}
