package client

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"

	"wamble/wire"
)

// Profile describes one of a server's profiles.
type Profile struct {
	Name       string
	Port       uint16
	Advertised bool
	Visibility int // trust that a session needs to see it

	MayJoin       bool
	HasTerms      bool
	TermsAccepted bool // also set if there are none
	// WebSocketPort and WebSocketPath are 0 and "" if the profile has no WebSocket.
	WebSocketPort      uint16
	WebSocketPath      string
	ReservationTimeout time.Duration
}

// Profiles requests the names of the profiles that the session may see, in byte order.
func (c *Client) Profiles(ctx context.Context) ([]string, error) {
	return ask(ctx, c, wire.Header{}, wire.ListProfiles{},
		func(_ *wire.Packet, m *wire.ProfilesList) ([]string, bool) {
			if len(m.Names) == 0 {
				return nil, true
			}
			return strings.Split(m.Names.String(), ","), true
		})
}

// profileAnswer is the content of a PROFILE_INFO.
type profileAnswer struct {
	profile Profile
	err     error
}

// Profile requests one profile. It returns ErrNotFound if the profile does not exist or is
// hidden.
func (c *Client) Profile(ctx context.Context, name string) (Profile, error) {
	a, err := ask(ctx, c, wire.Header{}, wire.GetProfileInfo{Name: wire.Text(name)},
		func(p *wire.Packet, m *wire.ProfileInfo) (profileAnswer, bool) {
			a, of := profileOf(p, m.Info.String())
			return a, of == wire.Limit(name, len(of))
		})
	if err != nil {
		return Profile{}, err
	}
	return a.profile, a.err
}

// profileOf reads a PROFILE_INFO; of is its profile's name, which the protocol may have
// truncated.
func profileOf(p *wire.Packet, info string) (a profileAnswer, of string) {
	part := strings.Split(info, ";")
	if part[0] == "NOTFOUND" {
		return profileAnswer{err: ErrNotFound}, strings.TrimPrefix(info, "NOTFOUND;")
	}
	if len(part) != 4 {
		return profileAnswer{err: fmt.Errorf("%w: profile %q", ErrBadAnswer, info)}, part[0]
	}
	port, err1 := strconv.ParseUint(part[1], 10, 16)
	visibility, err2 := strconv.Atoi(part[3])
	if err1 != nil || err2 != nil {
		return profileAnswer{err: fmt.Errorf("%w: profile %q", ErrBadAnswer, info)}, part[0]
	}
	number := func(key string) int64 { v, _ := p.Ext.Int(key); return v }
	path, _ := p.Ext.Text(wire.KeyProfileWebSocketPath)
	return profileAnswer{profile: Profile{
		Name: part[0], Port: uint16(port), Advertised: part[2] == "1", Visibility: visibility,
		MayJoin:            number(wire.KeyProfileCaps)&wire.ProfileMayJoin != 0,
		HasTerms:           number(wire.KeyProfileTOSAvailable) != 0,
		TermsAccepted:      number(wire.KeyProfileTOSAccepted) != 0,
		WebSocketPort:      uint16(number(wire.KeyProfileWebSocketPort)),
		WebSocketPath:      path,
		ReservationTimeout: time.Duration(number(wire.KeyProfileReserveTimeout)) * time.Second,
	}}, part[0]
}

// Terms requests the terms of service of a profile, or if the name is empty of the profile that
// the client is connected to. They are empty if there are none. It returns ErrNotFound if the
// profile does not exist or is hidden.
func (c *Client) Terms(ctx context.Context, profile string) (string, error) {
	terms, err := ask(ctx, c, wire.Header{}, wire.GetProfileTOS{Name: wire.Text(profile)},
		func(_ *wire.Packet, m *wire.ProfileTOSData) (string, bool) {
			return m.Terms.String(), true
		})
	if err == nil && strings.HasPrefix(terms, "NOTFOUND;") {
		return "", ErrNotFound
	}
	return terms, err
}

// AcceptTerms accepts the terms of service of the profile that the client is connected to. The
// name may be empty.
func (c *Client) AcceptTerms(ctx context.Context, profile string) (Profile, error) {
	a, err := ask(ctx, c, wire.Header{}, wire.AcceptProfileTOS{Name: wire.Text(profile)},
		func(p *wire.Packet, m *wire.ProfileInfo) (profileAnswer, bool) {
			a, _ := profileOf(p, m.Info.String())
			c.adoptCaps(p)
			return a, true
		})
	if err != nil {
		return Profile{}, err
	}
	return a.profile, a.err
}
