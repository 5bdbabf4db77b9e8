package handoff

import (
	"net"
	"os"

	"wamble/internal/store"
	"wamble/internal/transport"
)

// Listener returns a duplicate of an inherited listener; nil if there is none or it cannot
// be used.
func (h *Inheritance) Listener(name string) net.Listener {
	if h == nil {
		return nil
	}
	f, err := Duplicate(h.Listeners, name)
	if err != nil || f == nil {
		return nil
	}
	defer f.Close()
	l, err := net.FileListener(f)
	if err != nil {
		return nil
	}
	return l
}

// Pair returns duplicates of two inherited sockets that are bound to the given ports: the
// profile's own, or those of another profile. Port 0 matches any port, but only of the
// profile itself. Both are nil if there are none.
func (h *Inheritance) Pair(profile string, udpPort, tcpPort uint16) (udp, tcp *os.File) {
	if udp, tcp = h.pairOf(profile, udpPort, tcpPort); udp != nil || udpPort == 0 || tcpPort == 0 {
		return udp, tcp
	}
	for name := range h.Sockets {
		if udp, tcp = h.pairOf(name, udpPort, tcpPort); udp != nil {
			return udp, tcp
		}
	}
	return nil, nil
}

// pairOf returns duplicates of the inherited sockets of a profile, if they are bound to
// these ports.
func (h *Inheritance) pairOf(name string, udpPort, tcpPort uint16) (udp, tcp *os.File) {
	udp, err := Duplicate(h.Sockets, name)
	if err != nil || udp == nil {
		return nil, nil
	}
	tcp, err = Duplicate(h.Listeners, HTTP(name))
	if err != nil || tcp == nil {
		udp.Close()
		return nil, nil
	}
	if !transport.Bound(udp, udpPort) || !transport.Bound(tcp, tcpPort) {
		udp.Close()
		tcp.Close()
		return nil, nil
	}
	return udp, tcp
}

// Siblings returns duplicates of the inherited UDP sockets of a profile's other shards.
func (h *Inheritance) Siblings(profile string, shards int) (udp []*os.File) {
	for k := 1; k < shards; k++ {
		f, err := Duplicate(h.Sockets, store.ShardName(profile, k))
		if err != nil || f == nil {
			break
		}
		udp = append(udp, f)
	}
	return udp
}
