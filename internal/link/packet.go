package link

import (
	"encoding/binary"

	"wamble"
	"wamble/wire"
)

// packet is one encoded packet that may be sent several times: the queue of a path and the
// replay cache share it. Its bytes do not change once it is queued.
type packet struct {
	buf           []byte
	refs          int32
	unproven      bool   // it is counted among the packets of unproven addresses
	snapshotIndex uint32 // its number while a snapshot is written
}

func (p *packet) control() wire.Control { return wire.Control(p.buf[0]) }
func (p *packet) flags() wire.Flags     { return wire.Flags(p.buf[1]) }
func (p *packet) token() wamble.Token   { return wamble.Token(p.buf[4:20]) }
func (p *packet) board() wamble.BoardID { return wamble.BoardID(binary.BigEndian.Uint64(p.buf[20:])) }
func (p *packet) seq() uint32           { return binary.BigEndian.Uint32(p.buf[28:]) }

// fragments returns the number of chunks of the transfer that p is the first chunk of, or 0 if
// p is not a fragment.
func (p *packet) fragments() int {
	if p.flags()&wire.FlagFragment == 0 {
		return 0
	}
	return int(binary.BigEndian.Uint16(p.buf[wire.HeaderSize+4:]))
}

// smallPacket is the capacity of most buffers: the longest BOARD_UPDATE, with all fields and
// the longest FEN, has 421 bytes, for which Go allocates 448.
const smallPacket = 448

// maxSpare and maxSpareLarge bound the buffers of each size that are kept for reuse: as many
// small ones as are sent to spectators at once.
const (
	maxSpare      = 1 << 14
	maxSpareLarge = 4096
)

// pool allocates packets and reuses them.
type pool struct {
	small, large []*packet
	held         int // bytes of capacity in use
	unproven     int // those of them of packets that were made for unproven addresses
}

// countUnproven counts a packet among those of unproven addresses.
func (p *pool) countUnproven(k *packet) {
	k.unproven = true
	p.unproven += cap(k.buf)
}

// copyOf returns a packet with the bytes of b and one reference.
func (p *pool) copyOf(b []byte) *packet {
	k := p.take(len(b))
	k.buf = append(k.buf, b...)
	return k
}

// take returns an empty packet with room for n bytes and one reference.
func (p *pool) take(n int) *packet {
	free, size := &p.small, smallPacket
	if n > smallPacket {
		free, size = &p.large, wire.MaxPacket
	}
	var k *packet
	if last := len(*free) - 1; last >= 0 {
		k = (*free)[last]
		*free = (*free)[:last]
	} else {
		k = &packet{buf: make([]byte, 0, size)}
	}
	k.buf, k.refs = k.buf[:0], 1
	p.held += cap(k.buf)
	return k
}

// drop releases one reference.
func (p *pool) drop(k *packet) {
	if k.refs--; k.refs > 0 {
		return
	}
	p.held -= cap(k.buf)
	if k.unproven {
		k.unproven = false
		p.unproven -= cap(k.buf)
	}
	free, most := &p.small, maxSpare
	if cap(k.buf) > smallPacket {
		free, most = &p.large, maxSpareLarge
	}
	if len(*free) < most {
		*free = append(*free, k)
	}
}
