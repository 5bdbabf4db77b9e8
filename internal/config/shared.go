package config

import (
	"cmp"
	"slices"
	"time"

	"wamble"
)

// Shared has what all profiles of a configuration share: the policy, and the list of running
// profiles.
type Shared struct {
	Rules    []wamble.PolicyRule
	Tags     []wamble.PolicyTag
	Profiles []Neighbour // running profiles, sorted by name
}

// Neighbour is what players can learn of a profile from the other profiles.
type Neighbour struct {
	Name          string
	Group         string // profile-group
	Port          int    // of UDP; 0 if the kernel chooses it or UDP is off
	NoUDP         bool
	Advertise     bool
	Visibility    int
	Open          bool   // policy-default is allow
	Terms         string // "" if there are none
	WebSocketPort int    // 0 if the kernel chooses it or WebSocket is off
	WebSocketPath string // "" if WebSocket is off
	Reservation   time.Duration
}

// Neighbour returns the profile as the others list it.
func (p *Profile) Neighbour() Neighbour {
	n := Neighbour{
		Name: p.Name, Group: p.Standing.ProfileGroup, NoUDP: !p.Network.UDPEnabled,
		Advertise: p.Standing.Advertise, Visibility: p.Standing.Visibility,
		Open: p.Standing.PolicyDefault != "deny", Terms: p.Standing.TermsText,
		Reservation: p.Boards.ReservationTimeout,
	}
	n.Port, _ = p.Network.UDPPort()
	if port, on := p.Network.WebSocket(); on {
		n.WebSocketPort, n.WebSocketPath = port, p.Network.WebSocketPath
	}
	return n
}

// shareAll sets Shared of every profile. The default profile, if it runs, is advertised.
func (l *loader) shareAll() {
	c := l.config
	shared := &Shared{Rules: l.rules, Tags: l.tags}
	for _, p := range c.Running() {
		n := p.Neighbour()
		n.Advertise = n.Advertise || p == c.Default
		shared.Profiles = append(shared.Profiles, n)
	}
	slices.SortFunc(shared.Profiles, func(a, b Neighbour) int { return cmp.Compare(a.Name, b.Name) })
	for _, p := range append([]*Profile{c.Default}, c.Profiles...) {
		p.Shared = shared
	}
}
