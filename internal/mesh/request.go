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
	// maxAsked is how many requests of one node are answered at once; one more is
	// refused.
	maxAsked = 16
	// askTime bounds a request whose caller names no time, and how long an answer may
	// be prepared.
	askTime = 10 * time.Second
)

// ErrAway is returned when there is no connection to a node, or it ended before the
// answer came.
var ErrAway = errors.New("the node cannot be reached")

// RefusedError is why a node did not answer.
type RefusedError struct{ Node, Reason string }

func (e *RefusedError) Error() string { return e.Node + ": " + e.Reason }

// answer is what came back.
type answer struct {
	data []byte
	err  error
}

// asked are the requests of both ends of a connection.
type asked struct {
	mu      sync.Mutex
	last    uint64
	waiting map[uint64]chan<- answer // nil: the connection has ended
	busy    chan struct{}            // a token for each request of the other end
}

// begin notes a request.
func (a *asked) begin() (id uint64, back <-chan answer, err error) {
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

// forget lets nobody wait for a request any more.
func (a *asked) forget(id uint64) {
	a.mu.Lock()
	defer a.mu.Unlock()
	delete(a.waiting, id)
}

// settle passes an answer on to who waits for it, if somebody does.
func (a *asked) settle(f *Frame) {
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

func (a *asked) end() {
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, c := range a.waiting {
		c <- answer{err: ErrAway}
	}
	a.waiting = nil
}

// Ask asks a node something, and waits for the answer until ctx ends, or ten seconds.
// Errors: ErrAway; a *RefusedError is why the node did not answer.
func (m *Mesh) Ask(ctx context.Context, node, what string, question []byte) ([]byte, error) {
	ctx, cancel := context.WithTimeout(ctx, askTime)
	defer cancel()
	c := m.conn(Number(node))
	if c == nil {
		return nil, fmt.Errorf("%s: %w", node, ErrAway)
	}
	id, back, err := c.asked.begin()
	if err != nil {
		return nil, fmt.Errorf("%s: %w", node, err)
	}
	f := Frame{Kind: KindRequest, Name: []byte(what), ID: id, Data: question}
	if len(what) > MaxName || len(question) > MaxData || !c.send(&f) {
		c.asked.forget(id)
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
		c.asked.forget(id)
		return nil, fmt.Errorf("%s: %w", node, ctx.Err())
	}
}

// answer has a request answered, beside the reader.
func (c *conn) answer(f *Frame) {
	id, what := f.ID, string(f.Name)
	select {
	case c.asked.busy <- struct{}{}:
	default:
		c.refuse(id, errors.New("too much is asked at once; ask again"))
		return
	}
	question := bytes.Clone(f.Data)
	c.m.helpers.Go(func() {
		guard.Run("the answer to a node", func() {
			defer func() { <-c.asked.busy }()
			ctx, cancel := context.WithTimeout(c.m.ctx, askTime)
			defer cancel()
			var data []byte
			err := guard.Call("the answer to a node", func() (err error) {
				data, err = c.m.o.Answer(ctx, c.node.name, what, question)
				return err
			})
			if c.m.ctx.Err() != nil {
				return // the end of the connection says it
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
