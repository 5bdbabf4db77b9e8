package observe

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"wamble/internal/config"
	"wamble/internal/loop"
)

// TestTraces: a trace reaches a collector as OTLP in JSON, one span with four parts; a
// collector that is away costs the traces, and is logged once.
func TestTraces(t *testing.T) {
	bodies, refuse := make(chan []byte, 8), make(chan struct{})
	collector := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		select {
		case <-refuse:
			w.WriteHeader(503)
		default:
			if r.Header.Get("Content-Type") != "application/json" {
				t.Errorf("the body is %q", r.Header.Get("Content-Type"))
			}
		}
		bodies <- body
	}))
	defer collector.Close()
	c, err := config.Load("test.conf", `(def trace-endpoint "`+collector.URL+`/v1/traces") (def trace-every 7)`,
		config.Params{})
	if err != nil {
		t.Fatal(err)
	}
	tr := NewTraces("v1", c)
	tr.pause = time.Millisecond
	if tr.Every.Load() != 7 {
		t.Errorf("one move in %d is followed", tr.Every.Load())
	}
	ctx, stop := context.WithCancel(t.Context())
	ended, warned := make(chan struct{}), make(chan error, 8)
	go func() {
		defer close(ended)
		tr.Send(ctx, func(err error) { warned <- err })
	}()
	at := time.Unix(1_800_000_000, 0)
	one := loop.Trace{Profile: "red", Moves: 3, Received: at, Linked: 1, Decided: at.Add(2), Durable: at.Add(3),
		Sent: at.Add(4), Stored: at.Add(5)}
	tr.Done(one)
	var got otlpRequest
	if err := json.Unmarshal(<-bodies, &got); err != nil {
		t.Fatal(err)
	}
	spans := got.Resources[0].Scopes[0].Spans
	var names []string
	for _, s := range spans {
		names = append(names, s.Name+" "+s.Start[len(s.Start)-1:]+"–"+s.End[len(s.End)-1:])
		if s.Trace != spans[0].Trace || len(s.Trace) != 32 || len(s.Span) != 16 ||
			(s.Name == "move") != (s.Parent == "") || s.Parent != "" && s.Parent != spans[0].Span {
			t.Errorf("span %+v", s)
		}
	}
	if want := []string{"move 0–5", "link 0–1", "rules 1–2", "journal 2–3", "answer 3–4",
		"store 3–5"}; !slices.Equal(names, want) {
		t.Errorf("got %q, want %q", names, want)
	}
	close(refuse)
	for range 3 { // the first may still be answered well
		tr.Done(one)
		<-bodies
	}
	if err := <-warned; !strings.Contains(err.Error(), "503") {
		t.Errorf("the collector refuses: %v", err)
	}
	stop()
	<-ended
	if len(warned) != 0 {
		t.Error("it is told twice")
	}
	for range 3 * tracesQueued { // the collector takes none: the caller does not wait
		tr.Done(one)
	}
	off, err := config.Load("test.conf", "", config.Params{})
	if err != nil {
		t.Fatal(err)
	}
	tr.Configure(off)
	if tr.Every.Load() != 0 {
		t.Error("traces are followed that go nowhere")
	}
}
