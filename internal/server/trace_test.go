package server

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strconv"
	"testing"
	"time"

	"wamble"
)

// TestTrace: sampled moves of a running server are traced through rules, journal, answer and
// store, and the spans are sent to a collector.
func TestTrace(t *testing.T) {
	t.Parallel()
	type span struct {
		Name                               string
		TraceID                            string `json:"traceId"`
		StartTimeUnixNano, EndTimeUnixNano string
	}
	got := make(chan []span, 64)
	collector := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		var body struct {
			ResourceSpans []struct {
				ScopeSpans []struct{ Spans []span }
			}
		}
		if err := json.NewDecoder(r.Body).Decode(&body); err != nil {
			t.Error(err)
			return
		}
		got <- body.ResourceSpans[0].ScopeSpans[0].Spans
	}))
	defer collector.Close()
	s := serve(t, Options{}, conf(`(def trace-endpoint "`+collector.URL+`/v1/traces") (def trace-every 2)`)).ready()
	began := time.Now()
	p := join(t, s.address(), wamble.Token{})
	p.move(t.Context())
	var spans []span
	select {
	case spans = <-got:
	case <-time.After(patience):
		t.Fatal("the collector was told of nothing")
	}
	at := func(text string) time.Time {
		n, err := strconv.ParseInt(text, 10, 64)
		if err != nil {
			t.Fatal(err)
		}
		return time.Unix(0, n)
	}
	if len(spans) < 6 || spans[0].Name != "move" {
		t.Fatalf("got %+v", spans)
	}
	for i, name := range []string{"move", "link", "rules", "journal", "answer", "store"} {
		s := spans[i]
		start, end := at(s.StartTimeUnixNano), at(s.EndTimeUnixNano)
		if s.Name != name || s.TraceID != spans[0].TraceID || !end.After(start) ||
			start.Before(began.Add(-time.Second)) || end.After(time.Now().Add(time.Second)) {
			t.Errorf("%s: %+v, from %v to %v", name, s, start, end)
		}
	}
}
