package mesh

import (
	"errors"
	"net"
	"sync"
)

// maxEvents bounds the events with different IDs that wait for a node.
const maxEvents = 16 << 10

var (
	errLost       = errors.New("there is no room for the frame: it is lost")
	errSlowReader = errors.New("the node does not read")
)

// outbox is the queue of a connection's writer: frames in order, and after them the newest
// event of each ID. The writer takes all of it at once.
type outbox struct {
	mu     sync.Mutex // guards what follows, but for ready
	frames []byte
	events []event
	newest map[eventKey]int // index in events
	ended  bool             // nothing more may be added
	ready  chan struct{}    // capacity 1: the queue is not empty, or has ended
}

type eventKey struct {
	name string
	id   uint64
}

type event struct {
	key  eventKey
	data []byte
}

func newOutbox() *outbox {
	return &outbox{newest: map[eventKey]int{}, ready: make(chan struct{}, 1)}
}

// add queues a frame. Errors: errLost or errSlowReader if there is no room, the latter if the
// frame must not be lost; net.ErrClosed; ErrFrame.
func (o *outbox) add(f *Frame) error {
	info := f.Kind.info()
	if info == nil {
		return ErrFrame
	}
	room, full := roomAll, errSlowReader
	if info.lossy && !f.Client.Stream() {
		room, full = roomDatagrams, errLost
	}
	o.mu.Lock()
	if o.ended {
		o.mu.Unlock()
		return net.ErrClosed
	}
	first := len(o.frames) == 0
	if len(o.frames)+len(f.Data) > room {
		o.mu.Unlock()
		return full
	}
	var err error
	o.frames, err = f.Append(o.frames)
	o.mu.Unlock()
	if first && err == nil {
		o.signal()
	}
	return err
}

// publish queues an event, and replaces a queued one with the same ID. Errors: errLost if
// there is no room; net.ErrClosed.
func (o *outbox) publish(name string, id uint64, data []byte) error {
	key := eventKey{name, id}
	o.mu.Lock()
	defer o.mu.Unlock()
	i, waits := o.newest[key]
	switch {
	case o.ended:
		return net.ErrClosed
	case waits:
		o.events[i].data = append(o.events[i].data[:0], data...)
		return nil
	case len(o.events) == maxEvents:
		return errLost
	}
	o.newest[key] = len(o.events)
	o.events = append(o.events, event{key, append([]byte(nil), data...)})
	if len(o.events) == 1 {
		o.signal()
	}
	return nil
}

// end makes the writer end.
func (o *outbox) end() {
	o.mu.Lock()
	o.ended = true
	o.mu.Unlock()
	o.signal()
}

func (o *outbox) signal() {
	select {
	case o.ready <- struct{}{}:
	default:
	}
}

// take returns all queued frames, those of events last. It reuses the memory of before,
// which it returned last.
func (o *outbox) take(before []byte) (frames []byte, ended bool) {
	if cap(before) > roomDatagrams {
		before = nil
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	frames, o.frames = o.frames, before[:0]
	for i := range o.events {
		e := &o.events[i]
		f := Frame{Kind: KindEvent, Name: []byte(e.key.name), ID: e.key.id, Data: e.data}
		frames, _ = f.Append(frames) // its sizes were checked by Publish
	}
	if len(o.events) > 0 {
		clear(o.events)
		clear(o.newest)
		o.events = o.events[:0]
	}
	return frames, o.ended
}
