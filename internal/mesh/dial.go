package mesh

import (
	"context"
	"errors"
	"math/rand/v2"
	"net"
	"time"

	"wamble/internal/guard"
)

// dial connects to a node, and again after each end of the connection, until ctx ends.
func (m *Mesh) dial(ctx context.Context, n *node) {
	pause, failing := m.timing.first, false
	if n.name < m.o.Name { // the node dials as well, and its connection is kept
		m.pause(ctx, n, m.timing.deference)
	}
	for ctx.Err() == nil {
		if c := n.conn.Load(); c != nil {
			select {
			case <-c.done:
			case <-ctx.Done():
			}
			pause = m.timing.first
			m.pause(ctx, n, jitter(pause))
			continue
		}
		err := guard.Call("the connection to a node", func() error { return m.dialOnce(ctx, n) })
		switch {
		case err == nil || ctx.Err() != nil || n.conn.Load() != nil:
			failing, pause = false, m.timing.first
		case !failing:
			failing = true
			m.log.Warn("a node does not answer; if it lives, its players are served only at its own address", "node",
				n.name, "address", m.addressOf(n), "err", reason(err))
			fallthrough
		default:
			pause = min(2*pause, m.timing.last)
		}
		m.pause(ctx, n, jitter(pause))
	}
}

// jitter returns d ± 50 %, so that nodes do not dial each other at the same time.
func jitter(d time.Duration) time.Duration { return d/2 + rand.N(d) }

// pause waits for d, or until the address of the node changes or ctx ends.
func (m *Mesh) pause(ctx context.Context, n *node, d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-n.changed:
	case <-ctx.Done():
	}
}

func (m *Mesh) addressOf(n *node) string {
	m.mu.Lock()
	defer m.mu.Unlock()
	return n.address
}

// errRefused is returned for a connection that the other end has closed at once: it does not
// list this node yet, or has a connection with another process of its name.
var errRefused = errors.New("the node has closed the connection: it does not know this one yet, or another one with its name")

// dialOnce opens a connection and serves it until it ends. It returns an error if the
// connection or the handshake failed, or the other end has sent nothing.
func (m *Mesh) dialOnce(ctx context.Context, n *node) error {
	ctx, cancel := context.WithTimeout(ctx, m.timing.dial)
	defer cancel()
	nc, err := new(net.Dialer).DialContext(ctx, "tcp", m.addressOf(n))
	if err != nil {
		return err
	}
	stop := context.AfterFunc(ctx, func() { nc.SetDeadline(time.Unix(1, 0)) })
	h, k, err := m.handshake.dial(nc, n.name)
	if !stop() && err == nil {
		err = ctx.Err()
	}
	if err != nil {
		nc.Close()
		return err
	}
	c := newConn(m, nc, h, k, true)
	m.serve(c, h.from)
	if !c.heard.Load() {
		return errRefused
	}
	return nil
}
