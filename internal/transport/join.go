package transport

import (
	"math/bits"

	"wamble"
)

// joined is a port that is one of several nodes: some of its shards are served by another
// one, and some of whom it serves are at the sockets of another one.
type joined struct {
	self  uint32
	reply func(shard int, to wamble.Peer, packet []byte)
}

// Join makes the shards that share the number of p those of one of several nodes, whose
// number is self: from now on it is in the Peer of every packet that comes here. What is
// sent to a far end at the socket of another node is given to reply, which must not wait;
// the bytes are free again when it returns.
func (p *Port) Join(self uint32, reply func(shard int, to wamble.Peer, packet []byte)) {
	p.shards.joined.Store(&joined{self, reply})
	for _, shard := range p.shards.ports {
		shard.udp.node.Store(self)
	}
}

// self is the number of this node; 0: there are no others.
func (s *shards) self() uint32 {
	if j := s.joined.Load(); j != nil {
		return j.self
	}
	return 0
}

// elsewhere reports whether a far end is at the socket of another node.
func elsewhere(self uint32, to wamble.Peer) bool { return to.Node != self && to.Node != 0 && self != 0 }

// Pass leaves a packet that came to another node at a shard. It reports false if that is
// full: the packet is lost.
func (p *Port) Pass(shard int, packet Packet) bool {
	if shard >= len(p.shards.ports) {
		return false
	}
	to := p.shards.ports[shard]
	to.udp.counts.passed.Add(1)
	return to.inbox.forward(packet)
}

// PassEnd tells a shard that the connection of a far end at another node is gone.
func (p *Port) PassEnd(shard int, peer wamble.Peer) {
	if shard < len(p.shards.ports) {
		p.shards.ports[shard].inbox.endPassed(peer)
	}
}

// HangUp ends the connections that have sent packets for a shard.
func (p *Port) HangUp(shard int, code uint16, reason string) {
	p.first.gateway.each(func(c *Conn) {
		if c.source != nil && c.source.told.Load()&(1<<shard) != 0 {
			c.Close(code, reason)
		}
	})
}

// tell notes that a shard gets packets of the connection.
func (from *source) tell(shard int) {
	if told := from.told.Load(); told&(1<<shard) == 0 {
		from.told.Store(told | 1<<shard)
	}
}

// each calls f with every shard that has got packets of the connection; the first, if
// none has.
func (from *source) each(f func(shard int)) {
	for told := max(1, from.told.Load()); told != 0; told &= told - 1 {
		f(bits.TrailingZeros64(told))
	}
}
