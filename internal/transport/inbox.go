package transport

import (
	"sync"
	"sync/atomic"

	"wamble"
)

const (
	// inboxPackets is how many packets of all connections may wait for the
	// loop, inboxShare how many of one connection. A connection that has more
	// waits itself, and so does its far end.
	inboxPackets = 1024
	inboxShare   = 64
)

// inbox is where the connections leave their packets and the news of their
// end, and where the loop fetches both. The loop never waits here; the
// goroutines of the connections do.
type inbox struct {
	mu      sync.Mutex
	room    sync.Cond
	ring    [inboxPackets]inboxSlot
	head    int // oldest packet
	count   int
	ended   []wamble.Peer // of connections that are gone
	stopped bool
	waiting atomic.Int64 // count + len(ended), readable without the lock
	notify  func()
}

type inboxSlot struct {
	from *source
	data []byte // grows on first use, then is used again
}

// source is the share of one connection.
type source struct {
	peer    wamble.Peer
	waiting int
}

func newInbox(notify func()) *inbox {
	in := &inbox{notify: notify}
	in.room.L = &in.mu
	return in
}

// put leaves a copy of one packet, and waits while there is no room for it. A
// stopped inbox takes nothing.
func (in *inbox) put(from *source, packet []byte) {
	in.mu.Lock()
	for !in.stopped && (in.count == inboxPackets || from.waiting == inboxShare) {
		in.room.Wait()
	}
	if in.stopped {
		in.mu.Unlock()
		return
	}
	slot := &in.ring[(in.head+in.count)%inboxPackets]
	slot.from, slot.data = from, append(slot.data[:0], packet...)
	in.count++
	from.waiting++
	in.waiting.Add(1)
	in.mu.Unlock()
	in.notify()
}

// end leaves the news that a connection is gone, after its packets. It waits
// while inboxPackets such news wait for the loop.
func (in *inbox) end(from *source) {
	in.mu.Lock()
	for !in.stopped && len(in.ended) >= inboxPackets {
		in.room.Wait()
	}
	in.ended = append(in.ended, from.peer)
	in.waiting.Add(1)
	in.mu.Unlock()
	in.notify()
}

// fetch moves up to len(buffers) packets, copying each into a buffer, and the
// news of ends. An end is told only when the packets before it are out.
func (in *inbox) fetch(packets []Packet, ended []wamble.Peer, buffers [][]byte) ([]Packet, []wamble.Peer) {
	in.mu.Lock()
	defer in.mu.Unlock()
	n := min(in.count, len(buffers))
	for i := range n {
		slot := &in.ring[in.head]
		buffers[i] = append(buffers[i][:0], slot.data...)
		packets = append(packets, Packet{Peer: slot.from.peer, Data: buffers[i]})
		slot.from.waiting--
		slot.from = nil
		in.head = (in.head + 1) % inboxPackets
	}
	in.count -= n
	told := 0
	if in.count == 0 {
		told = len(in.ended)
		ended = append(ended, in.ended...)
		in.ended = in.ended[:0]
	}
	in.waiting.Add(-int64(n + told))
	if n+told > 0 {
		in.room.Broadcast()
	}
	return packets, ended
}

// stop lets everybody who waits for room go.
func (in *inbox) stop() {
	in.mu.Lock()
	in.stopped = true
	in.mu.Unlock()
	in.room.Broadcast()
}
