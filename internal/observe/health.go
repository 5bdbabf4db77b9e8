package observe

import (
	"io"
	"net/http"
)

// Health returns the handler of /healthz, which always succeeds, and of /readyz, which
// succeeds if ready returns true.
func Health(ready func() (up bool, why string)) *http.ServeMux {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /healthz", func(w http.ResponseWriter, _ *http.Request) {
		plain(w, http.StatusOK, "alive\n")
	})
	mux.HandleFunc("GET /readyz", func(w http.ResponseWriter, _ *http.Request) {
		code := http.StatusOK
		up, why := ready()
		if !up {
			code = http.StatusServiceUnavailable
		}
		plain(w, code, why+"\n")
	})
	return mux
}

func plain(w http.ResponseWriter, code int, text string) {
	h := w.Header()
	h.Set("Content-Type", "text/plain; charset=utf-8")
	h.Set("Cache-Control", "no-store")
	h.Set("X-Content-Type-Options", "nosniff")
	w.WriteHeader(code)
	io.WriteString(w, text)
}
