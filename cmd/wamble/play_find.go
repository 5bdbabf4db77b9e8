package main

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"net/url"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"wamble/internal/admin"
)

// defaultPort is the port of a server with the default options.
const defaultPort = "8888"

// serverAddress completes the address of a server. It also accepts the address of its page,
// and a bare host with or without a port.
func serverAddress(text string) (string, error) {
	bad := func(why string) (string, error) {
		return "", fmt.Errorf("%q is not the address of a server: %s; for example wss://chess.example.org/ws, ws://localhost:8888/ws or udp://localhost:8888", text, why)
	}
	scheme, rest, ok := strings.Cut(text, "://")
	if !ok {
		scheme, rest = "ws", text
		if _, _, err := net.SplitHostPort(text); err != nil && !strings.Contains(text, "/") {
			rest = net.JoinHostPort(strings.Trim(text, "[]"), defaultPort)
		}
	}
	switch scheme {
	case "http":
		scheme = "ws"
	case "https":
		scheme = "wss"
	case "ws", "wss", "udp":
	default:
		return bad("it begins with " + scheme + "://")
	}
	u, err := url.Parse(scheme + "://" + rest)
	switch {
	case err != nil:
		return bad("it cannot be read")
	case u.Hostname() == "":
		return bad("it names no host")
	case scheme == "udp" && u.Port() == "":
		return bad("it names no port")
	}
	if scheme != "udp" && strings.Trim(u.Path, "/") == "" {
		u.Path = "/ws"
	}
	return u.String(), nil
}

// endpoint has the addresses of a server.
type endpoint struct {
	address string
	pages   []string // addresses of its HTTP routes, the likeliest first
	// here says that the addresses come from the control socket on this machine. The
	// certificate is then not verified, because it may not have the name localhost.
	here bool
}

// endpointAt returns the endpoint of an address that the player has typed.
func endpointAt(address string) endpoint {
	u, err := url.Parse(address)
	if err != nil {
		return endpoint{address: address}
	}
	d := endpoint{address: address, pages: []string{"http://" + u.Host, "https://" + u.Host}}
	switch u.Scheme { // udp does not tell whether HTTP uses TLS
	case "ws":
		d.pages = d.pages[:1]
	case "wss":
		d.pages = d.pages[1:]
	}
	return d
}

// tls returns the TLS configuration for the endpoint; nil for the default.
func (d *endpoint) tls() *tls.Config {
	if d.here {
		return &tls.Config{InsecureSkipVerify: true}
	}
	return nil
}

// findServer returns endpoints of the server on this machine: from its control socket, otherwise
// those of a server with the default options. A server that does not serve players yet is an error.
func findServer(cmd *cobra.Command, profile string) ([]endpoint, error) {
	ctx, cancel := context.WithTimeout(cmd.Context(), 2*time.Second)
	defer cancel()
	var names, waits []string
	if dir, err := (&storeFlags{quiet: true}).dataDir(cmd); err == nil {
		var status admin.Status
		if admin.Ask(ctx, dir, "status", nil, &status) == nil {
			for _, p := range status.Profiles {
				names = append(names, p.Name)
				switch {
				case profile != "" && p.Name != profile:
				case p.Ready:
					return endpointsOf(p), nil
				default:
					waits = append(waits, fmt.Sprintf("%s: %s", p.Name, p.Stage))
				}
			}
			if len(waits) > 0 {
				return nil, fmt.Errorf("the server on %s does not serve players yet: %s", dir, strings.Join(waits, "; "))
			}
		}
	}
	if profile != "" {
		return nil, fmt.Errorf("no server of this machine has a profile %q; there are %s", profile,
			strings.Join(append(names, "no others"), ", "))
	}
	conn, err := new(net.Dialer).DialContext(ctx, "tcp", net.JoinHostPort("localhost", defaultPort))
	if err != nil {
		return nil, errors.New("no server runs on this machine: 'wamble serve' starts one, and 'wamble " + cmd.Name() +
			" wss://chess.example.org/ws' plays elsewhere")
	}
	conn.Close()
	return []endpoint{endpointAt("ws://localhost:" + defaultPort + "/ws"),
		endpointAt("udp://localhost:" + defaultPort)}, nil
}

// endpointsOf returns the endpoints of a profile. WebSocket comes first, because a broken connection
// is noticed at once.
func endpointsOf(p admin.ProfileStatus) []endpoint {
	var list []endpoint
	var pages []string
	if a, err := netip.ParseAddrPort(p.HTTP); err == nil {
		secure := ""
		if p.Secure {
			secure = "s"
		}
		pages = []string{"http" + secure + "://" + reachable(a)}
		list = append(list, endpoint{"ws" + secure + "://" + reachable(a) + "/ws", pages, true})
	}
	if a, err := netip.ParseAddrPort(p.UDP); err == nil {
		list = append(list, endpoint{"udp://" + reachable(a), pages, true})
	}
	return list
}
