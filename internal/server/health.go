package server

import (
	"net/http"

	"wamble/internal/host"
	"wamble/internal/observe"
	"wamble/web"
)

// site returns the handler of HTTP on the port of a profile: health, API and the web player;
// nil if HTTP is off.
func (s *Server) site(sup *supervisor) http.Handler {
	if _, on := sup.Config().Network.HTTP(); !on {
		return nil
	}
	mux := observe.Health(sup.readiness)
	api := s.api(sup)
	mux.Handle("GET /api/", api)
	mux.Handle("OPTIONS /api/", api) // CORS preflight of browsers
	mux.Handle("GET /", web.Player(sup.Config().Network.WebSocketPath, func() string { return sup.Config().Network.ClusterEndpoints }))
	return mux
}

// draining is the text of /readyz while new players are refused.
const draining = "draining: nobody new is taken"

// The texts of /readyz for a profile without trouble, and for a server without profiles.
const (
	ready      = "ready"
	noProfiles = "no profile runs"
)

// readiness returns whether a profile takes new players, and its text for /readyz.
func (s *supervisor) readiness() (up bool, why string) {
	if up, why = s.Stage(); up && s.draining.Load() {
		return false, draining
	}
	// Play goes on without the database, so the profile stays ready.
	if trouble := s.StoreState().Trouble; up && trouble != "" {
		why += "; but the database: " + trouble
	}
	if s.peers != nil {
		why += "; parts of " + host.PartsText(s.peers.s.partitionOwners.status())
	}
	return up, why
}

// readiness returns whether all profiles are ready, and their texts, for the admin listener.
func (s *Server) readiness() (up bool, why string) {
	list := s.supervisors()
	up, why = len(list) > 0, noProfiles
	for _, sup := range list {
		isUp, stage := sup.readiness()
		if up = up && isUp; !isUp && len(list) > 1 {
			return false, sup.name + ": " + stage
		}
		if stage != ready && len(list) > 1 {
			stage = sup.name + ": " + stage
		}
		if why == ready || why == noProfiles {
			why = stage
		}
	}
	return up, why
}
