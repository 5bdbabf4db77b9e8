package server

import (
	"regexp"
	"strconv"
	"strings"
	"testing"

	"wamble"
	"wamble/internal/config"
	"wamble/internal/observe"
)

// metric returns the value of a line of the metrics, -1 if the line is missing.
func metric(text, line string) float64 {
	m := regexp.MustCompile(`(?m)^` + regexp.QuoteMeta(line) + ` (\S+)$`).FindStringSubmatch(text)
	if m == nil {
		return -1
	}
	value, err := strconv.ParseFloat(m[1], 64)
	if err != nil {
		return -1
	}
	return value
}

// TestWatched: HTTP requests are measured by route and code, WebSocket connections by their
// duration, and games by their progress.
func TestWatched(t *testing.T) {
	t.Parallel()
	s := serve(t, Options{}, conf("")).ready()
	site := "http://" + s.Addresses().HTTP.String()
	for path, code := range map[string]string{"/healthz": "200", "/api/boards/987654321": "404"} {
		if got := fetch(t, site+path); !strings.HasPrefix(got, code) {
			t.Errorf("%s: %s", path, got)
		}
	}
	p := join(t, "ws://"+s.Addresses().HTTP.String()+"/ws", wamble.Token{})
	p.move(t.Context())
	p.c.Close()
	of := `{profile="default"}`
	until(t, "the end of the connection is counted",
		func() bool { return metric(s.metrics(), "wamble_websocket_seconds_count"+of) == 1 })
	text := s.metrics()
	for line, want := range map[string]float64{
		`wamble_http_request_seconds_count{code="200",profile="default",route="/healthz"}`:    1,
		`wamble_http_request_seconds_count{code="404",profile="default",route="/api/boards"}`: 1,
		"wamble_boards_frozen" + of: 0,
	} {
		if got := metric(text, line); got != want {
			t.Errorf("%s is %v, want %v", line, got, want)
		}
	}
	opening, awake := metric(text, "wamble_boards_opening"+of), metric(text, "wamble_boards_awake"+of)
	if opening <= 0 || opening > awake {
		t.Errorf("of %v boards in play %v are in the opening", awake, opening)
	}
	waited, longest := metric(text, "wamble_boards_waited_seconds"+of),
		metric(text, "wamble_boards_waited_longest_seconds"+of)
	if longest < 0 || waited < longest {
		t.Errorf("boards have waited %v s, the longest %v s", waited, longest)
	}
}

// TestPprof: profiles of the program are served only if the host enables them, and then only
// with a token. A reload is enough to enable them.
func TestPprof(t *testing.T) {
	t.Parallel()
	text := conf("")
	load := func() (*config.Config, error) { return config.Load("test.conf", text, config.Params{}) }
	s := serve(t, Options{Load: load}, text).ready()
	token, err := observe.Token(s.tokenFile(s.o.Config))
	if err != nil {
		t.Fatal(err)
	}
	check := func(path, token, want string) {
		t.Helper()
		if got := fetchWith(t, "http://"+s.Admin()+path, token); !strings.HasPrefix(got, want) {
			t.Errorf("%s: got %.80s, want %s", path, got, want)
		}
	}
	check("/debug/pprof/", token, "404")
	text = strings.Replace(text, "(def admin-listen", "(def admin-pprof 1) (def admin-listen", 1)
	if _, err := s.Reload(t.Context()); err != nil {
		t.Fatal(err)
	}
	until(t, "the old listener, to which the connection was, is gone", func() bool {
		return strings.HasPrefix(fetchWith(t, "http://"+s.Admin()+"/debug/pprof/", token), "200")
	})
	check("/debug/pprof/goroutine?debug=1", token, "200 goroutine profile:")
	check("/debug/pprof/heap", "", "401")
}
