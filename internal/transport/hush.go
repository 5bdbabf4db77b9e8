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

// Hush leaves new connections in the kernel's queue from now on, closes those
// that rest between two requests (a browser sends its next one over another),
// and waits until the requests in progress are answered, or ctx ends. WebSocket
// and UDP go on. So a port whose sockets are handed over owes nobody an answer.
func (p *Port) Hush(ctx context.Context) error {
	p.door.shut()
	p.web.SetKeepAlivesEnabled(false)
	select {
	case <-p.busy.idle():
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// Resume takes connections again.
func (p *Port) Resume() {
	p.web.SetKeepAlivesEnabled(true)
	p.door.open()
}

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

// door is a listener that can leave connections in the kernel's queue.
type door struct {
	*net.TCPListener
	mu     sync.Mutex
	opened chan struct{} // closed when the door is open; nil: it is
}

// AcceptTCP waits for a connection, and before that for the door.
func (d *door) AcceptTCP() (*net.TCPConn, error) {
	for {
		d.mu.Lock()
		opened := d.opened
		d.mu.Unlock()
		if opened != nil {
			<-opened
		}
		c, err := d.TCPListener.AcceptTCP()
		if !errors.Is(err, os.ErrDeadlineExceeded) {
			return c, err
		}
	}
}

func (d *door) shut() {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.opened == nil {
		d.opened = make(chan struct{})
		d.SetDeadline(time.Unix(1, 0)) // wakes AcceptTCP
	}
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
	quiet chan struct{} // closed when there are none; nil: nobody waits
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
	if b.quiet != nil && len(b.conns) == 0 {
		close(b.quiet)
		b.quiet = nil
	}
}

// idle returns a channel that is closed when no connection is busy.
func (b *busy) idle() <-chan struct{} {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.quiet == nil {
		b.quiet = make(chan struct{})
	}
	quiet := b.quiet
	if len(b.conns) == 0 {
		close(b.quiet)
		b.quiet = nil
	}
	return quiet
}
