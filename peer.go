package wamble

import "net/netip"

// Peer is the far end of a packet, and the key of its endpoint. Two peers are
// the same endpoint when they are equal.
type Peer struct {
	// Addr is the remote address: of the datagram, or of the TCP connection
	// under a WebSocket. IPv4 addresses are never in their IPv6-mapped form.
	Addr netip.AddrPort
	// Route is 0 for UDP. A WebSocket connection has a number of its own,
	// unique in the life of the process.
	Route uint32
	// Node is the number of the node at whose socket the far end is; 0 if this process
	// has no others beside it.
	Node uint32
}

// Stream reports whether packets to p arrive in order and are not lost while
// the connection lives, so that a written packet counts as delivered.
func (p Peer) Stream() bool { return p.Route != 0 }

// Place is Node and Route in one number, as they are written down: without other nodes it
// is Route.
func (p Peer) Place() uint64 { return uint64(p.Node)<<32 | uint64(p.Route) }

// SetPlace sets Node and Route.
func (p *Peer) SetPlace(n uint64) { p.Node, p.Route = uint32(n>>32), uint32(n) }

// IP returns the remote address without its port, for limits per host.
func (p Peer) IP() netip.Addr { return p.Addr.Addr() }

// HostOf returns what limits per host count by: an IPv4 address, or a /56 of
// IPv6, which one subscriber has all of. It is the zero Prefix if ip is not valid.
func HostOf(ip netip.Addr) netip.Prefix {
	ip = ip.Unmap().WithZone("")
	bits := 56
	if ip.Is4() {
		bits = 32
	}
	host, _ := ip.Prefix(bits)
	return host
}
