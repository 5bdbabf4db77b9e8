package mesh

import (
	"errors"
	"net"
	"slices"
	"sync"
	"time"

	"wamble/internal/guard"
)

// maxUnproven bounds the unauthenticated connections. A further one ends the oldest. Nodes
// authenticate within a round trip, so an attacker would have to open as many in that time to
// keep them out.
const maxUnproven = 64

// acceptPause is the pause after an error of accept, as when there are no descriptors.
const acceptPause = 50 * time.Millisecond

// unproven has the unauthenticated connections, oldest first.
type unproven struct {
	mu    sync.Mutex
	conns []net.Conn
	ended bool
}

// add adds a connection, and ends the oldest if there are too many.
func (u *unproven) add(c net.Conn) {
	u.mu.Lock()
	defer u.mu.Unlock()
	if len(u.conns) == maxUnproven {
		u.conns[0].Close()
		u.conns = slices.Delete(u.conns, 0, 1)
	}
	if u.conns = append(u.conns, c); u.ended {
		c.Close()
	}
}

// remove removes a connection that has ended or is authenticated.
func (u *unproven) remove(c net.Conn) {
	u.mu.Lock()
	defer u.mu.Unlock()
	if i := slices.Index(u.conns, c); i >= 0 {
		u.conns = slices.Delete(u.conns, i, i+1)
	}
}

func (u *unproven) end() {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.ended = true
	for _, c := range u.conns {
		c.Close()
	}
}

// listen accepts connections until the listener is closed.
func (m *Mesh) listen() {
	for {
		nc, err := m.listener.Accept()
		if errors.Is(err, net.ErrClosed) {
			return
		}
		if err != nil {
			select {
			case <-time.After(acceptPause):
			case <-m.ctx.Done():
			}
			continue
		}
		m.unproven.add(nc)
		m.helpers.Go(func() { guard.Run("a connection of a node", func() { m.authenticate(nc) }, m.o.Report) })
	}
}

// authenticate does the handshake of an accepted connection, and serves it until it ends.
func (m *Mesh) authenticate(nc net.Conn) {
	defer nc.Close()
	nc.SetDeadline(time.Now().Add(m.timing.handshake))
	h, k, err := m.handshake.listen(nc)
	m.unproven.remove(nc)
	if err != nil || !m.awaitListed(h.from) {
		m.counts.refused.Add(1)
		return
	}
	nc.SetDeadline(time.Time{})
	m.serve(newConn(m, nc, h, k, false), h.from)
}
