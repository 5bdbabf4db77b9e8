package server

import (
	"io"
	"net/http"

	"wamble/web"
)

// site is what HTTP shows on the port of a profile.
func (s *Server) site(k *keeper) http.Handler {
	if _, on := k.Config().Network.HTTP(); !on {
		return nil
	}
	mux := health(k.readiness)
	mux.Handle("GET /api/", s.api(k))
	mux.Handle("GET /", web.Player(k.Config().Network.WebSocketPath))
	return mux
}

// draining is what /readyz says while nobody new is taken.
const draining = "draining: nobody new is taken"

// readiness is that of one profile.
func (k *keeper) readiness() (up bool, why string) {
	if up, why = k.Stage(); up && k.draining.Load() {
		return false, draining
	}
	return up, why
}

// readiness is that of all profiles, for the admin listener.
func (s *Server) readiness() (up bool, why string) {
	list := s.keepers()
	up, why = len(list) > 0, "no profile runs"
	for _, k := range list {
		isUp, stage := k.readiness()
		if up = up && isUp; !isUp && len(list) > 1 {
			return false, k.name + ": " + stage
		}
		why = stage
	}
	return up, why
}

// health answers whether the process lives, and whether it serves players.
func health(ready func() (up bool, why string)) *http.ServeMux {
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
