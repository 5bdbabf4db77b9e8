package observe

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"sync/atomic"
	"time"

	"wamble/internal/config"
	"wamble/internal/loop"
)

// Traces sends traces of requests to an OpenTelemetry collector, as OTLP in JSON over HTTP.
// Traces that the collector refuses, or that do not fit into the queue, are dropped.
type Traces struct {
	loop.Tracing
	version  string
	endpoint atomic.Pointer[string]
	queue    chan loop.Trace
	client   http.Client
	pause    time.Duration // how long a batch waits for more traces
}

// The bounds of the queue, of a batch, and of their times.
const (
	tracesQueued = 256
	tracesSent   = 64 // in one request
	tracesPause  = 2 * time.Second
	tracesTime   = 5 * time.Second
)

// NewTraces returns a Traces with the options of a configuration.
func NewTraces(version string, c *config.Config) *Traces {
	t := &Traces{version: version, queue: make(chan loop.Trace, tracesQueued), client: http.Client{Timeout: tracesTime},
		pause: tracesPause}
	t.Done = func(tr loop.Trace) {
		select {
		case t.queue <- tr:
		default: // the queue is full
		}
	}
	t.Configure(c)
	return t
}

// Configure applies the options of a configuration.
func (t *Traces) Configure(c *config.Config) {
	t.endpoint.Store(&c.Server.TraceEndpoint)
	every := int64(c.Server.TraceEvery)
	if c.Server.TraceEndpoint == "" {
		every = 0
	}
	t.Every.Store(every)
}

// Send sends traces until ctx ends. Warn is called when sending begins to fail.
func (t *Traces) Send(ctx context.Context, warn func(error)) {
	failing := false
	for {
		batch := t.take(ctx)
		if len(batch) == 0 {
			return
		}
		err := t.post(ctx, batch)
		if err != nil && !failing && ctx.Err() == nil {
			warn(fmt.Errorf("traces are dropped: %w", err))
		}
		failing = err != nil
	}
}

// take waits for a trace, and for more during a pause. It returns none when ctx ends.
func (t *Traces) take(ctx context.Context) (batch []loop.Trace) {
	select {
	case <-ctx.Done():
		return nil
	case tr := <-t.queue:
		batch = append(batch, tr)
	}
	pause := time.NewTimer(t.pause)
	defer pause.Stop()
	for len(batch) < tracesSent {
		select {
		case tr := <-t.queue:
			batch = append(batch, tr)
		case <-pause.C:
			return batch
		case <-ctx.Done():
			return batch
		}
	}
	return batch
}

// post sends a batch in one request.
func (t *Traces) post(ctx context.Context, batch []loop.Trace) error {
	endpoint := *t.endpoint.Load()
	if endpoint == "" {
		return nil // it was turned off meanwhile
	}
	body, err := json.Marshal(t.request(batch))
	if err != nil {
		return err
	}
	r, err := http.NewRequestWithContext(ctx, "POST", endpoint, bytes.NewReader(body))
	if err != nil {
		return err
	}
	r.Header.Set("Content-Type", "application/json")
	resp, err := t.client.Do(r)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	io.CopyN(io.Discard, resp.Body, 4<<10) // lets the connection be reused
	if resp.StatusCode/100 != 2 {
		return fmt.Errorf("%s answers %s", endpoint, resp.Status)
	}
	return nil
}

// The used parts of the OTLP messages.
type (
	otlpValue struct {
		String string `json:"stringValue,omitempty"`
		Int    string `json:"intValue,omitempty"` // 64-bit numbers are strings in JSON
	}
	otlpAttribute struct {
		Key   string    `json:"key"`
		Value otlpValue `json:"value"`
	}
	otlpSpan struct {
		Trace      string          `json:"traceId"`
		Span       string          `json:"spanId"`
		Parent     string          `json:"parentSpanId,omitempty"`
		Name       string          `json:"name"`
		Kind       int             `json:"kind"` // 1: internal, 2: server
		Start      string          `json:"startTimeUnixNano"`
		End        string          `json:"endTimeUnixNano"`
		Attributes []otlpAttribute `json:"attributes,omitempty"`
	}
	otlpScope struct {
		Scope map[string]string `json:"scope"`
		Spans []otlpSpan        `json:"spans"`
	}
	otlpResource struct {
		Resource struct {
			Attributes []otlpAttribute `json:"attributes"`
		} `json:"resource"`
		Scopes []otlpScope `json:"scopeSpans"`
	}
	otlpRequest struct {
		Resources []otlpResource `json:"resourceSpans"`
	}
)

// request encodes a batch: each trace is a span "move" with five child spans.
func (t *Traces) request(batch []loop.Trace) otlpRequest {
	text := func(key, value string) otlpAttribute { return otlpAttribute{key, otlpValue{String: value}} }
	nanos := func(at time.Time) string { return strconv.FormatInt(at.UnixNano(), 10) }
	scope := otlpScope{Scope: map[string]string{"name": "wamble"}}
	for _, tr := range batch {
		id, root := randomHex(16), randomHex(8)
		end := tr.Stored
		if tr.Sent.After(end) {
			end = tr.Sent
		}
		scope.Spans = append(scope.Spans, otlpSpan{
			Trace: id, Span: root, Name: "move", Kind: 2, Start: nanos(tr.Received), End: nanos(end),
			Attributes: []otlpAttribute{text("wamble.profile", tr.Profile),
				{"wamble.moves", otlpValue{Int: strconv.FormatUint(tr.Moves, 10)}}},
		})
		linked := tr.Received.Add(tr.Linked)
		for _, part := range []struct {
			name       string
			start, end time.Time
		}{{"link", tr.Received, linked}, {"rules", linked, tr.Decided}, {"journal", tr.Decided, tr.Durable},
			{"answer", tr.Durable, tr.Sent}, {"store", tr.Durable, tr.Stored}} {
			scope.Spans = append(scope.Spans, otlpSpan{Trace: id, Span: randomHex(8), Parent: root, Name: part.name,
				Kind: 1, Start: nanos(part.start), End: nanos(part.end)})
		}
	}
	r := otlpResource{Scopes: []otlpScope{scope}}
	r.Resource.Attributes = []otlpAttribute{text("service.name", "wamble"), text("service.version", t.version)}
	return otlpRequest{[]otlpResource{r}}
}

func randomHex(n int) string {
	b := make([]byte, n)
	rand.Read(b) // it never fails
	return hex.EncodeToString(b)
}
