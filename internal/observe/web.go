package observe

import (
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// Web has the metrics of HTTP requests and WebSocket connections.
type Web struct {
	requests *prometheus.HistogramVec
	sockets  *prometheus.HistogramVec
}

// NewWeb returns a Web without observations.
func NewWeb() *Web {
	return &Web{
		requests: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name: "wamble_http_request_seconds", Help: "From the head of an HTTP request to the end of its answer.",
			Buckets: []float64{.001, .005, .025, .1, .5, 2, 10},
		}, []string{"profile", "route", "code"}),
		sockets: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name: "wamble_websocket_seconds", Help: "How long WebSocket connections lasted that have ended.",
			Buckets: []float64{1, 10, 60, 600, 3600, 6 * 3600, 24 * 3600},
		}, []string{"profile"}),
	}
}

// Describe implements prometheus.Collector.
func (m *Web) Describe(out chan<- *prometheus.Desc) {
	m.requests.Describe(out)
	m.sockets.Describe(out)
}

// Collect implements prometheus.Collector.
func (m *Web) Collect(out chan<- prometheus.Metric) {
	m.requests.Collect(out)
	m.sockets.Collect(out)
}

// Socket returns a function to be called with the duration of each WebSocket connection of a
// profile.
func (m *Web) Socket(profile string) func(lasted time.Duration) {
	of := m.sockets.WithLabelValues(profile)
	return func(lasted time.Duration) { of.Observe(lasted.Seconds()) }
}

// Measure returns a handler that measures the requests to a profile's site.
func (m *Web) Measure(profile string, site http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		began, seen := time.Now(), &answer{ResponseWriter: w, code: http.StatusOK}
		site.ServeHTTP(seen, r)
		m.requests.WithLabelValues(profile, routeOf(r.URL.Path),
			strconv.Itoa(seen.code)).Observe(time.Since(began).Seconds())
	})
}

// routeOf returns one of a few values for a path, so that clients cannot create new label
// values.
func routeOf(path string) string {
	for _, route := range []string{"/api/live", "/api/boards", "/api/players", "/api/leaderboard", "/api/finished",
		"/api"} {
		if strings.HasPrefix(path, route) {
			return route
		}
	}
	if path == "/healthz" || path == "/readyz" {
		return path
	}
	return "/"
}

// answer records the status code of an answer.
type answer struct {
	http.ResponseWriter
	code int
}

func (a *answer) WriteHeader(code int) {
	a.code = code
	a.ResponseWriter.WriteHeader(code)
}

// Unwrap lets http.ResponseController flush and set deadlines.
func (a *answer) Unwrap() http.ResponseWriter { return a.ResponseWriter }
