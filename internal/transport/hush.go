package transport

import (
	"context"
	"errors"
	"net"
	"net/http"
	"os"
	"sync"
	"time"
)

// Porter stands at the door of an HTTP server, which can so come to rest: if its
// listener is handed over then, it owes nobody an answer.
type Porter struct {
	door *door
	busy busy
	web  *http.Server
}

// NewPorter puts a porter between a listener and a server that does not serve
// yet. The server is to serve on the listener that Listen returns.
func NewPorter(l *net.TCPListener, web *http.Server) *Porter {
	p := &Porter{door: &door{TCPListener: l}, busy: busy{conns: map[net.Conn]struct{}{}}, web: web}
	web.ConnState = p.busy.note
	return p
}

// Listen returns the listener behind the porter. It bounds the connections, in
// all and per host; those over the limit are closed as soon as they are accepted.
func (p *Porter) Listen(max, maxHost int) net.Listener {
	return newLimitedListener(p.door, max, maxHost)
}

// Hush leaves new connections in the kernel's queue from now on, closes those
// that rest between two requests (a browser sends its next one over another),
// and waits until of the requests in progress only so many are left, or ctx ends.
func (p *Porter) Hush(ctx context.Context, left int) error {
	select {
	case <-p.door.shut(): // everybody who came in is known
	case <-ctx.Done():
		return ctx.Err()
	}
	p.web.SetKeepAlivesEnabled(false)
	select {
	case <-p.busy.downTo(left):
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// Resume takes connections again.
func (p *Porter) Resume() {
	p.web.SetKeepAlivesEnabled(true)
	p.door.open()
}

// Hush lets HTTP come to rest, as Porter.Hush. WebSocket and UDP go on.
func (p *Port) Hush(ctx context.Context) error { return p.porter.Hush(ctx, 0) }

// Resume takes connections again.
func (p *Port) Resume() { p.porter.Resume() }

// Farewell ends every WebSocket connection: it is sent what is queued for it and
// the close code. It returns when all that is with the kernel, or ctx ends; then
// the far ends have not answered yet. Who comes afterwards is welcome.
func (p *Port) Farewell(ctx context.Context, code uint16) {
	var leaving []*Conn
	p.gateway.each(func(c *Conn) {
		c.Close(code, "")
		leaving = append(leaving, c)
	})
	for _, c := range leaving {
		select {
		case <-c.written:
		case <-ctx.Done():
			return
		}
	}
}

// door is a listener that can leave connections in the kernel's queue. One
// goroutine accepts.
type door struct {
	*net.TCPListener
	mu     sync.Mutex
	opened chan struct{} // closed when the door is open; nil: it is
	// accepting says that somebody may have come in of whom the server does not know
	// yet: it does when it asks for the next.
	accepting bool
	known     chan struct{} // closed when the server knows everybody; nil: nobody waits
}

// AcceptTCP waits for a connection, and before that for the door.
func (d *door) AcceptTCP() (*net.TCPConn, error) {
	for {
		if opened := d.look(); opened != nil {
			<-opened
			continue
		}
		c, err := d.TCPListener.AcceptTCP()
		if !errors.Is(err, os.ErrDeadlineExceeded) {
			return c, err
		}
	}
}

// look is what the server does before it accepts: it goes on if the door is open,
// and knows everybody otherwise.
func (d *door) look() (opened chan struct{}) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.accepting = d.opened == nil
	if d.known != nil && !d.accepting {
		close(d.known)
		d.known = nil
	}
	return d.opened
}

// shut lets nobody in any more. The channel is closed when the server knows
// everybody who has come in.
func (d *door) shut() <-chan struct{} {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.opened == nil {
		d.opened = make(chan struct{})
		d.SetDeadline(time.Unix(1, 0)) // wakes AcceptTCP
	}
	if d.known == nil {
		d.known = make(chan struct{})
	}
	known := d.known
	if !d.accepting {
		close(d.known)
		d.known = nil
	}
	return known
}

func (d *door) open() {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.opened != nil {
		d.SetDeadline(time.Time{})
		close(d.opened)
		d.opened = nil
	}
}

// Close ends the listener; whoever waits at the door learns it.
func (d *door) Close() error {
	err := d.TCPListener.Close()
	d.open()
	return err
}

// busy is the connections that are owed an answer, or have not asked yet.
type busy struct {
	mu    sync.Mutex
	conns map[net.Conn]struct{}
	quiet chan struct{} // closed when there are few enough; nil: nobody waits
	few   int
}

// note is the ConnState of a server.
func (b *busy) note(c net.Conn, s http.ConnState) {
	b.mu.Lock()
	defer b.mu.Unlock()
	switch s {
	case http.StateNew, http.StateActive:
		b.conns[c] = struct{}{}
	default:
		delete(b.conns, c)
	}
	b.look()
}

// downTo returns a channel that is closed when no more than n connections are
// busy.
func (b *busy) downTo(n int) <-chan struct{} {
	b.mu.Lock()
	defer b.mu.Unlock()
	quiet := make(chan struct{})
	b.quiet, b.few = quiet, n
	b.look()
	return quiet
}

func (b *busy) look() {
	if b.quiet != nil && len(b.conns) <= b.few {
		close(b.quiet)
		b.quiet = nil
	}
}
