package client

import (
	"context"
	"errors"
	"net"
	"net/url"
	"slices"
	"strings"
	"time"

	"wamble/wire"
)

// maxHosts is how many hosts of one server are remembered.
const maxHosts = 8

// learnHosts stores the hosts of the nodes that serve the session when one is lost. It skips
// texts that are not host names.
func (c *Client) learnHosts(text string) {
	var hosts []string
	for host := range strings.FieldsSeq(text) {
		if u, err := url.Parse("udp://" + hostPort(host, "1")); err == nil && u.Hostname() == host &&
			len(hosts) < maxHosts {
			hosts = append(hosts, host)
		}
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	at := c.host()
	c.hosts = slices.DeleteFunc(hosts, func(host string) bool { return host == c.url.Hostname() })
	c.turn = slices.Index(c.hosts, at) + 1
}

// host returns the current host. The lock must be held.
func (c *Client) host() string {
	if c.turn == 0 {
		return c.url.Hostname()
	}
	return c.hosts[c.turn-1]
}

const (
	// moveEvery is how long a client stays at a node that it has moved to, because sessions may
	// move back and forth.
	moveEvery = 30 * time.Second
	// movePause is how long it stays after a failed move.
	movePause = 10 * time.Minute
	// moveTime bounds connecting to the new node.
	moveTime = 3 * time.Second
)

// prefer stores the host of the node that serves the session, if that is a known one other than
// the node that passed on the answer p.
func (c *Client) prefer(p *wire.Packet) {
	host, _ := p.Ext.Text(wire.KeyClusterHome)
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.home = ""; host != c.host() && (host == c.url.Hostname() || slices.Contains(c.hosts, host)) {
		c.home = host
	}
}

// movable reports whether the client should move to the node that serves its session.
func (c *Client) movable() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.home != "" && !time.Now().Before(c.moves)
}

// goTo makes a host the current one, and forbids the next move for a time. It returns the
// previous host.
func (c *Client) goTo(host string, stay time.Duration) (before string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	before = c.host()
	c.home, c.moves, c.turn = "", time.Now().Add(stay), slices.Index(c.hosts, host)+1
	return before
}

// errMoves says that the client moves to the node that serves its session.
var errMoves = errors.New("the session is served by another machine")

// move connects to the node that serves the session, or back to the previous one. It returns an
// error if neither can be reached.
func (c *Client) move(ctx context.Context, l *loop) error {
	c.mu.Lock()
	home := c.home
	c.mu.Unlock()
	connect := func() error {
		ctx, cancel := context.WithTimeout(ctx, moveTime)
		defer cancel()
		return c.connect(ctx, l)
	}
	held, before := c.Board(), c.goTo(home, moveEvery)
	err := connect()
	if err != nil {
		c.goTo(before, movePause)
		err = connect()
	}
	if board := c.Board(); err == nil && (board.ID != held.ID || board.FEN != held.FEN) {
		c.events.put(Event{Kind: Resumed, Board: board})
	}
	return err
}

// nextHost makes the next host the current one.
func (c *Client) nextHost() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.turn = (c.turn + 1) % (len(c.hosts) + 1)
}

// others reports whether there are other hosts.
func (c *Client) others() bool { return c.machines() > 1 }

// machines returns the number of known hosts.
func (c *Client) machines() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return len(c.hosts) + 1
}

// target returns the address of the current host.
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
