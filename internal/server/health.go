package server

import (
	"net/http"

	"wamble/internal/host"
	"wamble/internal/observe"
	"wamble/web"
)

// site is what HTTP shows on the port of a profile.
func (s *Server) site(k *supervisor) http.Handler {
	if _, on := k.Config().Network.HTTP(); !on {
		return nil
	}
	mux := observe.Health(k.readiness)
	api := s.api(k)
	mux.Handle("GET /api/", api)
	mux.Handle("OPTIONS /api/", api) // of browsers, for pages of other origins
	mux.Handle("GET /", web.Player(k.Config().Network.WebSocketPath, func() string { return k.Config().Network.ClusterEndpoints }))
	return mux
}

// draining is what /readyz says while nobody new is taken.
const draining = "draining: nobody new is taken"

// What /readyz says of a profile without trouble, and where there is none.
const (
	ready  = "ready"
	nobody = "no profile runs"
)

// readiness is that of one profile.
func (k *supervisor) readiness() (up bool, why string) {
	if up, why = k.Stage(); up && k.draining.Load() {
		return false, draining
	}
	// Play goes on: who is ready stays ready, but says it.
	if trouble := k.StoreState().Trouble; up && trouble != "" {
		why += "; but the database: " + trouble
	}
	if k.abroad != nil {
		why += "; parts of " + host.PartsText(k.abroad.s.places.status())
	}
	return up, why
}

// readiness is that of all profiles, for the admin listener.
func (s *Server) readiness() (up bool, why string) {
	list := s.supervisors()
	up, why = len(list) > 0, nobody
	for _, k := range list {
		isUp, stage := k.readiness()
		if up = up && isUp; !isUp && len(list) > 1 {
			return false, k.name + ": " + stage
		}
		if stage != ready && len(list) > 1 {
			stage = k.name + ": " + stage
		}
		if why == ready || why == nobody {
			why = stage
		}
	}
	return up, why
}
