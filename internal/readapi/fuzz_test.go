package readapi

import (
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"testing"
	"time"
)

// FuzzRequest: the answer to any request is one of those in docs/http.md, and no request
// causes an internal error.
func FuzzRequest(f *testing.F) {
	for _, row := range routes {
		f.Add(row.path, "", "")
	}
	f.Add("/api/boards/17", "limit=2", "Bearer "+token)
	f.Add("/api/boards/18446744073709551616/pgn", "", "Basic abc")
	f.Add("/api/players/h_ada/scores", "before=1794744000000000-17&limit=100", "Bearer ")
	f.Add("/api/finished", "after=5f2a91c0-1&limit=1000&wait=0", "")
	f.Add("/api/finished", "after=end", "bearer 01122233445566778899aabbccddeeff")
	f.Add("/api/leaderboard", "by=rating&offset=16&limit=16", "")
	known := []int{200, 301, 304, 307, 400, 403, 404, 405, 410, 429, 503}
	f.Fuzz(func(t *testing.T, path, query, authorization string) {
		values, _ := url.ParseQuery(query) // as the server reads it
		values.Del("wait")                 // no game ends here
		query = values.Encode()
		q := &http.Request{
			Method: http.MethodGet, URL: &url.URL{Path: path, RawQuery: query}, Host: "wamble",
			RemoteAddr: "192.0.2.1:4000",
			Header:     http.Header{"Authorization": {authorization}}, Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
		}
		r := newRig(t)
		r.end(11)
		w := httptest.NewRecorder()
		r.ServeHTTP(w, q.WithContext(t.Context()))
		if !slices.Contains(known, w.Code) {
			t.Errorf("%q ? %q as %q: got %d %s", path, query, authorization, w.Code, w.Body)
		}
		if body := w.Body.Len(); body > 1<<16 {
			t.Errorf("%q: %d bytes", path, body)
		}
	})
}

// One operation is one request whose answer is in the cache.
func BenchmarkCache(b *testing.B) {
	r := &rig{now: noon, calls: map[string]int{}, changed: make(chan struct{}), looked: make(chan string, 64)}
	r.API = New(Options{Profile: "blitz", Store: r, Admit: r.admits1, Counts: r.count, Feed: r,
		Now: func() time.Time { return noon }})
	for _, path := range []string{"/api/boards/18", "/api/leaderboard", "/api/live"} {
		b.Run(path, func(b *testing.B) {
			q := request(path)
			q.RemoteAddr = "127.0.0.1:4000"
			b.ReportAllocs()
			for b.Loop() {
				w := httptest.NewRecorder()
				if r.ServeHTTP(w, q); w.Code != 200 {
					b.Fatal(w.Code)
				}
			}
		})
	}
}
