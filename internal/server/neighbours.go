package server

import (
	"slices"

	"wamble/internal/config"
)

// introduced is a profile's configuration with the true ports of its neighbours:
// of those whose ports the kernel has chosen, players are to be told that number.
func (s *Server) introduced(cfg *config.Profile) *config.Profile {
	if cfg.House == nil || !slices.ContainsFunc(cfg.House.Profiles, unnumbered) {
		return cfg
	}
	house := *cfg.House
	house.Profiles = slices.Clone(house.Profiles)
	for i := range house.Profiles {
		n := &house.Profiles[i]
		k := s.keeper(n.Name)
		if k == nil || !unnumbered(*n) {
			continue
		}
		if port := k.Port(); port != nil {
			n.Port = int(port.Addr().Port())
			if n.WebSocketPath != "" && n.WebSocketPort == 0 {
				n.WebSocketPort = int(port.TCPAddr().Port())
			}
		}
	}
	told := *cfg
	told.House = &house
	return &told
}

func unnumbered(n config.Neighbour) bool { return n.Port == 0 }
