package server

import (
	"net/http"

	"wamble/internal/observe"
	"wamble/web"
)

// site is what HTTP shows on the port of a profile.
func (s *Server) site(k *supervisor) http.Handler {
	if _, on := k.Config().Network.HTTP(); !on {
		return nil
	}
	mux := observe.Health(k.readiness)
	mux.Handle("GET /api/", s.api(k))
	mux.Handle("GET /", web.Player(k.Config().Network.WebSocketPath))
	return mux
}

// draining is what /readyz says while nobody new is taken.
const draining = "draining: nobody new is taken"

// readiness is that of one profile.
func (k *supervisor) readiness() (up bool, why string) {
	if up, why = k.Stage(); up && k.draining.Load() {
		return false, draining
	}
	return up, why
}

// readiness is that of all profiles, for the admin listener.
func (s *Server) readiness() (up bool, why string) {
	list := s.supervisors()
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
