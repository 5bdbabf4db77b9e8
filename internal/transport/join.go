package transport

import (
	"math/bits"

	"wamble"
)

// joined is the membership of a port in a cluster: the number of its own node, and how packets
// reach far ends that are connected to another node.
type joined struct {
	self  uint32
	reply func(shard int, to wamble.Peer, packet []byte)
}

// Join makes the shards of p part of a cluster in which this node has the number self. From now
// on self is in the Peer of every packet that arrives here. Packets to a far end at another
// node are given to reply, which must not block and must not keep the bytes.
func (p *Port) Join(self uint32, reply func(shard int, to wamble.Peer, packet []byte)) {
	p.shards.joined.Store(&joined{self, reply})
	for _, shard := range p.shards.ports {
		shard.udp.node.Store(self)
	}
}

// self returns the number of this node, 0 without a cluster.
func (s *shards) self() uint32 {
	if j := s.joined.Load(); j != nil {
		return j.self
	}
	return 0
}

// elsewhere reports whether a far end is connected to another node than self.
func elsewhere(self uint32, to wamble.Peer) bool { return to.Node != self && to.Node != 0 && self != 0 }

// Pass queues a packet that arrived at another node for a shard. It returns false if the
// shard's inbox is full and the packet is dropped.
func (p *Port) Pass(shard int, packet Packet) bool {
	if shard >= len(p.shards.ports) {
		return false
	}
	to := p.shards.ports[shard]
	to.udp.counts.passed.Add(1)
	return to.inbox.forward(packet)
}

// PassEnd tells a shard that a connection at another node has ended.
func (p *Port) PassEnd(shard int, peer wamble.Peer) {
	if shard < len(p.shards.ports) {
		p.shards.ports[shard].inbox.endPassed(peer)
	}
}

// HangUp closes the connections that have sent packets to a shard.
func (p *Port) HangUp(shard int, code uint16, reason string) {
	p.first.gateway.each(func(c *Conn) {
		if c.source != nil && c.source.told.Load()&(1<<shard) != 0 {
			c.Close(code, reason)
		}
	})
}

// tell records that a shard gets packets of the connection.
func (from *source) tell(shard int) {
	if told := from.told.Load(); told&(1<<shard) == 0 {
		from.told.Store(told | 1<<shard)
	}
}

// each calls f with every shard that has got packets of the connection, or with shard 0 if none
// has.
func (from *source) each(f func(shard int)) {
	for told := max(1, from.told.Load()); told != 0; told &= told - 1 {
		f(bits.TrailingZeros64(told))
	}
}
