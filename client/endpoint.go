package client

import (
	"net"
	"net/url"
	"slices"
	"strings"
)

// maxHosts is how many machines of one server are remembered.
const maxHosts = 8

// learnHosts remembers the machines that serve the session when one is lost, but for
// what is no name of a host.
func (c *Client) learnHosts(text string) {
	var hosts []string
	for host := range strings.FieldsSeq(text) {
		if u, err := url.Parse("udp://" + hostPort(host, "1")); err == nil && u.Hostname() == host && len(hosts) < maxHosts {
			hosts = append(hosts, host)
		}
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	at := c.host()
	c.hosts = slices.DeleteFunc(hosts, func(host string) bool { return host == c.url.Hostname() })
	c.turn = slices.Index(c.hosts, at) + 1
}

// host is the one that is tried. The lock is held.
func (c *Client) host() string {
	if c.turn == 0 {
		return c.url.Hostname()
	}
	return c.hosts[c.turn-1]
}

// elsewhere tries the next machine from now on.
func (c *Client) elsewhere() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.turn = (c.turn + 1) % (len(c.hosts) + 1)
}

// others reports whether there are other machines to try.
func (c *Client) others() bool { return c.machines() > 1 }

// machines is how many machines are known.
func (c *Client) machines() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return len(c.hosts) + 1
}

// target is the address of the machine that is tried.
func (c *Client) target() *url.URL {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.turn == 0 {
		return c.url
	}
	u := *c.url
	u.Host = hostPort(c.host(), c.url.Port())
	return &u
}

func hostPort(host, port string) string {
	if port == "" && strings.Contains(host, ":") {
		return "[" + host + "]"
	}
	if port == "" {
		return host
	}
	return net.JoinHostPort(host, port)
}
