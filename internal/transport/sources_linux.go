package transport

import (
	"encoding/binary"
	"net/netip"
	"sync"
	"unsafe"

	"golang.org/x/sys/unix"
)

// sources remembers to which of the machine's addresses peers have sent, for a socket that is bound to all of them:
// answers leave from there. The kernel would choose by the route, and a client drops what comes from another address
// than it has written to. A peer whose place another one has taken gets the kernel's choice.
type sources struct {
	mu sync.Mutex
	of [1 << 12]destination // by a hash of the peer
}

type destination struct {
	peer  netip.AddrPort
	local [16]byte // of an IPv4 socket the first four bytes
}

func (s *sources) place(peer netip.AddrPort) *destination {
	a := peer.Addr().As16()
	h := binary.NativeEndian.Uint64(a[:8]) ^ binary.NativeEndian.Uint64(a[8:]) ^ uint64(peer.Port())
	return &s.of[h*0x9E3779B97F4A7C15>>(64-12)]
}

// sourceSpace is the size of the control message of an address, of the longer family.
const sourceSpace = (unix.SizeofCmsghdr + unix.SizeofInet6Pktinfo + 7) &^ 7

// newSources makes the kernel tell to which address each datagram was sent. It returns nil if the kernel does not.
func newSources(s *socket, v6 bool) *sources {
	level, option := unix.IPPROTO_IP, unix.IP_PKTINFO
	if v6 { // it tells those of IPv4, too
		level, option = unix.IPPROTO_IPV6, unix.IPV6_RECVPKTINFO
	}
	var inner error
	err := s.raw.Control(func(fd uintptr) { inner = unix.SetsockoptInt(int(fd), level, option, 1) })
	if err != nil || inner != nil {
		return nil
	}
	return &sources{}
}

// remember records the addresses of the datagrams of a batch.
func (s *sources) remember(packets []Packet, locals *[ReadBatch][16]byte) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for i := range packets {
		if locals[i] != ([16]byte{}) {
			*s.place(packets[i].Peer.Addr) = destination{packets[i].Peer.Addr, locals[i]}
		}
	}
}

// put writes the control message that chooses the source address of a datagram to a peer, and returns its length; 0 if
// the address is not known. The caller holds mu.
func (s *sources) put(b *[sourceSpace]byte, peer netip.AddrPort, v6 bool) int {
	from := s.place(peer)
	if from.peer != peer {
		return 0
	}
	h := (*unix.Cmsghdr)(unsafe.Pointer(b))
	info := b[unix.SizeofCmsghdr:]
	clear(info)
	size := unix.SizeofInet4Pktinfo
	if v6 {
		size = unix.SizeofInet6Pktinfo
		h.Level, h.Type = unix.IPPROTO_IPV6, unix.IPV6_PKTINFO
		copy(info, from.local[:])
	} else {
		h.Level, h.Type = unix.IPPROTO_IP, unix.IP_PKTINFO
		copy(info[4:], from.local[:4]) // behind the interface
	}
	h.SetLen(unix.SizeofCmsghdr + size)
	return unix.SizeofCmsghdr + size
}
