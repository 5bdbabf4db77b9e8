package mesh

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/netip"
	"sync"
	"sync/atomic"
	"time"

	"wamble/internal/guard"
	"wamble/internal/share"
)

const (
	// maxUnproven bounds the connections without a proof of identity. Nodes prove it within a round trip.
	maxUnproven = 64
	// maxQuestions bounds the questions of one node that are answered concurrently; further ones are
	// refused.
	maxQuestions = 16
	// maxReason bounds the reason for a refusal, in bytes.
	maxReason = 1 << 10
)

// unproven has the connections without a proof of identity.
type unproven struct {
	mu    sync.Mutex
	conns map[net.Conn]*unprovenConn
	hosts share.Table[unprovenConn]
}

type unprovenConn struct {
	net.Conn
	share.Holding[unprovenConn]
}

// changed handles a change of the state of a connection, and reports whether one has ended without a
// proof. If there are too many, that is the oldest one of the host that has most.
func (u *unproven) changed(c net.Conn, state http.ConnState) (refused bool) {
	u.mu.Lock()
	defer u.mu.Unlock()
	if state != http.StateNew {
		return u.remove(u.conns[c]) && state == http.StateClosed
	}
	at, _ := netip.ParseAddrPort(c.RemoteAddr().String())
	host := share.HostOf(at.Addr())
	if len(u.conns) == maxUnproven {
		oldest := u.hosts.Yield(host)
		if refused = u.remove(oldest); refused {
			oldest.Close()
		}
	}
	of := &unprovenConn{Conn: c}
	u.conns[c] = of
	u.hosts.Add(&of.Holding, of, host)
	return refused
}

// remove removes a connection, and reports whether it was there.
func (u *unproven) remove(c *unprovenConn) bool {
	if c == nil {
		return false
	}
	u.hosts.Remove(&c.Holding)
	delete(u.conns, c.Conn)
	return true
}

// client is the other end of an accepted connection.
type client struct {
	name      atomic.Pointer[string] // of the node; set by its first request
	questions chan struct{}          // semaphore
}

type clientKey struct{} // of the client in the context of a connection

// newServer returns the server of the requests of other nodes.
func (m *Mesh) newServer() *http.Server {
	mux := http.NewServeMux()
	for pattern, serve := range map[string]func(http.ResponseWriter, *http.Request, string){
		"POST /packets": m.servePackets, "GET /events": m.serveEvents, "POST /ask": m.serveQuestion,
	} {
		mux.HandleFunc(pattern, func(w http.ResponseWriter, r *http.Request) {
			m.mu.Lock()
			closed := m.closed
			if !closed {
				m.helpers.Add(1)
				defer m.helpers.Done()
			}
			m.mu.Unlock()
			name := m.nameOf(r)
			if closed || name == "" {
				http.Error(w, ErrIdentity.Error(), http.StatusForbidden)
				return
			}
			guard.Run("a request of a node", func() { serve(w, r, name) }, m.o.Report)
		})
	}
	s := &http.Server{
		Handler: mux, TLSConfig: m.tlsConfig(func(key string) bool { return m.awaitListed(key) != "" }),
		HTTP2: m.http2(), Protocols: &http.Protocols{}, ReadHeaderTimeout: m.timing.handshake,
		ErrorLog: slog.NewLogLogger(m.log.Handler(), slog.LevelDebug),
		ConnContext: func(ctx context.Context, _ net.Conn) context.Context {
			return context.WithValue(ctx, clientKey{}, &client{questions: make(chan struct{}, maxQuestions)})
		},
		ConnState: func(c net.Conn, state http.ConnState) {
			if m.unproven.changed(c, state) {
				m.refused.Add(1)
			}
		},
	}
	s.Protocols.SetHTTP2(true)
	return s
}

