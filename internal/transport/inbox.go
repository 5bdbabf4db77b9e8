package transport

import (
	"sync"
	"sync/atomic"

	"wamble"
)

const (
	// inboxPackets is how many packets may wait for the loop, inboxShare how many
	// of one connection, for all loops together. A connection that has more waits
	// itself, and so does its far end.
	inboxPackets = 1024
	inboxShare   = 64
	// inboxForwarded is how many of them may be datagrams that another shard has
	// read. Nobody waits with one more: it is lost.
	inboxForwarded = inboxPackets / 2
)

// inbox is where the connections leave their packets and the news of their
// end, and where the loop fetches both. The loop never waits here; the
// goroutines of the connections do.
type inbox struct {
	mu        sync.Mutex
	room      sync.Cond
	ring      [inboxPackets]inboxSlot
	head      int // oldest packet
	count     int
	forwarded int           // packets of count that are datagrams
	ended     []wamble.Peer // of connections that are gone
	stopped   bool
	waiting   atomic.Int64 // count + len(ended), readable without the lock
	notify    func()
	others    []*inbox // of the other shards
}

type inboxSlot struct {
	peer wamble.Peer
	from *source // nil: it is a datagram
	data []byte  // grows on first use, then is used again
}

// source is one connection, as the inboxes know it.
type source struct {
	peer    wamble.Peer
	waiting atomic.Int32 // its packets in all inboxes
	// Of the connection's reader:
	home int // the shard of packets without a token; -1: none was chosen
	// Told is written by it, and read by anybody: bit k says that shard k has got packets.
	told atomic.Uint64
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
	for !in.stopped && (in.count == inboxPackets || from.waiting.Load() >= inboxShare) {
		in.room.Wait()
	}
	if in.stopped {
		in.mu.Unlock()
		return
	}
	from.waiting.Add(1)
	in.add(inboxSlot{peer: from.peer, from: from}, packet)
	in.mu.Unlock()
	in.notify()
}

// forward leaves a copy of a datagram that another shard has read, or of a packet that
// another node has. It reports false
// if there is no room for it.
func (in *inbox) forward(p Packet) bool {
	in.mu.Lock()
	if in.count == inboxPackets || in.forwarded == inboxForwarded {
		in.mu.Unlock()
		return false
	}
	in.forwarded++
	in.add(inboxSlot{peer: p.Peer}, p.Data)
	in.mu.Unlock()
	in.notify()
	return true
}

// add puts a packet into the ring, which has room.
func (in *inbox) add(s inboxSlot, packet []byte) {
	slot := &in.ring[(in.head+in.count)%inboxPackets]
	s.data = append(slot.data[:0], packet...)
	*slot = s
	in.count++
	in.waiting.Add(1)
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

// endPassed leaves the news that a connection at another node is gone. There are no more
// of them than that node has connections.
func (in *inbox) endPassed(peer wamble.Peer) {
	in.mu.Lock()
	if !in.stopped {
		in.ended = append(in.ended, peer)
		in.waiting.Add(1)
	}
	in.mu.Unlock()
	in.notify()
}

// fetch moves up to len(buffers) packets, copying each into a buffer, and the
// news of ends. An end is told only when the packets before it are out.
func (in *inbox) fetch(packets []Packet, ended []wamble.Peer, buffers [][]byte) ([]Packet, []wamble.Peer) {
	in.mu.Lock()
	n := min(in.count, len(buffers))
	freed := false // a connection that may wait at another inbox
	for i := range n {
		slot := &in.ring[in.head]
		buffers[i] = append(buffers[i][:0], slot.data...)
		packets = append(packets, Packet{Peer: slot.peer, Data: buffers[i]})
		switch {
		case slot.from == nil:
			in.forwarded--
		case !in.stopped:
			freed = slot.from.waiting.Add(-1) == inboxShare-1 || freed
		}
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
	in.mu.Unlock()
	if freed {
		in.tellOthers()
	}
	return packets, ended
}

// tellOthers wakes connections that wait at the other inboxes.
func (in *inbox) tellOthers() {
	for _, other := range in.others {
		other.mu.Lock() // it was looked at before, or will be
		other.room.Broadcast()
		other.mu.Unlock()
	}
}

// stop lets everybody who waits for room go. What waits here is nobody's share
// from now on: the loop may never fetch it.
func (in *inbox) stop() {
	in.mu.Lock()
	if !in.stopped {
		in.stopped = true
		for i := range in.count {
			if from := in.ring[(in.head+i)%inboxPackets].from; from != nil {
				from.waiting.Add(-1)
			}
		}
	}
	in.mu.Unlock()
	in.room.Broadcast()
	in.tellOthers()
}
