package transport

import (
	"sync"
	"sync/atomic"

	"wamble"
)

const (
	// inboxPackets is how many packets may wait in one inbox, and inboxShare how many packets
	// of one connection in all inboxes together. At the limit the connection's reader blocks,
	// and with it the far end.
	inboxPackets = 1024
	inboxShare   = 64
	// inboxForwarded is how many packets of an inbox may be datagrams from other shards or
	// nodes. Any more are dropped.
	inboxForwarded = inboxPackets / 2
	// inboxRemote is how many packets of connections at other nodes may wait in addition, and inboxRemoteShare how
	// many of one of them. Nobody can make such a connection wait: it is cut when there is no room.
	inboxRemote      = inboxPackets
	inboxRemoteShare = inboxRemote / 4
)

// inbox queues the packets and ends of connections for the loop. The loop never blocks here;
// the goroutines of the connections do.
type inbox struct {
	mu        sync.Mutex
	room      sync.Cond
	ring      [inboxPackets + inboxRemote]inboxSlot
	head      int // index of the oldest packet
	count     int
	forwarded int // datagrams among count
	remote    int // packets of connections at other nodes among count
	remoteOf  map[wamble.Peer]int
	ended     []wamble.Peer // peers of connections that have ended
	stopped   bool
	waiting   atomic.Int64 // count + len(ended), readable without the lock
	notify    func()
	others    []*inbox // inboxes of the other shards
}

type inboxSlot struct {
	peer wamble.Peer
	from *source // nil for a datagram
	at   int64   // as of Packet
	data []byte  // grows on first use, then is reused
}

// source is one connection as the inboxes see it.
type source struct {
	peer    wamble.Peer
	waiting atomic.Int32 // packets of the connection in all inboxes
	// home is the shard of packets without a token, -1 before the first such packet. Only the
	// connection's reader uses it.
	home int
	// receivedBy has bit k set if shard k has got packets of the connection. Only the connection's
	// reader writes it.
	receivedBy atomic.Uint64
}

func newInbox(notify func()) *inbox {
	in := &inbox{notify: notify, remoteOf: map[wamble.Peer]int{}}
	in.room.L = &in.mu
	return in
}

// put queues a copy of one packet, and blocks while there is no room. A stopped inbox drops the
// packet.
func (in *inbox) put(from *source, packet []byte) {
	in.mu.Lock()
	for !in.stopped && (in.isFull() || from.waiting.Load() >= inboxShare) {
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

// forward queues a copy of a datagram from another shard or of a packet from another node. It
// returns false if there is no room.
func (in *inbox) forward(p Packet) bool {
	in.mu.Lock()
	stream := p.Peer.Stream()
	if stream && (in.remote == inboxRemote || in.remoteOf[p.Peer] == inboxRemoteShare) ||
		!stream && (in.isFull() || in.forwarded == inboxForwarded) {
		in.mu.Unlock()
		return false
	}
	if stream {
		in.remote++
		in.remoteOf[p.Peer]++
	} else {
		in.forwarded++
	}
	in.add(inboxSlot{peer: p.Peer, at: p.At}, p.Data)
	in.mu.Unlock()
	in.notify()
	return true
}

// isFull reports whether there is no room but for packets of connections at other nodes.
func (in *inbox) isFull() bool { return in.count-in.remote >= inboxPackets }

// add appends a packet to the ring, which must have room.
func (in *inbox) add(s inboxSlot, packet []byte) {
	slot := &in.ring[(in.head+in.count)%len(in.ring)]
	s.data = append(slot.data[:0], packet...)
	*slot = s
	in.count++
	in.waiting.Add(1)
}

// end queues the end of a connection behind its packets. It blocks while inboxPackets ends are
// queued.
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

// endForwarded queues the end of a connection at another node. The number of such ends is bounded
// by the connections of that node.
func (in *inbox) endForwarded(peer wamble.Peer) {
	in.mu.Lock()
	if !in.stopped {
		in.ended = append(in.ended, peer)
		in.waiting.Add(1)
	}
	in.mu.Unlock()
	in.notify()
}

// fetch copies up to len(buffers) packets into the buffers and appends them to packets. It
// appends the queued ends to ended only when no packets are left.
func (in *inbox) fetch(packets []Packet, ended []wamble.Peer, buffers [][]byte) ([]Packet, []wamble.Peer) {
	in.mu.Lock()
	n := min(in.count, len(buffers))
	freed := false // some connection has room again, and may be blocked at another inbox
	for i := range n {
		slot := &in.ring[in.head]
		buffers[i] = append(buffers[i][:0], slot.data...)
		packets = append(packets, Packet{Peer: slot.peer, Data: buffers[i], At: slot.at})
		switch {
		case slot.from == nil && slot.peer.Stream():
			in.remote--
			if in.remoteOf[slot.peer]--; in.remoteOf[slot.peer] == 0 {
				delete(in.remoteOf, slot.peer)
			}
		case slot.from == nil:
			in.forwarded--
		case !in.stopped:
			freed = slot.from.waiting.Add(-1) == inboxShare-1 || freed
		}
		slot.from = nil
		in.head = (in.head + 1) % len(in.ring)
	}
	in.count -= n
	endedCount := 0
	if in.count == 0 {
		endedCount = len(in.ended)
		ended = append(ended, in.ended...)
		in.ended = in.ended[:0]
	}
	in.waiting.Add(-int64(n + endedCount))
	if n+endedCount > 0 {
		in.room.Broadcast()
	}
	in.mu.Unlock()
	if freed {
		in.wakeOthers()
	}
	return packets, ended
}

// wakeOthers wakes the connections that are blocked at the other inboxes.
func (in *inbox) wakeOthers() {
	for _, other := range in.others {
		other.mu.Lock() // makes sure that a waiter has checked its condition before the broadcast or checks it after
		other.room.Broadcast()
		other.mu.Unlock()
	}
}

// stop releases all blocked connections. Queued packets no longer count for inboxShare, because
// the loop may never fetch them.
func (in *inbox) stop() {
	in.mu.Lock()
	if !in.stopped {
		in.stopped = true
		for i := range in.count {
			if from := in.ring[(in.head+i)%len(in.ring)].from; from != nil {
				from.waiting.Add(-1)
			}
		}
	}
	in.mu.Unlock()
	in.room.Broadcast()
	in.wakeOthers()
}
