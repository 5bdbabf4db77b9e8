package server

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/netip"
	"os"
	"slices"
	"strconv"
	"syscall"
	"time"

	"wamble/internal/admin"
	"wamble/internal/config"
	"wamble/internal/handoff"
	"wamble/internal/store"
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
	return newSocketAddress("udp", cfg, o.Address.Addr(), udpPort),
		newSocketAddress("tcp", cfg, o.Address.Addr(), number)
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
func bindAll(profiles []*config.Profile, open openPorts,
	inherited map[string]Sockets) (ports map[string]*transport.Port, err error) {
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
	secret, err := admin.Certificate(&cfg.Network)
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
		if beside, no := transport.ListenBeside([]*transport.Port{old}, open.byAddress[udp], open.byAddress[tcp],
			portOptions(cfg)); no == nil {
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
	ports, err := transport.AdoptShards(append([]*os.File{s.UDP}, s.Siblings...), s.TCP, portOptions(cfg),
		cfg.Boards.Shards)
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
				return &StartError{StartConflict, cfg.Name,
					fmt.Errorf("it has the %s port %d of profile %s", a.network, a.port, other)}
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

// TruePorts returns a profile's configuration in which the list of profiles has the
// bound ports, in place of port 0, so that players are told the ports that the kernel chose.
func (p *Profile) TruePorts(cfg *config.Profile) *config.Profile {
	if cfg.Shared == nil || !slices.ContainsFunc(cfg.Shared.Profiles, unnumbered) {
		return cfg
	}
	shared := *cfg.Shared
	shared.Profiles = slices.Clone(shared.Profiles)
	for i := range shared.Profiles {
		n := &shared.Profiles[i]
		other := p.server.profile(n.Name)
		if other == nil || !unnumbered(*n) {
			continue
		}
		if port := other.Port(); port != nil {
			if !n.NoUDP {
				n.Port = int(port.Addr().Port())
			}
			if n.WebSocketPath != "" && n.WebSocketPort == 0 {
				n.WebSocketPort = int(port.TCPAddr().Port())
			}
		}
	}
	withPorts := *cfg
	withPorts.Shared = &shared
	return &withPorts
}

// udpText returns the UDP address of a profile, or "off".
func udpText(p *Profile, port *transport.Port) string {
	if _, on := p.Config().Network.UDPPort(); !on {
		return "off"
	}
	return port.Addr().String()
}

// unnumbered reports whether a profile's UDP port is 0.
func unnumbered(n config.Neighbour) bool { return n.Port == 0 }

// Inherited reports whether this process was started by a handoff.
func (s *Server) Inherited() bool { return s.o.Handoff.Inheritance != nil }

// Serve opens a server and runs it until it stops or hands over by exec. Load returns the options of
// the server, and run calls Run on it.
func Serve(load func() (Options, error), run func(s *Server) error) error {
	return handoff.Serve(handoff.Program{
		Check: func() (handoff.Verdict, error) {
			o, err := load()
			if err != nil {
				return handoff.Verdict{}, err
			}
			return Check(context.Background(), o)
		},
		Open: func(h *handoff.Inheritance) (func() error, error) {
			s, err := openProcess(load, h)
			return func() error { return run(s) }, err
		},
	})
}

// openProcess loads the options and opens a server with an inheritance, or nil.
func openProcess(load func() (Options, error), h *handoff.Inheritance) (*Server, error) {
	began := time.Now()
	o, err := load()
	if err != nil {
		return nil, err
	}
	o.Handoff.Args, o.Handoff.Inheritance, o.Instance = os.Args, h, instance()
	if o.Handoff.Binary == "" {
		if o.Handoff.Binary, err = os.Executable(); err != nil {
			return nil, fmt.Errorf("find the binary of this process: %w", err)
		}
	}
	h.Lap("config", began)
	return Open(o)
}

// beginInheriting takes over the sockets of the process before a handoff, and begins to
// read its states while the journal is opened. After a normal start it removes state files
// of an interrupted handoff.
func (s *Server) beginInheriting() error {
	h := s.o.Handoff.Inheritance
	if h == nil {
		s.successor = handoff.Begin(nil, nil)
		if n, err := handoff.Sweep(StateDir(s.o.Config, s.dir)); n > 0 || err != nil {
			s.log.Warn("state files of an interrupted handoff were removed", "files", n, "err", err)
		}
		return nil
	}
	profiles, err := s.wantedProfiles(s.o.Config)
	if err != nil {
		return err
	}
	s.running.draining.Store(h.Note.Draining)
	s.successor = handoff.Begin(h, profiles)
	s.o.Inherited = map[string]Sockets{}
	for _, cfg := range profiles {
		udp, tcp := socketAddresses(cfg)
		if u, t := h.Pair(cfg.Name, udp.port, tcp.port); u != nil {
			s.o.Inherited[cfg.Name] = Sockets{UDP: u, TCP: t, Siblings: h.Siblings(cfg.Name, cfg.Boards.Shards)}
		}
	}
	return nil
}

// endInheriting gives the inherited states to the shards.
func (s *Server) endInheriting() error { return s.successor.Adopt(s.runtimes()) }

// inheritedControl returns the inherited control socket; nil if there is none, or it is at
// another path.
func (s *Server) inheritedControl() *net.UnixListener {
	l := s.o.Handoff.Inheritance.Listener(handoff.Control)
	if l == nil {
		return nil
	}
	unix, ok := l.(*net.UnixListener)
	if !ok || unix.Addr().String() != admin.ControlPath(s.dir) {
		l.Close()
		return nil
	}
	return unix // an inherited socket is not unlinked when it is closed
}

// listenAdmin returns the inherited admin listener if it has the address, otherwise binds
// one.
func (s *Server) listenAdmin(address string) (net.Listener, error) {
	if l := s.o.Handoff.Inheritance.Listener(handoff.Admin); l != nil {
		if listensAt(l, address) {
			return l, nil
		}
		l.Close()
	}
	return net.Listen("tcp", address)
}

// answerHandoff writes the result of a handoff to the client that asked for it: at the
// console if web is set, otherwise at the control socket.
func answerHandoff(to io.Writer, web bool, r *handoff.Result) {
	var err error
	if r.Failure != "" {
		err = errors.New("the new image could not take over, the old one serves again: " + r.Failure)
	}
	if web {
		admin.AnswerWeb(to, r, err)
		return
	}
	admin.Answer(to, r, err)
}

// Check reports whether a server with these options could take over from the running one:
// its configuration is valid, and it knows or can migrate the schemas of its stores. It only
// reads. A store that does not answer is noted, and is no error. Whether the listeners can
// be bound is checked by the running server, which has the sockets (canListen).
func Check(ctx context.Context, o Options) (handoff.Verdict, error) {
	v := handoff.Verdict{Version: o.Handoff.Version, Stores: map[string]string{}, Shards: map[string]int{}}
	s := &Server{o: o}
	profiles, err := s.wantedProfiles(o.Config)
	if err == nil {
		err = conflicts(profiles)
	}
	if err == nil {
		err = s.checkCertificates(o.Config)
	}
	if err != nil {
		return v, err
	}
	for _, cfg := range profiles {
		v.Shards[cfg.Name] = cfg.Boards.Shards
		udp, tcp := socketAddresses(cfg)
		v.Listeners = append(v.Listeners, handoff.Listener{Profile: cfg.Name, Address: udp.address, UDP: udp.port,
			NoUDP: !cfg.Network.UDPEnabled, TCP: tcp.port})
	}
	v.Admin, v.Journal = o.Config.Server.AdminListen, journalLocation(o.Config)
	stores, err := OpenStores(profiles, o.Dir)
	if err != nil {
		return v, err
	}
	defer CloseStores(stores)
	for _, db := range stores {
		for _, name := range db.Profiles {
			v.Stores[name] = db.Name
		}
		if err := db.addMigrations(ctx, &v); err != nil {
			return v, err
		}
	}
	return v, nil
}

// addMigrations adds the pending migrations of a store to a verdict.
func (s *SharedStore) addMigrations(ctx context.Context, v *handoff.Verdict) error {
	if s.File != "" {
		if _, err := os.Stat(s.File); errors.Is(err, os.ErrNotExist) {
			v.Notes = append(v.Notes, s.Name+" is made")
			return nil
		}
	}
	ctx, cancel := context.WithTimeout(ctx, loadTime)
	defer cancel()
	st, err := s.Status(ctx)
	switch {
	case errors.Is(err, store.ErrTransient):
		v.Notes = append(v.Notes, fmt.Sprintf("%s is away: its schema was not checked: %v", s.Name, err))
		return nil
	case err != nil:
		return err
	case st.Refused() != nil:
		return fmt.Errorf("%s: %w", s.Name, st.Refused())
	}
	for _, name := range st.Pending {
		v.Migrations = append(v.Migrations,
			handoff.Migration{Store: s.Name, Name: name, Additive: !slices.Contains(st.Breaks, name)})
	}
	return nil
}
