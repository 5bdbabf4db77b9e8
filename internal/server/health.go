package server

import (
	"net/http"

	"wamble/internal/host"
	"wamble/internal/observe"
	"wamble/web"
)

// site returns the handler of HTTP on the port of a profile: health, API and the web player;
// nil if HTTP is off.
func (s *Server) site(k *supervisor) http.Handler {
	if _, on := k.Config().Network.HTTP(); !on {
		return nil
	}
	mux := observe.Health(k.readiness)
	api := s.api(k)
	mux.Handle("GET /api/", api)
	mux.Handle("OPTIONS /api/", api) // CORS preflight of browsers
	mux.Handle("GET /", web.Player(k.Config().Network.WebSocketPath, func() string { return k.Config().Network.ClusterEndpoints }))
	return mux
}

// draining is the text of /readyz while new players are refused.
const draining = "draining: nobody new is taken"

// The texts of /readyz for a profile without trouble, and for a server without profiles.
const (
	ready  = "ready"
	nobody = "no profile runs"
)

// readiness returns whether a profile takes new players, and its text for /readyz.
func (k *supervisor) readiness() (up bool, why string) {
	if up, why = k.Stage(); up && k.draining.Load() {
		return false, draining
	}
	// Play goes on without the database, so the profile stays ready.
	if trouble := k.StoreState().Trouble; up && trouble != "" {
		why += "; but the database: " + trouble
	}
	if k.abroad != nil {
		why += "; parts of " + host.PartsText(k.abroad.s.places.status())
	}
	return up, why
}

// readiness returns whether all profiles are ready, and their texts, for the admin listener.
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
