package web_test

import (
	"net/http"
	"net/http/httptest"
	"runtime"
	"strings"
	"testing"

	"wamble/web"
)

// TestBoardPages: the page of a board is the same with and without compression, answers HEAD and a known ETag
// without a body, and costs little: anybody can ask for a million different ones.
func TestBoardPages(t *testing.T) {
	site := web.Player("/ws", noOthers)
	for _, path := range []string{"/board/17", "/watch/17", "/embed/9223372036854775807"} {
		plain, packed := fetch(site, path), fetch(site, path, "Accept-Encoding", "gzip")
		if packed.Header.Get("Content-Encoding") != "gzip" {
			t.Errorf("%s is not compressed", path)
		}
		want := bodyOf(t, plain)
		if got := bodyOf(t, packed); got != want || !strings.Contains(got, "og:title") {
			t.Errorf("%s: the compressed page differs: %d bytes, want %d", path, len(got), len(want))
		}
		tag := plain.Header.Get("ETag")
		if known := fetch(site, path, "If-None-Match", tag); known.StatusCode != http.StatusNotModified || tag == "" {
			t.Errorf("%s: a known ETag %q is answered with %d", path, tag, known.StatusCode)
		}
		if other := fetch(site, "/board/18"); other.Header.Get("ETag") == tag {
			t.Errorf("%s: another board has the same ETag", path)
		}
		head := httptest.NewRecorder()
		site.ServeHTTP(head, httptest.NewRequest(http.MethodHead, path, nil))
		if head.Body.Len() != 0 || head.Header().Get("Content-Length") != plain.Header.Get("Content-Length") {
			t.Errorf("%s: HEAD has %d bytes, and says %s", path, head.Body.Len(), head.Header().Get("Content-Length"))
		}
	}
	const requests = 200
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	for range requests {
		r := httptest.NewRequest(http.MethodGet, "/board/17", nil)
		r.Header.Set("Accept-Encoding", "gzip")
		site.ServeHTTP(discard{http.Header{}}, r)
	}
	runtime.ReadMemStats(&after)
	if got, most := (after.TotalAlloc-before.TotalAlloc)/requests, uint64(16<<10); got > most {
		t.Errorf("a request allocates %d bytes, want at most %d", got, most)
	}
}

// discard is a response that nobody reads.
type discard struct{ header http.Header }

func (d discard) Header() http.Header         { return d.header }
func (d discard) Write(b []byte) (int, error) { return len(b), nil }
func (d discard) WriteHeader(int)             {}
