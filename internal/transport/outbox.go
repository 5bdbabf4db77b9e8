package transport

import (
	"errors"
	"net"
	"sync"
)

// outboxBytes bounds what may wait for one connection: about a thousand small
// packets, or the chunks of a quarter-megabyte payload. A reader that is
// further behind is not waited for; the connection ends.
const outboxBytes = 256 << 10

// outbox is what one connection still has to write. Packets are copied in; the
// writer takes all of it at once and leaves an empty one of the same capacity.
type outbox struct {
	mu      sync.Mutex
	packets []byte
	sizes   []uint16
	pong    []byte // answer to the newest ping; older ones need none
	hasPong bool
	ending  bool // nothing more may be added
	code    uint16
	reason  string
	ready   chan struct{} // holds a token when there is something to do
}

func newOutbox() *outbox { return &outbox{ready: make(chan struct{}, 1)} }

// ErrBehind is returned when the far end of a connection reads too slowly.
var ErrBehind = errors.New("the far end does not read")

// add queues one packet.
func (o *outbox) add(packet []byte) error {
	o.mu.Lock()
	if o.ending {
		o.mu.Unlock()
		return net.ErrClosed
	}
	if len(o.packets)+len(packet) > outboxBytes {
		o.mu.Unlock()
		return ErrBehind
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

// end queues the close frame, after everything that is there. Only the first
// one counts.
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

// take swaps the contents with l, whose memory is used again.
func (o *outbox) take(l *outboxBatch) {
	o.mu.Lock()
	defer o.mu.Unlock()
	l.packets, o.packets = o.packets, l.packets[:0]
	l.sizes, o.sizes = o.sizes, l.sizes[:0]
	l.pong, o.pong = o.pong, l.pong[:0]
	l.hasPong, o.hasPong = o.hasPong, false
	l.ending, l.code, l.reason = o.ending, o.code, o.reason
}

// packet returns the next packet, and shortens the batch by it.
func (l *outboxBatch) packet() []byte {
	n := l.sizes[0]
	p := l.packets[:n]
	l.packets, l.sizes = l.packets[n:], l.sizes[1:]
	return p
}
