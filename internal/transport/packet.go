package transport

import (
	"wamble"
	"wamble/wire"
)

// Sizes of the spine. A datagram longer than MaxPacket is cut to it, as in the
// original; whether the rest still is a packet is for the decoder to say.
const (
	MaxPacket  = wire.MaxPacket
	ReadBatch  = 128 // datagrams per recvmmsg
	WriteBatch = 256 // datagrams per sendmmsg
)

// Packet is one packet with its far end. Data that a read returns belongs to
// the reader and is valid until the next read.
type Packet struct {
	Peer wamble.Peer
	Data []byte
}

// Outgoing is a list of packets to be sent, in order; link.Batch is one. The
// bytes must not change while it is being sent.
type Outgoing interface {
	Len() int
	At(i int) (wamble.Peer, []byte)
}

// Packets is the plain Outgoing. Its pointer is one too, and costs no
// allocation to pass.
type Packets []Packet

// Len returns the number of packets.
func (p Packets) Len() int { return len(p) }

// At returns packet i and where it goes.
func (p Packets) At(i int) (wamble.Peer, []byte) { return p[i].Peer, p[i].Data }
