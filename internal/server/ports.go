package server

import (
	"errors"
	"fmt"
	"net"
	"net/netip"
	"os"
	"slices"
	"strconv"
	"syscall"

	"wamble/internal/config"
	"wamble/internal/host"
	"wamble/internal/transport"
)

// Sockets are the open sockets of one profile, bound before a handoff or by the service
// manager.
type Sockets struct {
	UDP, TCP *os.File
	Siblings []*os.File // UDP sockets of the other shards
}

// Add sets UDP or TCP, by the type of the socket.
func (s *Sockets) Add(f *os.File) error {
	switch {
	case transport.Datagrams(f) && s.UDP == nil:
		s.UDP = f
	case transport.Streams(f) && s.TCP == nil:
		s.TCP = f
	default:
		return errors.New("it is neither a first UDP socket nor a first TCP listener")
	}
	return nil
}

// portOptions returns the addresses and limits of a profile's port. HTTP and WebSocket
// share one listener; package config checks that they name the same port.
func portOptions(cfg *config.Profile) transport.Options {
	n := &cfg.Network
	o := transport.Options{
		Address: n.Address(n.Port),
		UDP:     transport.UDPOptions{Buffer: n.BufferSize, Off: !n.UDPEnabled},
		HTTP:    transport.HTTPOptions{Max: n.HTTPMaxConnections, MaxHost: n.HTTPMaxPerIP, Proxies: n.Proxies()},
		WebSocket: transport.GatewayOptions{
			Path: n.WebSocketPath, Origins: n.Origins(),
		},
	}
	web, hasWeb := n.HTTP()
	socket, hasSocket := n.WebSocket()
	o.WebSocket.Off = !hasSocket
	switch {
	case hasWeb:
		o.TCPPort = uint16(web)
	case hasSocket:
		o.TCPPort = uint16(socket)
	}
	return o
}

// socketAddress identifies a socket by the configuration. Sockets with port 0, which the
// kernel chooses, are told apart by their profile.
type socketAddress struct {
	network string
	address netip.Addr
	port    uint16
	profile string // set if port is 0
}

func newSocketAddress(network string, cfg *config.Profile, address netip.Addr, port uint16) socketAddress {
	a := socketAddress{network: network, address: address, port: port}
	if port == 0 {
		a.profile = cfg.Name
	}
	return a
}

// String returns the address to listen at, with an empty host for all addresses.
func (a socketAddress) String() string {
	host := ""
	if a.address.IsValid() {
		host = a.address.String()
	}
	return net.JoinHostPort(host, strconv.Itoa(int(a.port)))
}

// socketAddresses returns where the two sockets of a profile are bound.
func socketAddresses(cfg *config.Profile) (udp, tcp socketAddress) {
	o := portOptions(cfg)
	number := o.TCPPort
	if number == 0 {
		number = o.Address.Port()
	}
	udpPort := o.Address.Port()
	if o.UDP.Off {
		udpPort = 0
	}
	return newSocketAddress("udp", cfg, o.Address.Addr(), udpPort), newSocketAddress("tcp", cfg, o.Address.Addr(), number)
}

// openPorts has the ports that are open, by the addresses of their sockets and by profile.
type openPorts struct {
	byAddress map[socketAddress]*transport.Port
	byProfile map[string]*transport.Port
}

func newOpenPorts() openPorts {
	return openPorts{map[socketAddress]*transport.Port{}, map[string]*transport.Port{}}
}

func (o openPorts) add(cfg *config.Profile, p *transport.Port) {
	udp, tcp := socketAddresses(cfg)
	o.byAddress[udp], o.byAddress[tcp], o.byProfile[cfg.Name] = p, p, p
}

// bindAll opens the ports of profiles. It reuses sockets that are open or inherited with the
// same address, and binds the others. After an error it has closed what it opened.
func bindAll(profiles []*config.Profile, open openPorts, inherited map[string]Sockets) (ports map[string]*transport.Port, err error) {
	ports = map[string]*transport.Port{}
	defer func() {
		if err != nil {
			closePorts(ports)
		}
	}()
	for _, cfg := range profiles {
		p, err := bind(cfg, open, inherited)
		if err != nil {
			return ports, err
		}
		ports[cfg.Name] = p
	}
	return ports, nil
}

func bind(cfg *config.Profile, open openPorts, inherited map[string]Sockets) (*transport.Port, error) {
	secret, err := host.Certificate(&cfg.Network)
	if err != nil {
		return nil, &StartError{StartThreadError, cfg.Name, err}
	}
	p, err := bindPlain(cfg, open, inherited)
	if err == nil {
		p.Secure(secret)
	}
	return p, err
}

