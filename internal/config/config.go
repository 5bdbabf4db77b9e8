package config

import (
	"cmp"
	"fmt"
	"net"
	"net/netip"
	"slices"
	"strconv"
	"strings"

	"wamble"
	"wamble/internal/lisp"
)

// DefaultName is the name of the profile that is made of the top-level options. It runs if
// no other profile does.
const DefaultName = "default"

// Config is a loaded configuration file. It is immutable: a reload makes a new one.
type Config struct {
	File     string // name; "" without a file
	Server   Server
	Default  *Profile   // the top level, or the profile chosen by Params.Profile
	Profiles []*Profile // in the order of the file, abstract ones included
	Rules    []wamble.PolicyRule
	Tags     []wamble.PolicyTag
	Warnings []*lisp.Error

	origins []Origin // of the Server options, by their index in All
}

// Profile is the configuration of one listener, or a template for others.
type Profile struct {
	Name string
	Base string // the profile it inherits from, or ""
	Options
	Shared *Shared // shared by all profiles of the file; nil if it was not loaded

	pos     lisp.Pos
	faulty  bool     // an option has a wrong value: checks between options are skipped
	origins []Origin // by the option's index in All
}

// Origin is where the effective value of an option came from.
type Origin struct {
	Kind    OriginKind
	Profile string   // the base profile that defines it, if Kind is FromBase
	Pos     lisp.Pos // of the name in its definition; zero for a default
}

// OriginKind is a level of precedence.
type OriginKind int

// The levels, from the weakest to the strongest.
const (
	FromDefault OriginKind = iota
	FromTopLevel
	FromBase
	FromProfile
)

var originNames = [...]string{"default", "top level", "base profile", "profile"}

func (k OriginKind) String() string { return originNames[k] }

// String describes the origin for hosts: "default", "wamble.conf:3:6 (top level)".
func (o Origin) String() string {
	switch o.Kind {
	case FromDefault:
		return "default"
	case FromTopLevel:
		return o.Pos.String() + " (top level)"
	case FromBase:
		return o.Pos.String() + " (base profile " + o.Profile + ")"
	}
	return o.Pos.String()
}

// Params are the parameters of Load besides the file.
type Params struct {
	Getenv  func(string) string // evaluates (getenv "NAME"); nil is an empty environment
	Profile string              // profile whose options Default gets; "" for the top level
}

// LoadError is returned when a file has errors.
type LoadError struct {
	Errors, Warnings []*lisp.Error
}

// Error returns one line for each error.
func (e *LoadError) Error() string {
	var lines []string
	for _, err := range e.Errors {
		lines = append(lines, err.Error())
	}
	return strings.Join(lines, "\n")
}

// Profile returns the profile with a name, or nil.
func (c *Config) Profile(name string) *Profile {
	i := slices.IndexFunc(c.Profiles, func(p *Profile) bool { return p.Name == name })
	if i < 0 {
		return nil
	}
	return c.Profiles[i]
}

// Running returns the profiles that get a listener, in the order of the file;
// if there are none, the default one.
func (c *Config) Running() []*Profile {
	var running []*Profile
	for _, p := range c.Profiles {
		if !p.Standing.Abstract && (p.Standing.Advertise || c.overridden(p)) {
			running = append(running, p)
		}
	}
	if running == nil {
		return []*Profile{c.Default}
	}
	return running
}

// overridden reports whether a rule allows a player to discover p though it is not
// advertised. Then it runs.
func (c *Config) overridden(p *Profile) bool {
	return slices.ContainsFunc(c.Rules, func(r wamble.PolicyRule) bool {
		group := p.Standing.ProfileGroup
		return r.Allow && r.Action == "profile.discover.override" &&
			(r.Resource == "*" || r.Resource == "profile:"+p.Name || group != "" &&
				r.Resource == "profile_selector:"+group)
	})
}

// HTTP returns the TCP port of the web client; ok is false if HTTP is off. Port 0 stands for
// the port that the kernel chose for UDP.
func (n Network) HTTP() (port int, ok bool) {
	if n.HTTPPort == -1 {
		return 0, false
	}
	return n.tcpPort().port, true
}

// WebSocket returns the TCP port of WebSocket; ok is false if it is off. It is the port of
// HTTP if that is on.
func (n Network) WebSocket() (port int, ok bool) {
	if !n.WebSocketEnabled {
		return 0, false
	}
	return n.tcpPort().port, true
}

// tcpPort is a TCP port and the option that sets it.
type tcpPort struct {
	option string
	port   int
}

// tcpPort returns the TCP port of the profile; zero if neither HTTP nor WebSocket is on.
func (n Network) tcpPort() tcpPort {
	switch {
	case n.HTTPPort > 0:
		return tcpPort{"http-port", n.HTTPPort}
	case n.WebSocketEnabled && n.WebSocketPort > 0:
		return tcpPort{"websocket-port", n.WebSocketPort}
	case n.HTTPPort < 0 && !n.WebSocketEnabled:
		return tcpPort{}
	case n.Domain != "":
		return tcpPort{"domain", 443}
	}
	return tcpPort{"port", n.Port}
}

