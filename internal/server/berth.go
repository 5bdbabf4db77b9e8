package server

import (
	"net"
	"net/netip"

	"wamble/internal/config"
	"wamble/internal/handoff"
	"wamble/internal/transport"
)

// listeners is where profiles would listen, for the verdict of a check.
func listeners(profiles []*config.Profile) []handoff.Listener {
	var list []handoff.Listener
	for _, cfg := range profiles {
		udp, tcp := berths(cfg)
		list = append(list, handoff.Listener{Profile: cfg.Name, Address: udp.address, UDP: udp.port, TCP: tcp.port})
	}
	return list
}

// canListen finds a socket that the next image could not have: one that it
// neither inherits nor can bind. It would be frozen by then, and the image before
// it, which comes back, would read the same configuration.
func (s *Server) canListen(v handoff.Verdict) error {
	for _, want := range v.Listeners {
		if s.inherits(want) {
			continue
		}
		port, err := transport.Listen(transport.Options{Address: netip.AddrPortFrom(want.Address, want.UDP), TCPPort: want.TCP})
		if err != nil {
			return handoff.NotReady("profile %s cannot be bound: %w; if another profile has the port, let 'wamble reload' do that first", want.Profile, err)
		}
		port.Close()
	}
	if door := s.adminDoor(); v.Admin == "" || door != nil && serves(door.listener.Addr().String(), v.Admin) {
		return nil
	}
	l, err := net.Listen("tcp", v.Admin)
	if err != nil {
		return handoff.NotReady("the admin listener cannot be bound: %w", err)
	}
	l.Close()
	return nil
}

// inherits reports whether the sockets of a profile that runs are what a profile
// of the next image wants: its own, or, by their numbers, those of another.
func (s *Server) inherits(want handoff.Listener) bool {
	fits := func(got, wanted uint16) bool { return got == wanted || wanted == 0 }
	for _, k := range s.keepers() {
		if k.name != want.Profile && (want.UDP == 0 || want.TCP == 0) {
			continue
		}
		udp, _ := berths(k.Config())
		port := k.Port()
		if udp.address == want.Address && fits(port.Addr().Port(), want.UDP) && fits(port.TCPAddr().Port(), want.TCP) {
			return true
		}
	}
	return false
}

// serves reports whether a listener is where an address wants one.
func serves(bound, address string) bool {
	_, port, err := net.SplitHostPort(address)
	return bound == address || err == nil && port == "0"
}

// inheritedSockets returns duplicates of the sockets that a profile is to have,
// if they are bound where it wants them now: those that it had, or else, by their
// numbers, those that another had. Otherwise it gets new ones.
func inheritedSockets(h *handoff.Inheritance, cfg *config.Profile) (Sockets, bool) {
	if pair, ok := inheritedPair(h, cfg.Name, cfg); ok {
		return pair, true
	}
	if udp, tcp := berths(cfg); udp.port == 0 || tcp.port == 0 {
		return Sockets{}, false
	}
	for name := range h.Sockets {
		if pair, ok := inheritedPair(h, name, cfg); ok {
			return pair, true
		}
	}
	return Sockets{}, false
}

// inheritedPair returns duplicates of the sockets that a profile of that name
// had, if they are bound where cfg wants them.
func inheritedPair(h *handoff.Inheritance, name string, cfg *config.Profile) (Sockets, bool) {
	udp, err := handoff.Duplicate(h.Sockets, name)
	if err != nil || udp == nil {
		return Sockets{}, false
	}
	tcp, err := handoff.Duplicate(h.Listeners, handoff.HTTP(name))
	if err != nil || tcp == nil {
		udp.Close()
		return Sockets{}, false
	}
	if u, t := berths(cfg); !transport.Bound(udp, u.port) || !transport.Bound(tcp, t.port) {
		udp.Close()
		tcp.Close()
		return Sockets{}, false
	}
	return Sockets{UDP: udp, TCP: tcp}, true
}
