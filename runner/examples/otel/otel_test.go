package otel_test

import (
	"context"
	"errors"
	"testing"

	sdk "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"

	"wamble/runner"
	"wamble/runner/examples/otel"
	"wamble/runner/memstore"
)

// TestTrace: the spans of a message that fails once are children of the span that has posted
// it, and have the outcome of each run.
func TestTrace(t *testing.T) {
	spans := tracetest.NewSpanRecorder()
	tracer := sdk.NewTracerProvider(sdk.WithSpanProcessor(spans)).Tracer("test")
	r, err := runner.Open(memstore.New(), runner.Options{
		Create: true, MinFree: -1, Middleware: []runner.Middleware{otel.Trace(tracer)},
		Policy: runner.Policy{RetryDelay: -1},
	})
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	w, err := r.NewWorker(7, runner.WorkerOptions{Handler: func(_ context.Context, _ *runner.Tx,
		d *runner.Delivery) error {
		if d.Attempts == 1 {
			return errors.New("not at first")
		}
		return nil
	}})
	if err != nil {
		t.Fatal(err)
	}
	ctx, post := tracer.Start(t.Context(), "post")
	m := &runner.Message{To: 7, ID: []byte("a")}
	otel.Inject(ctx, m)
	if _, err := r.Post(ctx, m); err != nil {
		t.Fatal(err)
	}
	post.End()
	if n, err := w.Tick(t.Context()); n != 1 || err != nil {
		t.Fatalf("completed %d, %v", n, err)
	}
	runs := spans.Ended()[1:]
	if len(runs) != 2 {
		t.Fatalf("%d runs have a span, want 2", len(runs))
	}
	for i, want := range []string{"not at first", ""} {
		if got := runs[i]; got.Status().Description != want || got.Parent().SpanID() != post.SpanContext().SpanID() {
			t.Errorf("run %d: %q below %v, want %q below %v", i+1, got.Status().Description, got.Parent().SpanID(),
				want, post.SpanContext().SpanID())
		}
	}
}
