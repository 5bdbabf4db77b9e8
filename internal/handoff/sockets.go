package handoff

import (
	"net"
	"os"

	"wamble/internal/store"
	"wamble/internal/transport"
)

// Listener returns a duplicate of an inherited listener; nil if there is none that
// can be used.
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

// Pair returns duplicates of the two sockets that a profile is to have, if they are
// bound to the ports that it wants now: those that it had, or else, by their
// numbers, those that another profile had. Port 0 is any port, but only of the
// profile itself. Otherwise both are nil.
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

// pairOf returns duplicates of the sockets that a profile of that name had, if they
// are bound to these ports.
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

// Siblings returns duplicates of the UDP sockets that the other shards of a profile had.
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
