package mesh

import (
	"errors"
	"io"
	"sync"
)

// The bounds of an outbox in bytes. Datagrams and packets of WebSocket connections have rooms of their
// own. Frames without a packet may go over roomStreams, so that a connection whose packet is lost can be
// ended.
const (
	roomDatagrams = 1 << 20
	roomStreams   = 3 << 20
	roomAll       = 4 << 20
)

var (
	errLost       = errors.New("there is no room for the frame: it is lost")
	errSlowReader = errors.New("the node does not read")
)

// queue is what waits for one reader. Its owner adds to it under mu, and calls signal.
type queue struct {
	mu    sync.Mutex // guards what its owner adds, and ended
	ended bool       // nothing more may be added
	ready chan struct{}
	// take returns the bytes of what waits, which may be in memory or leave it for what comes next. It is
	// called under mu.
	take func(memory []byte) []byte

	rest, memory []byte // what Read has taken and not returned yet, and the whole of it
}

func (q *queue) signal() {
	select {
	case q.ready <- struct{}{}:
	default:
	}
}

// Read waits until there is something, and returns io.EOF after Close.
func (q *queue) Read(p []byte) (int, error) {
	for len(q.rest) == 0 {
		if cap(q.memory) > roomDatagrams {
			q.memory = nil
		}
		q.mu.Lock()
		q.rest = q.take(q.memory[:0])
		ended := q.ended
		q.mu.Unlock()
		q.memory = q.rest
		if ended {
			return 0, io.EOF
		}
		if len(q.rest) == 0 {
			<-q.ready
		}
	}
	n := copy(p, q.rest)
	q.rest = q.rest[n:]
	return n, nil
}

// Close makes Read return.
func (q *queue) Close() error {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.ended = true
	q.signal()
	return nil
}

// outbox is the queue of frames for a node. Those of WebSocket connections are read first.
type outbox struct {
	queue
	streams   []byte // frames that must not be lost
	datagrams []byte // frames that may be lost
}

func newOutbox() *outbox {
	o := &outbox{queue: queue{ready: make(chan struct{}, 1)}}
	o.take = func(memory []byte) (waiting []byte) {
		if len(o.streams) > 0 {
			waiting, o.streams = o.streams, memory
		} else {
			waiting, o.datagrams = o.datagrams, memory
		}
		return waiting
	}
	return o
}

// add queues a frame. Errors: errLost if there is no room; errSlowReader if there is none for a frame
// without a packet that must not be lost; io.ErrClosedPipe; ErrFrame.
func (o *outbox) add(f *Frame) error {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.ended {
		return io.ErrClosedPipe
	}
	packet := f.Kind == KindPacket || f.Kind == KindReply
	to, room, full := &o.streams, roomAll, errSlowReader
	switch {
	case f.Kind == KindLook || packet && !f.Client.Stream():
		to, room, full = &o.datagrams, roomDatagrams, errLost
	case packet:
		room, full = roomStreams, errLost
	}
	if len(*to)+len(f.Data) > room {
		return full
	}
	var err error
	*to, err = f.Append(*to)
	o.signal()
	return err
}
