package web

import (
	"net/http"
	"strings"
	"sync"
)

// policy lets a page run and show only what its own host sent as a file.
const policy = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; " +
	"base-uri 'none'; form-action 'none'; frame-ancestors 'none'"

// playerPages are the addresses that show the client of players; the client
// itself reads them.
var playerPages = []string{"/{$}", "/watch", "/watch/{board}", "/board/{board}", "/you", "/trail", "/finished"}

// Player returns the site of players. It expects the WebSocket at the path
// socket of the same host.
func Player(socket string) http.Handler {
	return later(func() http.Handler {
		mux := http.NewServeMux()
		page := site(mux, "player", "/_/", func(html string) string {
			return strings.ReplaceAll(html, "{{socket}}", socket)
		})
		for _, pattern := range playerPages {
			mux.Handle("GET "+pattern, secure(page))
		}
		mux.Handle("GET /", secure(page.missing())) // the client says that there is nothing
		return mux
	})
}

// Console returns the host's console. It expects to be mounted at /console/, and
// what it asks for beside that.
func Console() http.Handler {
	return later(func() http.Handler {
		mux := http.NewServeMux()
		page := site(mux, "console", "/console/_/", func(html string) string { return html })
		mux.Handle("GET /console/{$}", secure(page))
		return mux
	})
}

// later is a handler that is made when it is asked for first: a server that starts
// has players who wait, and pages have to be packed.
func later(make func() http.Handler) http.Handler {
	made := sync.OnceValue(make)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { made().ServeHTTP(w, r) })
}

// Built reports whether the binary has the browser client.
func Built() bool {
	_, err := dist.ReadFile("dist/player/index.html")
	return err == nil
}

// site serves the assets of a site at a path, and returns its page.
func site(mux *http.ServeMux, name, at string, fill func(html string) string) *asset {
	assets, err := readAssets(dist, name)
	index := assets["index.html"]
	if err != nil || index == nil {
		return newAsset("unbuilt.html", []byte(unbuilt), pack([]byte(unbuilt)))
	}
	delete(assets, "index.html")
	mux.HandleFunc("GET "+at+"{file}", func(w http.ResponseWriter, r *http.Request) {
		a := assets[r.PathValue("file")]
		if a == nil {
			http.NotFound(w, r)
			return
		}
		a.ServeHTTP(w, r)
	})
	html := []byte(fill(string(index.plain)))
	return newAsset("index.html", html, pack(html))
}

// secure says what a page may do.
func secure(page http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h := w.Header()
		h.Set("Content-Security-Policy", policy)
		h.Set("Referrer-Policy", "no-referrer")
		h.Set("X-Frame-Options", "DENY")
		page.ServeHTTP(w, r)
	})
}
