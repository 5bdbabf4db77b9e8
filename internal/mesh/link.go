package mesh

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"net/url"
	"strings"
	"time"

	"wamble/internal/guard"
)

// askTimeout bounds each question, and the preparation of an answer.
const askTimeout = 10 * time.Second

// ErrAway is returned when there is no connection to a node, it ended before the answer came, or the
// question is too long.
var ErrAway = errors.New("the node cannot be reached")

// RefusedError is a node's reason for not answering a question.
type RefusedError struct{ Node, Reason string }

func (e *RefusedError) Error() string { return e.Node + ": " + e.Reason }

// link is a connection to another node.
type link struct {
	*outbox // of packets
	m       *Mesh
	client  *http.ClientConn
	ctx     context.Context // ends with the connection
	cancel  context.CancelFunc
	// unsubscribe ends the subscription to the events of a name; guarded by the mesh.
	unsubscribe map[string]context.CancelFunc
}

// dial connects to a node, and again after each end of the connection, while the node is listed.
func (m *Mesh) dial(n *node) {
	pause, failing := m.timing.first, false
	for {
		m.mu.Lock()
		to := n.listed
		if to.Address == "" || m.closed {
			n.dialled = false
			m.forget(n)
			m.mu.Unlock()
			return
		}
		m.mu.Unlock()
		connected := false
		err := guard.Call("the connection to a node", func() (err error) {
			connected, err = m.connect(n, to)
			return err
		})
		switch {
		case connected:
			failing, pause = false, m.timing.first
		case !failing:
			failing = true
			m.log.Warn("a node does not answer; if it lives, its players are served only at its own address", "node",
				n.name, "address", to.Address, "err", reason(err))
			fallthrough
		default:
			pause = min(2*pause, m.timing.last)
		}
		timer := time.NewTimer(pause/2 + rand.N(pause)) // nodes do not dial at the same time
		select {
		case <-timer.C:
		case <-n.changed:
			pause = m.timing.first
		case <-m.ctx.Done():
		}
		timer.Stop()
	}
}

// connect connects to a node, and serves the connection until it ends. Connected says that the node has
// accepted it.
func (m *Mesh) connect(n *node, to Node) (connected bool, err error) {
	ctx, cancel := context.WithCancel(m.ctx)
	defer cancel()
	late := time.AfterFunc(m.timing.dial, cancel)
	t := &http.Transport{TLSClientConfig: m.tlsConfig(func(key string) bool { return key == to.Key }),
		Protocols: &http.Protocols{}, HTTP2: m.http2()}
	t.Protocols.SetHTTP2(true)
	client, err := t.NewClientConn(ctx, "https", to.Address)
	if err != nil {
		return false, err
	}
	defer client.Close()
	l := &link{outbox: newOutbox(), m: m, client: client, ctx: ctx, cancel: cancel,
		unsubscribe: map[string]context.CancelFunc{}}
	defer l.Close()
	// A request that waits for its body does not notice the end of ctx.
	defer context.AfterFunc(ctx, func() { client.Close() })()
	answer, err := l.request(ctx, "POST", "packets", "", l)
	if err != nil {
		return false, err
	}
	defer answer.Close()
	if !late.Stop() {
		return false, context.DeadlineExceeded
	}
	m.mu.Lock()
	if n.listed != to {
		m.mu.Unlock()
		return true, nil
	}
	n.link.Store(l)
	for name := range m.subscriptions {
		l.subscribe(name, true)
	}
	m.mu.Unlock()
	m.open.Add(1)
	m.log.Info("connected to another node", "node", n.name)
	err = readFrames(answer, n.number, func(frames []Frame) { m.receive(n.number, frames, true) })
	m.mu.Lock()
	n.link.Store(nil)
	m.mu.Unlock()
	m.open.Add(-1)
	if m.ctx.Err() == nil {
		m.log.Info("the connection to another node has ended", "node", n.name, "err", reason(err))
	}
	if m.o.Lost != nil {
		m.o.Lost(n.number)
	}
	return true, err
}

// reason returns why a connection ended, in one line.
func reason(err error) string {
	if err == nil {
		return "it was closed"
	}
	return strings.ReplaceAll(err.Error(), "\n", " ")
}

// request makes a request, and returns the body of its answer. Errors: *RefusedError without the node's
// name if the node refuses it; that of the connection or of ctx.
func (l *link) request(ctx context.Context, method, path, query string, body io.Reader) (io.ReadCloser, error) {
	r, err := http.NewRequestWithContext(ctx, method, "https://node/"+path+query, body)
	if err != nil {
		return nil, err
	}
	answer, err := l.client.RoundTrip(r)
	if err != nil {
		return nil, err
	}
	if answer.StatusCode == http.StatusOK {
		return answer.Body, nil
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(io.LimitReader(answer.Body, maxReason))
	if err != nil {
		return nil, err
	}
	return nil, &RefusedError{Reason: strings.TrimSpace(string(text))}
}

// subscribe subscribes to the events of a name, or with false unsubscribes. The mesh is locked.
func (l *link) subscribe(name string, on bool) {
	if !on {
		if cancel := l.unsubscribe[name]; cancel != nil {
			cancel()
			delete(l.unsubscribe, name)
		}
		return
	}
	ctx, cancel := context.WithCancel(l.ctx)
	l.unsubscribe[name] = cancel
	l.m.helpers.Go(func() {
		guard.Run("events of a node", func() {
			defer cancel()
			events, err := l.request(ctx, "GET", "events", "?name="+url.QueryEscape(name), nil)
			if err == nil {
				defer events.Close()
				err = readEvents(events, func(data []byte) { l.m.o.Event(name, data) })
			}
			if ctx.Err() == nil {
				l.m.log.Debug("events of another node are lost", "err", reason(err))
				l.cancel() // the next connection subscribes again
			}
		}, l.m.o.Report)
	})
}

// Ask sends a question to a node and waits for the answer, for at most ten seconds. Errors: ErrAway;
// *RefusedError; that of ctx.
func (m *Mesh) Ask(ctx context.Context, node, what string, question []byte) ([]byte, error) {
	ctx, cancel := context.WithTimeout(ctx, askTimeout)
	defer cancel()
	var l *link
	if n := (*m.nodes.Load())[Number(node)]; n != nil {
		l = n.link.Load()
	}
	if l == nil || len(question) > MaxData {
		return nil, fmt.Errorf("%s: %w", node, ErrAway)
	}
	answer, err := l.request(ctx, "POST", "ask", "?what="+url.QueryEscape(what), bytes.NewReader(question))
	var data []byte
	if err == nil {
		defer answer.Close()
		if data, err = io.ReadAll(io.LimitReader(answer, MaxData+1)); err == nil && len(data) <= MaxData {
			return data, nil
		}
	}
	var no *RefusedError
	switch {
	case errors.As(err, &no):
		no.Node = node
		return nil, no
	case ctx.Err() != nil:
		return nil, fmt.Errorf("%s: %w", node, ctx.Err())
	}
	return nil, fmt.Errorf("%s: %w", node, ErrAway)
}
