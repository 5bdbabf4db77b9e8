package transport

import (
	"wamble"
	"wamble/wire"
)

// The sizes of packets and batches. A datagram longer than MaxPacket is cut to it, as in the
// original; the decoder then accepts or rejects the rest.
const (
	MaxPacket  = wire.MaxPacket
	ReadBatch  = 128 // datagrams per recvmmsg
	WriteBatch = 256 // datagrams per sendmmsg
)

// Packet is one packet with its far end. Data that a read returns is valid until the next read.
type Packet struct {
	Peer wamble.Peer
	Data []byte
	At   int64 // when the kernel received the datagram, in nanoseconds since 1970; 0 if unknown
}

// Outgoing is a list of packets to be sent, in order, such as link.Batch. The bytes must not
// change during the call.
type Outgoing interface {
	Len() int
	At(i int) (wamble.Peer, []byte)
}

// Packets is an Outgoing that is a slice. Passing its pointer costs no allocation.
type Packets []Packet

// Len returns the number of packets.
func (p Packets) Len() int { return len(p) }

// At returns packet i and its destination.
func (p Packets) At(i int) (wamble.Peer, []byte) { return p[i].Peer, p[i].Data }
