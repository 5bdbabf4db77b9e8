package web

import (
	"fmt"
	"net/http"
	"regexp"
	"strconv"
	"strings"
	"sync"
)

// policy returns the content security policy of a page: it runs and shows only files of its own
// host, and connects only to that host and the given machines.
func policy(machines string) string {
	others := ""
	for host := range strings.FieldsSeq(machines) {
		if strings.Contains(host, ":") {
			continue // a policy cannot name IPv6 addresses
		}
		for _, scheme := range []string{"http", "https", "ws", "wss"} {
			others += " " + scheme + "://" + host + ":*"
		}
	}
	return "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'" + others +
		"; manifest-src 'self'; " +
		"base-uri 'none'; form-action 'none'; frame-ancestors "
}

// playerPages are the addresses of the players' client, which reads them itself.
var playerPages = []string{"/{$}", "/watch", "/you", "/trail", "/finished", "/map", "/at/{time}"}

// boardPages are the addresses of a single board, which link previews show.
var boardPages = []string{"/watch/{board}", "/board/{board}", "/embed/{board}"}

// Player returns the players' site. The client connects to the WebSocket at the path socket of
// its own host or of one of the machines, which are separated by spaces.
func Player(socket string, machines func() string) http.Handler {
	return later(func() http.Handler {
		mux := http.NewServeMux()
		var shared *halves // the page of a board, around what names the board; nil without a build
		page := site(mux, "player", "/_/", func(html string) string {
			before, after, _ := strings.Cut(strings.ReplaceAll(html, "{{socket}}", socket), "{{share}}")
			shared = newHalves(before, after)
			return before + after
		})
		for _, pattern := range boardPages {
			mux.Handle("GET "+pattern, boardPage(page, shared, machines))
		}
		for _, pattern := range playerPages {
			mux.Handle("GET "+pattern, secure(page, machines))
		}
		mux.Handle("GET /", secure(page.missing(), machines)) // the client shows "not found"
		return mux
	})
}

// Console returns the host's console. It must be mounted at /console/, next to the API that it
// calls.
func Console() http.Handler {
	return later(func() http.Handler {
		mux := http.NewServeMux()
		page := site(mux, "console", "/console/_/", func(html string) string { return html })
		mux.Handle("GET /console/{$}", secure(page, alone))
		return mux
	})
}

// alone returns the machines of a site that has no others.
func alone() string { return "" }

// later returns a handler that is built on its first request: pages are compressed then, so
// that they do not delay the start of the server.
func later(make func() http.Handler) http.Handler {
	made := sync.OnceValue(make)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { made().ServeHTTP(w, r) })
}

// site serves the assets of a site at a path, and returns its page after fill.
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

// hostName matches the host names that may be written into a page.
var hostName = regexp.MustCompile(`^[A-Za-z0-9.:\[\]-]{1,255}$`)

// boardPage returns the page of a board with the metadata for link previews.
func boardPage(page *asset, shared *halves, machines func() string) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		embedded := strings.HasPrefix(r.URL.Path, "/embed/")
		id, err := strconv.ParseUint(r.PathValue("board"), 10, 63)
		host := hostName.MatchString(r.Host)
		var answer http.Handler = page
		if err == nil && host && shared != nil {
			scheme := "http"
			if r.TLS != nil || r.Header.Get("X-Forwarded-Proto") == "https" {
				scheme = "https"
			}
			answer = shared.with(fmt.Sprintf(share, scheme+"://"+r.Host, id))
		}
		if embedded {
			guarded(answer, machines, "*").ServeHTTP(w, r) // may be framed by any site: it only shows the board
			return
		}
		secure(answer, machines).ServeHTTP(w, r)
	})
}

// share is the metadata for the preview of a board's link.
const share = `<meta property="og:type" content="website">
<meta property="og:site_name" content="Wamble">
<meta property="og:title" content="Board %[2]d · Wamble">
<meta property="og:description" content="Massively multiplayer chess: every move takes you to another board.">
<meta property="og:url" content="%[1]s/board/%[2]d">
<meta property="og:image" content="%[1]s/api/boards/%[2]d/png">
<meta property="og:image:width" content="480">
<meta property="og:image:height" content="480">
<meta name="twitter:card" content="summary">
`

// secure serves a page with its security headers; it cannot be framed.
func secure(page http.Handler, machines func() string) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("X-Frame-Options", "DENY")
		guarded(page, machines, "'none'").ServeHTTP(w, r)
	})
}

// guarded serves a page with its security headers; frames are the sites that may frame it.
func guarded(page http.Handler, machines func() string, frames string) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h := w.Header()
		h.Set("Content-Security-Policy", policy(machines())+frames)
		h.Set("Referrer-Policy", "no-referrer")
		page.ServeHTTP(w, r)
	})
}