func bindPlain(cfg *config.Profile, open openPorts, inherited map[string]Sockets) (*transport.Port, error) {
	if s, ok := inherited[cfg.Name]; ok {
		p, err := adoptSockets(cfg, s)
		if err != nil {
			return nil, &StartError{StartNoSocket, cfg.Name, err}
		}
		return p, nil
	}
	udp, tcp := socketAddresses(cfg)
	n := cfg.Boards.Shards
	ports, err := transport.RenewShards(open.byAddress[udp], open.byAddress[tcp], portOptions(cfg), n)
	if old := open.byProfile[cfg.Name]; old != nil && n == 1 && errors.Is(err, syscall.EADDRINUSE) {
		// The profile itself may have the port, on another address.
		if beside, no := transport.ListenBeside([]*transport.Port{old}, open.byAddress[udp], open.byAddress[tcp], portOptions(cfg)); no == nil {
			ports, err = []*transport.Port{beside}, nil
		}
	}
	if err != nil {
		return nil, bindError(cfg.Name, err)
	}
	return ports[0], nil
}

// adoptSockets makes a port of inherited sockets. It fails if they are bound to other ports than
// the profile's.
func adoptSockets(cfg *config.Profile, s Sockets) (*transport.Port, error) {
	ports, err := transport.AdoptShards(append([]*os.File{s.UDP}, s.Siblings...), s.TCP, portOptions(cfg), cfg.Boards.Shards)
	if err != nil {
		return nil, err
	}
	p := ports[0]
	udp, tcp := socketAddresses(cfg)
	if got := p.Addr().Port(); udp.port != 0 && got != udp.port {
		err = fmt.Errorf("the inherited UDP socket is bound to port %d, not to %d", got, udp.port)
	} else if got := p.TCPAddr().Port(); tcp.port != 0 && got != tcp.port {
		err = fmt.Errorf("the inherited TCP socket is bound to port %d, not to %d", got, tcp.port)
	}
	if err != nil {
		closeShards(p)
		return nil, err
	}
	return p, nil
}

// conflicts returns a *StartError if two profiles want the same socket. Configurations from
// files were checked for that already.
func conflicts(profiles []*config.Profile) error {
	owner := map[socketAddress]string{}
	for _, cfg := range profiles {
		udp, tcp := socketAddresses(cfg)
		for _, a := range []socketAddress{udp, tcp} {
			if other, taken := owner[a]; taken {
				return &StartError{StartConflict, cfg.Name, fmt.Errorf("it has the %s port %d of profile %s", a.network, a.port, other)}
			}
			owner[a] = cfg.Name
		}
	}
	return nil
}

func closePorts(ports map[string]*transport.Port) error {
	var errs []error
	for _, p := range ports {
		errs = append(errs, closeShards(p))
	}
	return errors.Join(errs...)
}

// closeShards closes the ports of all shards.
func closeShards(p *transport.Port) error {
	var errs []error
	for _, shard := range p.Shards() {
		errs = append(errs, shard.Close())
	}
	return errors.Join(errs...)
}

// withTruePorts returns a profile's configuration in which the list of profiles has the
// bound ports, in place of port 0, so that players are told the ports that the kernel chose.
func (s *Server) withTruePorts(cfg *config.Profile) *config.Profile {
	if cfg.House == nil || !slices.ContainsFunc(cfg.House.Profiles, unnumbered) {
		return cfg
	}
	house := *cfg.House
	house.Profiles = slices.Clone(house.Profiles)
	for i := range house.Profiles {
		n := &house.Profiles[i]
		sup := s.supervisor(n.Name)
		if sup == nil || !unnumbered(*n) {
			continue
		}
		if port := sup.Port(); port != nil {
			if !n.NoUDP {
				n.Port = int(port.Addr().Port())
			}
			if n.WebSocketPath != "" && n.WebSocketPort == 0 {
				n.WebSocketPort = int(port.TCPAddr().Port())
			}
		}
	}
	told := *cfg
	told.House = &house
	return &told
}

// udpText returns the UDP address of a profile, or "off".
func udpText(sup *supervisor, port *transport.Port) string {
	if _, on := sup.Config().Network.UDPPort(); !on {
		return "off"
	}
	return port.Addr().String()
}

// unnumbered reports whether a profile's UDP port is 0.
func unnumbered(n config.Neighbour) bool { return n.Port == 0 }
