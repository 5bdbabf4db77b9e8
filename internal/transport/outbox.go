package transport

import (
	"errors"
	"net"
	"sync"
)

// outboxBytes bounds the bytes that wait for one connection: about a thousand small packets, or
// the chunks of a 256 KiB payload. A far end that is further behind loses the connection.
const outboxBytes = 256 << 10

// outbox queues what one connection has to write. The writer takes everything at once and
// leaves an empty batch of the same capacity.
type outbox struct {
	mu      sync.Mutex
	packets []byte
	sizes   []uint16
	pong    []byte // payload of the newest ping; older ones need no answer
	hasPong bool
	ending  bool // nothing more may be added
	code    uint16
	reason  string
	ready   chan struct{} // holds a token when the queue is not empty
}

func newOutbox() *outbox { return &outbox{ready: make(chan struct{}, 1)} }

// ErrSlowReader is returned by Conn.Send when the far end reads too slowly.
var ErrSlowReader = errors.New("the far end does not read")

// add queues one packet.
func (o *outbox) add(packet []byte) error {
	o.mu.Lock()
	if o.ending {
		o.mu.Unlock()
		return net.ErrClosed
	}
	if len(o.packets)+len(packet) > outboxBytes {
		o.mu.Unlock()
		return ErrSlowReader
	}
	first := len(o.sizes) == 0
	o.packets = append(o.packets, packet...)
	o.sizes = append(o.sizes, uint16(len(packet)))
	o.mu.Unlock()
	if first {
		o.signal()
	}
	return nil
}

// addPong queues the answer to a ping.
func (o *outbox) addPong(payload []byte) {
	o.mu.Lock()
	o.pong, o.hasPong = append(o.pong[:0], payload...), true
	o.mu.Unlock()
	o.signal()
}

// end queues the close frame behind everything queued so far. Only the first call counts.
func (o *outbox) end(code uint16, reason string) {
	o.mu.Lock()
	if !o.ending {
		o.ending, o.code, o.reason = true, code, reason
	}
	o.mu.Unlock()
	o.signal()
}

func (o *outbox) signal() {
	select {
	case o.ready <- struct{}{}:
	default:
	}
}

// outboxBatch is what a writer has taken out of an outbox.
type outboxBatch struct {
	packets []byte
	sizes   []uint16
	pong    []byte
	hasPong bool
	ending  bool
	code    uint16
	reason  string
}

// take swaps the contents with l, whose memory is reused.
func (o *outbox) take(l *outboxBatch) {
	o.mu.Lock()
	defer o.mu.Unlock()
	l.packets, o.packets = o.packets, l.packets[:0]
	l.sizes, o.sizes = o.sizes, l.sizes[:0]
	l.pong, o.pong = o.pong, l.pong[:0]
	l.hasPong, o.hasPong = o.hasPong, false
	l.ending, l.code, l.reason = o.ending, o.code, o.reason
}

// packet removes and returns the first packet of the batch.
func (l *outboxBatch) packet() []byte {
	n := l.sizes[0]
	p := l.packets[:n]
	l.packets, l.sizes = l.packets[n:], l.sizes[1:]
	return p
}
