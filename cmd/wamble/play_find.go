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

	"wamble/internal/host"
)

// defaultPort is that of a server with the default options.
const defaultPort = "8888"

// serverAddress completes the address of a server: that of its page will do, and a bare
// host and port.
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

// door is a way to a server.
type door struct {
	address string
	pages   []string // addresses of its HTTP routes, the likeliest first
	// here says that the server of this machine has told it: then its certificate need not
	// be for the name that this machine calls itself by.
	here bool
}

// doorAt is the door at an address that somebody has typed.
func doorAt(address string) door {
	u, err := url.Parse(address)
	if err != nil {
		return door{address: address}
	}
	d := door{address: address, pages: []string{"http://" + u.Host, "https://" + u.Host}}
	switch u.Scheme { // a datagram does not tell whether the port beside it is encrypted
	case "ws":
		d.pages = d.pages[:1]
	case "wss":
		d.pages = d.pages[1:]
	}
	return d
}

// tls is how the door is encrypted, if it is; nil is as usual.
func (d *door) tls() *tls.Config {
	if d.here {
		return &tls.Config{InsecureSkipVerify: true}
	}
	return nil
}

// findServer returns doors of the server that runs on this machine: as its control
// socket tells, else where one with the default options is.
func findServer(cmd *cobra.Command, profile string) ([]door, error) {
	ctx, cancel := context.WithTimeout(cmd.Context(), 2*time.Second)
	defer cancel()
	var names []string
	if dir, err := new(storeFlags).dataDir(cmd); err == nil {
		var status host.Status
		if host.Ask(ctx, dir, "status", nil, &status) == nil {
			for _, p := range status.Profiles {
				if names = append(names, p.Name); p.Ready && (profile == "" || p.Name == profile) {
					return doorsOf(p), nil
				}
			}
		}
	}
	if profile != "" {
		return nil, fmt.Errorf("no server of this machine has a profile %q; there are %s", profile, strings.Join(append(names, "no others"), ", "))
	}
	conn, err := new(net.Dialer).DialContext(ctx, "tcp", net.JoinHostPort("localhost", defaultPort))
	if err != nil {
		return nil, errors.New("no server runs on this machine: 'wamble serve' starts one, and 'wamble play wss://chess.example.org/ws' plays elsewhere")
	}
	conn.Close()
	return []door{doorAt("ws://localhost:" + defaultPort + "/ws"), doorAt("udp://localhost:" + defaultPort)}, nil
}

// doorsOf returns how a profile can be reached, the best first: a WebSocket says at
// once when it breaks.
func doorsOf(p host.ProfileStatus) []door {
	var list []door
	var pages []string
	if a, err := netip.ParseAddrPort(p.HTTP); err == nil {
		secure := ""
		if p.Secure {
			secure = "s"
		}
		pages = []string{"http" + secure + "://" + reachable(a)}
		list = append(list, door{"ws" + secure + "://" + reachable(a) + "/ws", pages, true})
	}
	if a, err := netip.ParseAddrPort(p.UDP); err == nil {
		list = append(list, door{"udp://" + reachable(a), pages, true})
	}
	return list
}
