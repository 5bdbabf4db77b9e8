package transport

import (
	"cmp"
	"syscall"

	"golang.org/x/sys/unix"
)

// prepare sets the options of the socket and reports whether its family is IPv6.
//
// Path MTU discovery is off: a packet has at most 1234 bytes, routers may fragment it, and
// forged ICMP cannot reduce its size. Over IPv6, where routers do not fragment, the kernel
// fragments at the minimum of 1280 bytes.
func (s *socket) prepare(o UDPOptions) (v6 bool, err error) {
	var inner error
	err = s.raw.Control(func(fd uintptr) {
		s := int(fd)
		var domain int
		if domain, inner = unix.GetsockoptInt(s, unix.SOL_SOCKET, unix.SO_DOMAIN); inner != nil {
			return
		}
		v6 = domain == unix.AF_INET6
		if inner = unix.SetsockoptInt(s, unix.SOL_SOCKET, unix.SO_RXQ_OVFL, 1); inner != nil {
			return
		}
		// Without the time of arrival a datagram counts as one that arrives when it is read.
		unix.SetsockoptInt(s, unix.SOL_SOCKET, unix.SO_TIMESTAMPNS, 1)
		// Go enables broadcast by default; the server never broadcasts.
		unix.SetsockoptInt(s, unix.SOL_SOCKET, unix.SO_BROADCAST, 0)
		// Errors are ignored: not every kernel and family has these options. The IPv4 option
		// also applies to IPv4-mapped addresses of an IPv6 socket.
		unix.SetsockoptInt(s, unix.IPPROTO_IP, unix.IP_MTU_DISCOVER, unix.IP_PMTUDISC_OMIT)
		if v6 {
			unix.SetsockoptInt(s, unix.IPPROTO_IPV6, unix.IPV6_MTU_DISCOVER, unix.IPV6_PMTUDISC_OMIT)
			unix.SetsockoptInt(s, unix.IPPROTO_IPV6, unix.IPV6_MTU, 1280)
		}
		setBuffer(s, unix.SO_RCVBUF, unix.SO_RCVBUFFORCE, cmp.Or(o.Buffer, unreadBuffer))
		setBuffer(s, unix.SO_SNDBUF, unix.SO_SNDBUFFORCE, cmp.Or(o.Buffer, unreadBuffer))
	})
	if err != nil {
		return false, err
	}
	return v6, inner
}

// setBuffer sets the size of one buffer. Unless the process is privileged, the kernel limits it
// to net.core.rmem_max or wmem_max.
func setBuffer(s, option, force, size int) {
	if unix.SetsockoptInt(s, unix.SOL_SOCKET, force, size) != nil {
		unix.SetsockoptInt(s, unix.SOL_SOCKET, option, size)
	}
}

// receiveBuffer sets the size of the receive buffer. A smaller one than before drops nothing that is in it.
func (s *socket) receiveBuffer(size int) {
	s.raw.Control(func(fd uintptr) { setBuffer(int(fd), unix.SO_RCVBUF, unix.SO_RCVBUFFORCE, size) })
}

// Buffers returns the sizes in bytes of the receive and send buffers as the kernel reports
// them. Linux includes its overhead and reports twice the size that was set.
func (u *UDP) Buffers() (receive, send int, err error) {
	var inner error
	err = u.socket.raw.Control(func(fd uintptr) {
		if receive, inner = unix.GetsockoptInt(int(fd), unix.SOL_SOCKET, unix.SO_RCVBUF); inner == nil {
			send, inner = unix.GetsockoptInt(int(fd), unix.SOL_SOCKET, unix.SO_SNDBUF)
		}
	})
	if err == nil {
		err = inner
	}
	return receive, send, err
}

// setReusePort sets or clears SO_REUSEPORT, which lets other sockets of this user bind the same
// number.
func setReusePort(c syscall.RawConn, on bool) error {
	value := 0
	if on {
		value = 1
	}
	var inner error
	err := c.Control(func(fd uintptr) {
		inner = unix.SetsockoptInt(int(fd), unix.SOL_SOCKET, unix.SO_REUSEPORT, value)
	})
	if err == nil {
		err = inner
	}
	return err
}
