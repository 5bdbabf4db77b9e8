package transport

import (
	"syscall"

	"golang.org/x/sys/unix"
)

// prepare sets the options of the socket and reports whether it is of the IPv6
// family.
//
// Path MTU discovery is off: a packet has at most 1234 bytes, routers may
// fragment it, and nobody can shrink our packets with forged ICMP. Over IPv6,
// where routers do not fragment, the kernel cuts at the minimum of 1280.
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
		// Go allows broadcast by default; an answer never goes to everybody.
		unix.SetsockoptInt(s, unix.SOL_SOCKET, unix.SO_BROADCAST, 0)
		// Not every kernel and family knows these; none of them is vital. The
		// IPv4 option works on an IPv6 socket too, for its mapped addresses.
		unix.SetsockoptInt(s, unix.IPPROTO_IP, unix.IP_MTU_DISCOVER, unix.IP_PMTUDISC_OMIT)
		if v6 {
			unix.SetsockoptInt(s, unix.IPPROTO_IPV6, unix.IPV6_MTU_DISCOVER, unix.IPV6_PMTUDISC_OMIT)
			unix.SetsockoptInt(s, unix.IPPROTO_IPV6, unix.IPV6_MTU, 1280)
		}
		setBuffer(s, unix.SO_RCVBUF, unix.SO_RCVBUFFORCE, o.Buffer)
		setBuffer(s, unix.SO_SNDBUF, unix.SO_SNDBUFFORCE, o.Buffer)
	})
	if err != nil {
		return false, err
	}
	return v6, inner
}

// setBuffer sets one buffer. A size that was asked for is cut by the kernel to
// its limit (net.core.rmem_max, wmem_max) unless the process is privileged;
// without one the largest is asked for, which ends at the same limit.
func setBuffer(s, option, force, size int) {
	if size <= 0 {
		size = largestBuffer
	}
	if unix.SetsockoptInt(s, unix.SOL_SOCKET, force, size) != nil {
		unix.SetsockoptInt(s, unix.SOL_SOCKET, option, size)
	}
}

// Buffers returns the sizes in bytes that the kernel has granted to the
// receive and send buffers. Linux counts its own overhead in, so that it
// grants twice of what was asked.
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

// setReusePort sets SO_REUSEPORT: another socket of this user may bind the same
// number, or not.
func setReusePort(c syscall.RawConn, on bool) error {
	value := 0
	if on {
		value = 1
	}
	var inner error
	err := c.Control(func(fd uintptr) { inner = unix.SetsockoptInt(int(fd), unix.SOL_SOCKET, unix.SO_REUSEPORT, value) })
	if err == nil {
		err = inner
	}
	return err
}