// nameOf returns the name of the node that makes a request. It is that of the first request of its
// connection, also if the node is not listed any more.
func (m *Mesh) nameOf(r *http.Request) string {
	c := r.Context().Value(clientKey{}).(*client)
	if name := c.name.Load(); name != nil {
		return *name
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	name := m.listed[keyOf(r.TLS)]
	if name != "" {
		c.name.Store(&name)
	}
	return name
}

// exchange is the packets of a node that has dialled, and the outbox of the replies to them.
type exchange struct {
	*outbox
	done chan struct{} // closed when it has ended
}

// servePackets passes on the packets of a node, and sends it the replies. It ends an exchange with an
// earlier process or connection of the node, which has not noticed its end yet.
func (m *Mesh) servePackets(w http.ResponseWriter, r *http.Request, name string) {
	e := &exchange{newOutbox(), make(chan struct{})}
	defer close(e.done)
	var n *node
	for {
		m.mu.Lock()
		if n = m.node(name); n == nil {
			m.mu.Unlock()
			http.Error(w, "another node cannot be told from this one", http.StatusForbidden)
			return
		}
		before := n.caller.Load()
		if before == nil {
			n.caller.Store(e)
		}
		m.mu.Unlock()
		if before == nil {
			break
		}
		before.Close()
		<-before.done
	}
	read := make(chan struct{})
	go func() {
		defer close(read)
		defer e.Close()
		guard.Run("packets of a node", func() {
			readFrames(r.Body, n.number, func(frames []Frame) { m.receive(n.number, frames, false) })
		}, m.o.Report)
	}()
	stream(w, e)
	http.NewResponseController(w).SetReadDeadline(time.Unix(1, 0)) // ends readFrames
	<-read
	if m.o.Left != nil {
		m.o.Left(n.number)
	}
	n.caller.Store(nil) // only now the next one may begin: Left is not about its clients
}

// stream writes what it reads to a response until one of them ends.
func stream(w http.ResponseWriter, from io.ReadCloser) {
	defer from.Close()
	response, b := http.NewResponseController(w), make([]byte, readBuffer)
	for err := response.Flush(); err == nil; {
		var n int
		if n, err = from.Read(b); err == nil {
			if _, err = w.Write(b[:n]); err == nil {
				err = response.Flush()
			}
		}
	}
}

// serveEvents sends the events of a name to a node.
func (m *Mesh) serveEvents(w http.ResponseWriter, r *http.Request, _ string) {
	s := newSubscription(r.URL.Query().Get("name"))
	defer context.AfterFunc(r.Context(), func() { s.Close() })()
	m.subscribersMu.Lock()
	m.subscribers[s] = struct{}{}
	m.subscribersMu.Unlock()
	if m.o.Subscribed != nil {
		m.o.Subscribed(s.name)
	}
	stream(w, s)
	m.subscribersMu.Lock()
	delete(m.subscribers, s)
	m.subscribersMu.Unlock()
}

// serveQuestion answers a question of a node.
func (m *Mesh) serveQuestion(w http.ResponseWriter, r *http.Request, from string) {
	answer, err := m.answer(r, from)
	if err != nil {
		reason := err.Error()
		http.Error(w, reason[:min(len(reason), maxReason)], http.StatusServiceUnavailable)
		return
	}
	w.Write(answer)
}

func (m *Mesh) answer(r *http.Request, from string) ([]byte, error) {
	questions := r.Context().Value(clientKey{}).(*client).questions
	select {
	case questions <- struct{}{}:
		defer func() { <-questions }()
	default:
		return nil, errors.New("too much is asked at once; ask again")
	}
	ctx, cancel := context.WithTimeout(r.Context(), askTimeout)
	defer cancel()
	question, err := io.ReadAll(io.LimitReader(r.Body, MaxData))
	if err != nil {
		return nil, err
	}
	var data []byte
	err = guard.Call("the answer to a node", func() (err error) {
		data, err = m.o.Answer(ctx, from, r.URL.Query().Get("what"), question)
		return err
	})
	if err == nil && len(data) > MaxData {
		err = fmt.Errorf("the answer has %d bytes, more than %d", len(data), MaxData)
	}
	return data, err
}
