package web

import (
	"net/http/httptest"
	"strings"
	"testing"
	"testing/fstest"
)

// TestHalfBuild: a file without its compressed form is no build.
func TestHalfBuild(t *testing.T) {
	t.Parallel()
	tree := fstest.MapFS{
		"dist/player/index.html":    {Data: []byte("<!doctype html>")},
		"dist/player/index.html.gz": {Data: []byte("x")},
		"dist/player/app-1.js":      {Data: []byte("1")},
	}
	if _, err := readAssets(tree, "player"); err == nil {
		t.Error("it was taken for one")
	}
	if assets, err := readAssets(tree, "console"); err != nil || len(assets) != 0 {
		t.Errorf("a site that was not built: got %v, %v", assets, err)
	}
}

// TestUnbuilt: without a build the page shows how to make one.
func TestUnbuilt(t *testing.T) {
	t.Parallel()
	w := httptest.NewRecorder()
	secure(newAsset("unbuilt.html", []byte(unbuilt), pack([]byte(unbuilt))), alone).ServeHTTP(w,
		httptest.NewRequest("GET", "/", nil))
	if !strings.Contains(w.Body.String(), "make web build") ||
		!strings.HasPrefix(w.Header().Get("Content-Type"), "text/html") {
		t.Errorf("got %q as %s", w.Body, w.Header().Get("Content-Type"))
	}
}
