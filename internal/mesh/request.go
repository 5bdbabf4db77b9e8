package mesh

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"wamble/internal/guard"
)

const (
	// maxPendingRequests bounds the requests of one node that are answered concurrently; further ones
	// are refused.
	maxPendingRequests = 16
	// askTimeout bounds each request, and the preparation of an answer.
	askTimeout = 10 * time.Second
)

// ErrAway is returned when there is no connection to a node, it ended before the answer
// came, or the request is too long.
var ErrAway = errors.New("the node cannot be reached")

// RefusedError is a node's reason for not answering a request.
type RefusedError struct{ Node, Reason string }

func (e *RefusedError) Error() string { return e.Node + ": " + e.Reason }

// answer is the result of a request.
type answer struct {
	data []byte
	err  error
}

// pendingRequests tracks the requests of both ends of a connection.
type pendingRequests struct {
	mu      sync.Mutex // guards last and waiting
	last    uint64
	waiting map[uint64]chan<- answer // this node's pending requests; nil after the end
	busy    chan struct{}            // semaphore of the other node's requests
}

// begin registers a request.
func (a *pendingRequests) begin() (id uint64, back <-chan answer, err error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.waiting == nil {
		return 0, nil, ErrAway
	}
	c := make(chan answer, 1)
	a.last++
	a.waiting[a.last] = c
	return a.last, c, nil
}

// forget removes a pending request.
func (a *pendingRequests) forget(id uint64) {
	a.mu.Lock()
	defer a.mu.Unlock()
	delete(a.waiting, id)
}

// answer passes an answer to its pending request, if there is one.
func (a *pendingRequests) answer(f *Frame) {
	a.mu.Lock()
	defer a.mu.Unlock()
	c := a.waiting[f.ID]
	if c == nil {
		return
	}
	delete(a.waiting, f.ID)
	got := answer{data: bytes.Clone(f.Data)}
	if f.Kind == KindRefusal {
		got = answer{err: &RefusedError{Reason: string(f.Data)}}
	}
	c <- got
}

func (a *pendingRequests) end() {
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, c := range a.waiting {
		c <- answer{err: ErrAway}
	}
	a.waiting = nil
}

// Ask sends a request to a node and waits for the answer, for at most ten seconds. Errors:
// ErrAway; *RefusedError; that of ctx.
func (m *Mesh) Ask(ctx context.Context, node, what string, question []byte) ([]byte, error) {
	ctx, cancel := context.WithTimeout(ctx, askTimeout)
	defer cancel()
	c := m.conn(Number(node))
	if c == nil {
		return nil, fmt.Errorf("%s: %w", node, ErrAway)
	}
	id, back, err := c.requests.begin()
	if err != nil {
		return nil, fmt.Errorf("%s: %w", node, err)
	}
	f := Frame{Kind: KindRequest, Name: []byte(what), ID: id, Data: question}
	if len(what) > MaxName || len(question) > MaxData || !c.send(&f) {
		c.requests.forget(id)
		return nil, fmt.Errorf("%s: %w", node, ErrAway)
	}
	select {
	case got := <-back:
		var no *RefusedError
		if errors.As(got.err, &no) {
			no.Node = node
			return nil, no
		}
		if got.err != nil {
			return nil, fmt.Errorf("%s: %w", node, got.err)
		}
		return got.data, nil
	case <-ctx.Done():
		c.requests.forget(id)
		return nil, fmt.Errorf("%s: %w", node, ctx.Err())
	}
}

// answer answers a request on a goroutine of its own.
func (c *conn) answer(f *Frame) {
	id, what := f.ID, string(f.Name)
	select {
	case c.requests.busy <- struct{}{}:
	default:
		c.refuse(id, errors.New("too much is asked at once; ask again"))
		return
	}
	question := bytes.Clone(f.Data)
	c.m.helpers.Go(func() {
		guard.Run("the answer to a node", func() {
			defer func() { <-c.requests.busy }()
			ctx, cancel := context.WithTimeout(c.m.ctx, askTimeout)
			defer cancel()
			var data []byte
			err := guard.Call("the answer to a node", func() (err error) {
				data, err = c.m.o.Answer(ctx, c.node.name, what, question)
				return err
			})
			if c.m.ctx.Err() != nil {
				return // the connection ends
			}
			if err == nil && len(data) > MaxData {
				err = fmt.Errorf("the answer has %d bytes, more than %d", len(data), MaxData)
			}
			if err != nil {
				c.refuse(id, err)
				return
			}
			c.send(&Frame{Kind: KindAnswer, ID: id, Data: data})
		}, c.m.o.Report)
	})
}

func (c *conn) refuse(id uint64, why error) {
	reason := why.Error()
	c.send(&Frame{Kind: KindRefusal, ID: id, Data: []byte(reason[:min(len(reason), kinds[KindRefusal].data)])})
}
