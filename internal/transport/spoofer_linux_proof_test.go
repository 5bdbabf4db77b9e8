//go:build proof && linux

package transport

import (
	"net"
	"net/netip"
	"unsafe"

	"golang.org/x/sys/unix"
)

// spoofer sends packets from any source address of 127.0.0.0/8.
type spoofer struct {
	udp      *UDP
	target   unix.RawSockaddrInet4
	headers  [WriteBatch]mmsghdr
	vectors  [WriteBatch]unix.Iovec
	controls [WriteBatch]packetInfo
	buffers  [WriteBatch][128]byte
	n        int
}

// packetInfo is a control message that chooses the source address.
type packetInfo struct {
	header unix.Cmsghdr
	info   unix.Inet4Pktinfo
	_      [4]byte
}

func openSpoofer(target netip.AddrPort) *spoofer {
	u, err := ListenUDP(netip.MustParseAddrPort("0.0.0.0:0"), UDPOptions{})
	if err != nil {
		panic(err)
	}
	s := &spoofer{udp: u}
	s.target.Family, s.target.Port = unix.AF_INET, swap16(target.Port())
	s.target.Addr = target.Addr().As4()
	for i := range s.headers {
		c := &s.controls[i]
		c.header.Level, c.header.Type = unix.IPPROTO_IP, unix.IP_PKTINFO
		c.header.SetLen(unix.CmsgLen(unix.SizeofInet4Pktinfo))
		h := &s.headers[i].hdr
		h.Name = (*byte)(unsafe.Pointer(&s.target))
		h.Namelen = unix.SizeofSockaddrInet4
		h.Iov = &s.vectors[i]
		h.SetIovlen(1)
		h.Control = (*byte)(unsafe.Pointer(c))
		h.SetControllen(unix.CmsgSpace(unix.SizeofInet4Pktinfo))
		s.vectors[i].Base = &s.buffers[i][0]
	}
	return s
}

// add queues a packet from client i, whose address is 127.x.y.z of i.
func (s *spoofer) add(i uint32, packet []byte) {
	if s.n == WriteBatch {
		s.flush()
	}
	n := copy(s.buffers[s.n][:], packet)
	s.vectors[s.n].SetLen(n)
	i += 0x10002 // 127.1.0.2 and up
	s.controls[s.n].info.Spec_dst = [4]byte{127, byte(i >> 16), byte(i >> 8), byte(i)}
	s.n++
}

func (s *spoofer) flush() {
	from := 0
	err := s.udp.socket.raw.Write(func(fd uintptr) bool {
		for from < s.n {
			n, _, errno := unix.Syscall6(unix.SYS_SENDMMSG, fd,
				uintptr(unsafe.Pointer(&s.headers[from])), uintptr(s.n-from), unix.MSG_DONTWAIT, 0, 0)
			switch errno {
			case 0:
				from += int(n)
			case unix.EAGAIN:
				return false
			default: // an address like 127.255.255.255 that no packet comes from
				from++
			}
		}
		return true
	})
	if err != nil && !isClosed(err) {
		panic(err)
	}
	s.n = 0
}

func isClosed(err error) bool {
	op, ok := err.(*net.OpError)
	return ok && op.Err == net.ErrClosed
}

// netipLoopback is a socket's address for a client on this machine.
func netipLoopback(u *UDP) netip.AddrPort {
	return netip.AddrPortFrom(netip.AddrFrom4([4]byte{127, 0, 0, 1}), u.LocalAddr().Port())
}
