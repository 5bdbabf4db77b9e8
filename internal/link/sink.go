package link

import "wamble"

// Sink takes packets to be sent. The bytes are valid only during the call.
type Sink interface {
	Send(to wamble.Peer, packet []byte)
}

// Batch is a Sink that collects copies of packets in one buffer, to be written with few system
// calls. The zero value is empty; Reset keeps its memory.
type Batch struct {
	bytes []byte
	spans []span
}

type span struct {
	to  wamble.Peer
	end int
}

// Send appends a packet.
func (b *Batch) Send(to wamble.Peer, packet []byte) {
	b.bytes = append(b.bytes, packet...)
	b.spans = append(b.spans, span{to, len(b.bytes)})
}

// Len returns the number of packets.
func (b *Batch) Len() int { return len(b.spans) }

// At returns packet i and its destination. The bytes are valid until the next Send or Reset.
func (b *Batch) At(i int) (wamble.Peer, []byte) {
	start := 0
	if i > 0 {
		start = b.spans[i-1].end
	}
	end := b.spans[i].end
	return b.spans[i].to, b.bytes[start:end:end]
}

// Reset removes all packets.
func (b *Batch) Reset() { b.bytes, b.spans = b.bytes[:0], b.spans[:0] }
