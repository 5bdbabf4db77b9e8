package config

import (
	"cmp"
	"slices"
	"time"

	"wamble"
)

// House is what all profiles of a configuration share and may tell of each
// other: the policy, and which profiles run. Each Profile carries it.
type House struct {
	Rules    []wamble.PolicyRule
	Tags     []wamble.PolicyTag
	Profiles []Neighbour // those that run, by name
}

// Neighbour is what a profile tells about one that runs in the same house.
type Neighbour struct {
	Name          string
	Group         string // profile-group
	Port          int    // UDP; 0: the kernel chooses it, or there is none
	NoUDP         bool
	Advertise     bool
	Visibility    int
	Open          bool   // policy-default is allow
	Terms         string // "": none
	WebSocketPort int    // 0: there is none, or the kernel chooses it
	WebSocketPath string // "": there is none
	Reservation   time.Duration
}

// Neighbour is how the others see the profile.
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

// shareHouse gives every profile the house. The default one, when it runs because
// no other does, is there for everybody to see.
func (l *loader) shareHouse() {
	c := l.config
	house := &House{Rules: l.rules, Tags: l.tags}
	for _, p := range c.Running() {
		n := p.Neighbour()
		n.Advertise = n.Advertise || p == c.Default
		house.Profiles = append(house.Profiles, n)
	}
	slices.SortFunc(house.Profiles, func(a, b Neighbour) int { return cmp.Compare(a.Name, b.Name) })
	for _, p := range append([]*Profile{c.Default}, c.Profiles...) {
		p.House = house
	}
}