// Origins returns the origins of other pages that may open a WebSocket, as
// "https://example.org"; "*" is any. They include those of cluster-endpoints, whose pages
// may continue at another node.
func (n Network) Origins() []string {
	origins := strings.Fields(n.WebSocketOrigins)
	port, _ := n.HTTP()
	for host := range strings.FieldsSeq(n.ClusterEndpoints) {
		at := net.JoinHostPort(host, strconv.Itoa(port))
		origins = append(origins, "http://"+strings.TrimSuffix(at, ":80"), "https://"+strings.TrimSuffix(at, ":443"))
	}
	return origins
}

// Home returns the one of cluster-endpoints at which players reach this node; "" if it is
// not known.
func (n Network) Home() string {
	home := cmp.Or(n.ClusterHost, n.ListenAddress)
	if slices.Contains(strings.Fields(n.ClusterEndpoints), home) {
		return home
	}
	return ""
}

// LoginNames returns the names by which players reach the server: those of login-servers, domain,
// cluster-endpoints and cluster-host. A Host that a client sends is not among them: a server
// that hands logins on sends its own.
func (p *Profile) LoginNames() []string {
	n := &p.Network
	return strings.Fields(strings.ToLower(
		strings.Join([]string{p.Sessions.LoginServers, n.Domain, n.ClusterEndpoints, n.ClusterHost}, " ")))
}

// Domains returns the names for which the server orders certificates.
func (n Network) Domains() []string { return strings.Fields(n.Domain) }

// UDPPort returns the UDP port of the game; ok is false if UDP is off.
func (n Network) UDPPort() (port int, ok bool) {
	if !n.UDPEnabled {
		return 0, false
	}
	return n.Port, true
}

// Proxies returns the networks of the trusted proxies.
func (n Network) Proxies() []netip.Prefix {
	list, _ := networks(n.TrustedProxies) // checked by Load
	return list
}

// Address returns the address to listen on with the given port. The address is invalid if
// the profile listens on all.
func (n Network) Address(port int) netip.AddrPort {
	address, _ := netip.ParseAddr(n.ListenAddress) // checked by Load; "" is all
	return netip.AddrPortFrom(address, uint16(port))
}

// TCPPort returns the port of the database server.
func (d Database) TCPPort() int {
	if d.Port == 0 {
		return 5432
	}
	return d.Port
}

// Password returns db-pass, or the first line of db-pass-file, which is read anew at every
// call.
func (d Database) Password(readFile func(name string) ([]byte, error)) (string, error) {
	if d.PassFile == "" {
		return string(d.Pass), nil
	}
	text, err := readFile(d.PassFile)
	if err != nil {
		return "", fmt.Errorf("read the database password: %w", err)
	}
	line, _, _ := strings.Cut(string(text), "\n")
	return strings.TrimSuffix(line, "\r"), nil
}

// JournalStore returns the database of a journal in PostgreSQL: journal-db-*, with options
// that are unset taken from the first running profile.
func (c *Config) JournalStore() Database {
	d, s := c.Running()[0].Database, &c.Server
	set := func(to *string, value string) {
		if value != "" {
			*to = value
		}
	}
	if s.JournalHost != "" || s.JournalPort != 0 {
		set(&d.Host, s.JournalHost)
		d.Port = s.JournalPort
	}
	set(&d.User, s.JournalUser)
	set(&d.Name, s.JournalDatabase)
	if s.JournalPass != "" || s.JournalPassFile != "" {
		d.Pass, d.PassFile = s.JournalPass, s.JournalPassFile
	}
	if s.JournalSSLMode != "like" {
		d.SSLMode = s.JournalSSLMode
	}
	return d
}

// Postgres reports whether the profile uses PostgreSQL: at least one of the options of
// Database is set. Otherwise it uses SQLite.
func (p *Profile) Postgres() bool {
	for i, o := range All() {
		if o.Family == "Database" && p.origins[i].Kind != FromDefault {
			return true
		}
	}
	return false
}

// Storage describes where the profile keeps its games.
func (p *Profile) Storage() string {
	if p.Postgres() {
		return "PostgreSQL " + p.Database.User + "@" + database(p)
	}
	if p.Store.Isolated {
		return "SQLite, a file of its own"
	}
	return "SQLite"
}

// Origin returns where the option's value came from.
func (p *Profile) Origin(o *Option) Origin { return p.origins[slices.Index(All(), o)] }

// Value returns the effective value of a profile's option.
func (p *Profile) Value(o *Option) any { return o.in(nil, &p.Options).Interface() }
