package runner_test

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"strings"
	"testing"

	"wamble/runner"
	"wamble/runner/memstore"
)

// TestSlog follows a message from its first failure to the dead letters: its number
// changes with every retry, its id does not.
func TestSlog(t *testing.T) {
	var out bytes.Buffer
	text := slog.NewTextHandler(&out,
		&slog.HandlerOptions{Level: slog.LevelDebug, ReplaceAttr: func(_ []string, a slog.Attr) slog.Attr {
			if a.Key == slog.TimeKey {
				return slog.Attr{}
			}
			return a
		}})
	r, err := runner.Open(memstore.New(), runner.Options{
		Create: true, MinFree: -1, Policy: runner.Policy{RetryBudget: 2, RetryDelay: -1},
		Sinks: runner.Sinks{Log: runner.Slog(slog.New(text))},
	})
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	w, err := r.NewWorker(7, runner.WorkerOptions{
		Handler: func(context.Context, *runner.Tx, *runner.Delivery) error { return errors.New("away") },
	})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := r.Post(t.Context(), &runner.Message{To: 7, ID: []byte("order 9")}); err != nil {
		t.Fatal(err)
	}
	if _, err := w.Tick(t.Context()); err != nil {
		t.Fatal(err)
	}
	want := `level=WARN msg="non-retryable failure" queue=7 number=1 id="order 9" attempt=1 err=away
level=DEBUG msg=requeued queue=7 number=1 id="order 9" attempt=1 err=away
level=WARN msg="non-retryable failure" queue=7 number=2 id="order 9" attempt=2 err=away
level=ERROR msg="dead letter" queue=7 number=2 id="order 9" attempt=2 err=away
`
	if out.String() != want {
		t.Errorf("logged\n%swant\n%s", out.String(), want)
	}
}

// TestSlogKnowsEveryKind: every kind of event has a level.
func TestSlogKnowsEveryKind(t *testing.T) {
	var out bytes.Buffer
	sink := runner.Slog(slog.New(slog.NewTextHandler(&out, &slog.HandlerOptions{Level: slog.LevelDebug})))
	for kind := range runner.LogKinds {
		out.Reset()
		sink(runner.LogEvent{Kind: kind, Worker: 7})
		if !strings.Contains(out.String(), kind.String()) || !strings.Contains(out.String(), "queue=7") {
			t.Errorf("got %s, want %s of queue 7", out.String(), kind)
		}
	}
}
