package web_test

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"testing"

	"wamble/web"
)

// fetch requests a path from a site, as a browser does.
func fetch(site http.Handler, path string, header ...string) *http.Response {
	r := httptest.NewRequest(http.MethodGet, path, nil)
	for i := 0; i < len(header); i += 2 {
		r.Header.Set(header[i], header[i+1])
	}
	w := httptest.NewRecorder()
	site.ServeHTTP(w, r)
	return w.Result()
}

func bodyOf(t *testing.T, resp *http.Response) string {
	t.Helper()
	var body io.Reader = resp.Body
	if resp.Header.Get("Content-Encoding") == "gzip" {
		unpacked, err := gzip.NewReader(resp.Body)
		if err != nil {
			t.Fatal(err)
		}
		body = unpacked
	}
	text, err := io.ReadAll(body)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// TestPages: every address of the client returns its page, under a policy that allows no
// foreign content; all others are not found.
func TestPages(t *testing.T) {
	t.Parallel()
	player := web.Player("/socket", noOthers)
	for path, want := range map[string]int{
		"/": 200, "/watch": 200, "/watch/17": 200, "/board/17": 200, "/embed/17": 200, "/you": 200, "/trail": 200,
		"/finished": 200, "/map": 200, "/at/2026-11-17T04:00:00Z": 200,
		"/watch/17/x": 404, "/elsewhere": 404, "/_/nothing.js": 404, "/console/": 404,
	} {
		resp := fetch(player, path)
		if resp.StatusCode != want {
			t.Errorf("%s: got %d, want %d", path, resp.StatusCode, want)
		}
		if want != 200 {
			continue
		}
		policy := resp.Header.Get("Content-Security-Policy")
		if !strings.Contains(policy, "default-src 'none'") || strings.Contains(policy, "unsafe") {
			t.Errorf("%s: the policy is %q", path, policy)
		}
		if page := bodyOf(t, resp); !strings.Contains(page, `content="/socket"`) {
			t.Errorf("%s: the page does not say where the WebSocket is", path)
		}
	}
	if resp := fetch(web.Console(), "/console/"); resp.StatusCode != 200 ||
		resp.Header.Get("Content-Security-Policy") == "" {
		t.Errorf("the console: %d, policy %q", resp.StatusCode, resp.Header.Get("Content-Security-Policy"))
	}
}

// TestShared: the page of a board has the texts for a preview of its link, whatever host was
// asked for; only the page to embed may be shown in a frame.
func TestShared(t *testing.T) {
	t.Parallel()
	player := web.Player("/ws", noOthers)
	page := bodyOf(t, fetch(player, "/board/17"))
	for _, want := range []string{`<meta property="og:image" content="http://example.com/api/boards/17/png">`,
		`<meta property="og:title" content="Board 17 · Wamble">`, `property="og:description"`, `rel="manifest"`} {
		if !strings.Contains(page, want) {
			t.Errorf("the page lacks %s", want)
		}
	}
	r := httptest.NewRequest(http.MethodGet, "/board/17", nil)
	r.Host = `evil"><script>`
	w := httptest.NewRecorder()
	player.ServeHTTP(w, r)
	if strings.Contains(w.Body.String(), "evil") || strings.Contains(w.Body.String(), "{{") {
		t.Error("the name of the host is in the page as it was sent")
	}
	for path, want := range map[string]string{"/board/17": "frame-ancestors 'none'", "/embed/17": "frame-ancestors *",
		"/watch/17": "frame-ancestors 'none'"} {
		resp := fetch(player, path)
		if got := resp.Header.Get("Content-Security-Policy"); resp.StatusCode != 200 || !strings.HasSuffix(got, want) {
			t.Errorf("%s: got %d, %q, want %q", path, resp.StatusCode, got, want)
		}
		if framed := resp.Header.Get("X-Frame-Options") == ""; framed != strings.HasPrefix(path, "/embed") {
			t.Errorf("%s: X-Frame-Options is %q", path, resp.Header.Get("X-Frame-Options"))
		}
	}
	manifest := regexp.MustCompile(`rel="manifest" href="([^"]+)"`).FindStringSubmatch(page)[1]
	var app struct {
		Name    string
		Start   string `json:"start_url"`
		Display string
		Icons   []struct{ Src, Type, Sizes string }
	}
	if err := json.Unmarshal([]byte(bodyOf(t, fetch(player, manifest))), &app); err != nil || app.Name != "Wamble" ||
		app.Start != "/" || app.Display != "standalone" {
		t.Errorf("the manifest is %+v, %v", app, err)
	}
	sizes := map[string]bool{}
	for _, icon := range app.Icons {
		sizes[icon.Sizes] = true
		resp := fetch(player, icon.Src)
		if got := resp.Header.Get("Content-Type"); resp.StatusCode != 200 || got != icon.Type {
			t.Errorf("%s: %d, %s, want %s", icon.Src, resp.StatusCode, got, icon.Type)
		}
	}
	if !sizes["192x192"] || !sizes["512x512"] { // required by browsers before they offer to install
		t.Errorf("there are icons of the sizes %v", sizes)
	}
}

// link finds the files that a page loads at once.
var link = regexp.MustCompile(`(?:src|href)="(/_/[^"]+)"`)

// TestFirstLoad: the files that a browser fetches before it shows a board have at most 150
// KB, compressed, and are cached for ever.
func TestFirstLoad(t *testing.T) {
	t.Parallel()
	player := web.Player("/ws", noOthers)
	page := fetch(player, "/", "Accept-Encoding", "gzip")
	var packed bytes.Buffer
	packed.ReadFrom(page.Body)
	total, script := packed.Len(), 0
	unpacked := bodyOf(t, fetch(player, "/"))
	files := link.FindAllStringSubmatch(unpacked, -1)
	if len(files) < 3 {
		t.Fatalf("the page loads %v", files)
	}
	for _, m := range files {
		resp := fetch(player, m[1], "Accept-Encoding", "gzip")
		if got := resp.Header.Get("Content-Encoding"); resp.StatusCode != 200 || got != "gzip" {
			t.Errorf("%s: %d, encoded as %q", m[1], resp.StatusCode, got)
		}
		if got := resp.Header.Get("Cache-Control"); !strings.Contains(got, "immutable") {
			t.Errorf("%s: kept as %q", m[1], got)
		}
		n, _ := io.Copy(io.Discard, resp.Body)
		total += int(n)
		if strings.HasSuffix(m[1], ".js") {
			script += int(n)
		}
	}
	if script > 60<<10 {
		t.Errorf("the first load has %d bytes of script, at most %d are wanted", script, 60<<10)
	}
	t.Logf("the first load has %d bytes in %d files", total, len(files)+1)
	if total > 150<<10 {
		t.Errorf("the first load has %d bytes, at most %d are wanted", total, 150<<10)
	}
}

// TestCache: an asset that a browser has is not sent again, and both forms of it
// are the same.
func TestCache(t *testing.T) {
	t.Parallel()
	player := web.Player("/ws", noOthers)
	path := link.FindStringSubmatch(bodyOf(t, fetch(player, "/")))[1]
	first := fetch(player, path)
	plain := bodyOf(t, first)
	if packed := bodyOf(t, fetch(player, path, "Accept-Encoding", "br, gzip")); packed != plain {
		t.Error("the compressed form differs from the plain one")
	}
	again := fetch(player, path, "If-None-Match", first.Header.Get("ETag"))
	if again.StatusCode != http.StatusNotModified || bodyOf(t, again) != "" {
		t.Errorf("an asset that the browser has: got %d, want 304", again.StatusCode)
	}
}

// TestLicences: the bundle has the licences of all its packages.
func TestLicences(t *testing.T) {
	t.Parallel()
	text := bodyOf(t, fetch(web.Player("/ws", noOthers), "/_/THIRD_PARTY_LICENSES.txt"))
	for _, name := range []string{"preact", "@noble/ed25519", "@noble/hashes", "@scure/bip39", "uplot"} {
		if !strings.Contains(text, "\n"+name+" ") {
			t.Errorf("%s is not named", name)
		}
	}
	if strings.Contains(text, "GPL") || !strings.Contains(text, "Permission is hereby granted") {
		t.Error("the licences are not those that were expected")
	}
}

func noOthers() string { return "" }
