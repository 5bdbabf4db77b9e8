package main

import (
	"context"
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

// findServer returns addresses of the server that runs on this machine: as its control
// socket tells, else where one with the default options is.
func findServer(cmd *cobra.Command, profile string) ([]string, error) {
	ctx, cancel := context.WithTimeout(cmd.Context(), 2*time.Second)
	defer cancel()
	var names []string
	if dir, err := new(storeFlags).dataDir(cmd); err == nil {
		var status host.Status
		if host.Ask(ctx, dir, "status", nil, &status) == nil {
			for _, p := range status.Profiles {
				if names = append(names, p.Name); p.Ready && (profile == "" || p.Name == profile) {
					return addressesOf(p), nil
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
	return []string{"ws://localhost:" + defaultPort + "/ws", "udp://localhost:" + defaultPort}, nil
}

// addressesOf returns how a profile can be reached, the best first: a WebSocket says at
// once when it breaks.
func addressesOf(p host.ProfileStatus) []string {
	var list []string
	if a, err := netip.ParseAddrPort(p.HTTP); err == nil {
		list = append(list, "ws://"+reachable(a)+"/ws")
	}
	if a, err := netip.ParseAddrPort(p.UDP); err == nil {
		list = append(list, "udp://"+reachable(a))
	}
	return list
}
