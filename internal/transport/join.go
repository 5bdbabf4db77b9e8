package transport

import (
	"math/bits"

	"wamble"
)

// clusterLink is the membership of a port in a cluster: the number of its own node, and how packets
// reach far ends that are connected to another node.
type clusterLink struct {
	self         uint32
	forwardReply func(shard int, to wamble.Peer, packet []byte)
}

// Join makes the shards of p part of a cluster in which this node has the number self. From now
// on self is in the Peer of every packet that arrives here. Packets to a far end at another
// node are given to reply, which must not block and must not keep the bytes.
func (p *Port) Join(self uint32, reply func(shard int, to wamble.Peer, packet []byte)) {
	p.shards.cluster.Store(&clusterLink{self, reply})
	for _, shard := range p.shards.ports {
		shard.udp.node.Store(self)
	}
}

// self returns the number of this node, 0 without a cluster.
func (s *shards) self() uint32 {
	if j := s.cluster.Load(); j != nil {
		return j.self
	}
	return 0
}

// isRemote reports whether a far end is connected to another node than self.
func isRemote(self uint32, to wamble.Peer) bool { return to.Node != self && to.Node != 0 && self != 0 }

// DeliverForwarded queues a packet that arrived at another node for a shard. It returns false if the
// shard's inbox is full and the packet is dropped.
func (p *Port) DeliverForwarded(shard int, packet Packet) bool {
	if shard >= len(p.shards.ports) {
		return false
	}
	to := p.shards.ports[shard]
	to.udp.counts.passed.Add(1)
	return to.inbox.forward(packet)
}

// DeliverEnd tells a shard that a connection at another node has ended.
func (p *Port) DeliverEnd(shard int, peer wamble.Peer) {
	if shard < len(p.shards.ports) {
		p.shards.ports[shard].inbox.endForwarded(peer)
	}
}

// DisconnectShard closes the connections that have sent packets to a shard.
func (p *Port) DisconnectShard(shard int, code uint16, reason string) {
	p.first.gateway.each(func(c *Conn) {
		if c.source != nil && c.source.receivedBy.Load()&(1<<shard) != 0 {
			c.Close(code, reason)
		}
	})
}

// noteReceiver records that a shard gets packets of the connection.
func (from *source) noteReceiver(shard int) {
	if told := from.receivedBy.Load(); told&(1<<shard) == 0 {
		from.receivedBy.Store(told | 1<<shard)
	}
}

// each calls f with every shard that has got packets of the connection, or with shard 0 if none
// has.
func (from *source) each(f func(shard int)) {
	for told := max(1, from.receivedBy.Load()); told != 0; told &= told - 1 {
		f(bits.TrailingZeros64(told))
	}
}
