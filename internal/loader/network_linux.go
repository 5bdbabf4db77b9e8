package loader

import (
	"encoding/binary"
	"fmt"
	"net/netip"
	"os"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"

	"wamble/wire"
)

// network is one socket for all clients: each sent packet has its source address in 127.0.0.0/8
// in a control message, and each received one its destination. So a batch of all clients takes
// one system call. The socket is in blocking mode, because waiting in the call is cheaper than
// waiting for a poller.
type network struct {
	fd      int
	server  unix.RawSockaddrInet4
	in, out batch
	queued  int
	arrived [readBatch]datagram
	lost    uint32 // the kernel's counter when it was last read
	losses  uint64
}

// batch is the arrays of recvmmsg or sendmmsg.
type batch struct {
	headers []mmsghdr
	slots   []slot
}

func newBatch(n int) batch {
	b := batch{make([]mmsghdr, n), make([]slot, n)}
	for i := range b.headers {
		b.headers[i].point(&b.slots[i])
	}
	return b
}

// slot is what one header points to.
type slot struct {
	vector  unix.Iovec
	control control
	buffer  [wire.MaxPacket]byte
}

const (
	readBatch  = 128
	writeBatch = 256
	bufferSize = 8 << 20
)

// mmsghdr is struct mmsghdr of recvmmsg(2); Go pads it as C does.
type mmsghdr struct {
	hdr unix.Msghdr
	len uint32
}

// control has room for the control messages of a datagram: the local address, and the number of
// dropped datagrams.
type control struct {
	header unix.Cmsghdr
	info   unix.Inet4Pktinfo
	_      [4]byte
	more   [24]byte
}

// The addresses: 127.1.0.2 and up, within 127.0.0.0/8.
const (
	firstAddress = 127<<24 | 1<<16 | 2
	addressCount = 250 << 16
)

// openSockets opens the sockets that cost least for a server.
func openSockets(o Options) (sockets, error) {
	a := o.Server.Addr().Unmap()
	if o.Separate || !a.Is4() || !a.IsLoopback() {
		return openSeparate(o.Server, o.Clients)
	}
	return openNetwork(netip.AddrPortFrom(a, o.Server.Port()))
}

func openNetwork(server netip.AddrPort) (*network, error) {
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return nil, fmt.Errorf("socket of the clients: %w", err)
	}
	n := &network{fd: fd}
	if err := n.prepare(); err != nil {
		unix.Close(fd)
		return nil, fmt.Errorf("socket of the clients: %w", err)
	}
	n.server.Family, n.server.Addr = unix.AF_INET, server.Addr().As4()
	binary.BigEndian.PutUint16((*[2]byte)(unsafe.Pointer(&n.server.Port))[:], server.Port())
	n.in, n.out = newBatch(readBatch), newBatch(writeBatch)
	for i := range n.out.headers {
		h, s := &n.out.headers[i], &n.out.slots[i]
		h.hdr.Name = (*byte)(unsafe.Pointer(&n.server))
		h.hdr.Namelen = unix.SizeofSockaddrInet4
		h.hdr.SetControllen(unix.CmsgSpace(unix.SizeofInet4Pktinfo))
		s.control.header.Level, s.control.header.Type = unix.IPPROTO_IP, unix.IP_PKTINFO
		s.control.header.SetLen(unix.CmsgLen(unix.SizeofInet4Pktinfo))
	}
	return n, nil
}

func (h *mmsghdr) point(s *slot) {
	s.vector.Base = &s.buffer[0]
	s.vector.SetLen(len(s.buffer))
	h.hdr.Iov = &s.vector
	h.hdr.SetIovlen(1)
	h.hdr.Control = (*byte)(unsafe.Pointer(&s.control))
	h.hdr.SetControllen(int(unsafe.Sizeof(s.control)))
}

// prepare sets the options of the socket and binds it to a free port on all addresses.
func (n *network) prepare() error {
	for _, o := range []struct{ level, option, value int }{
		{unix.IPPROTO_IP, unix.IP_PKTINFO, 1},
		{unix.SOL_SOCKET, unix.SO_RXQ_OVFL, 1},
	} {
		if err := unix.SetsockoptInt(n.fd, o.level, o.option, o.value); err != nil {
			return err
		}
	}
	for _, o := range [][2]int{{unix.SO_RCVBUFFORCE, unix.SO_RCVBUF}, {unix.SO_SNDBUFFORCE, unix.SO_SNDBUF}} {
		if unix.SetsockoptInt(n.fd, unix.SOL_SOCKET, o[0], bufferSize) != nil {
			unix.SetsockoptInt(n.fd, unix.SOL_SOCKET, o[1], bufferSize) // the kernel reduces it to its limit
		}
	}
	wait := unix.NsecToTimeval(tick.Nanoseconds())
	if err := unix.SetsockoptTimeval(n.fd, unix.SOL_SOCKET, unix.SO_RCVTIMEO, &wait); err != nil {
		return err
	}
	return unix.Bind(n.fd, &unix.SockaddrInet4{})
}

func (n *network) receive() ([]datagram, error) {
	count, _, errno := unix.Syscall6(unix.SYS_RECVMMSG, uintptr(n.fd),
		uintptr(unsafe.Pointer(&n.in.headers[0])), readBatch, unix.MSG_WAITFORONE, 0, 0)
	switch errno {
	case 0:
	case syscall.EAGAIN, syscall.EINTR, syscall.ECONNREFUSED:
		return nil, nil
	default:
		return nil, os.NewSyscallError("recvmmsg", errno)
	}
	got := n.arrived[:0]
	for i := range n.in.headers[:count] {
		h, s := &n.in.headers[i], &n.in.slots[i]
		if number, ok := n.destination(&h.hdr, &s.control); ok {
			got = append(got, datagram{number, s.buffer[:h.len]})
		}
		h.hdr.SetControllen(int(unsafe.Sizeof(s.control)))
	}
	return got, nil
}

// destination reads the control messages of a datagram.
func (n *network) destination(h *unix.Msghdr, c *control) (number uint32, ok bool) {
	all := unsafe.Slice((*byte)(unsafe.Pointer(c)), min(int(h.Controllen), int(unsafe.Sizeof(*c))))
	for len(all) >= unix.SizeofCmsghdr {
		m := (*unix.Cmsghdr)(unsafe.Pointer(&all[0]))
		size := int(m.Len)
		if size < unix.SizeofCmsghdr || size > len(all) {
			break
		}
		data := all[unix.SizeofCmsghdr:size]
		switch {
		case m.Level == unix.IPPROTO_IP && m.Type == unix.IP_PKTINFO && len(data) >= unix.SizeofInet4Pktinfo:
			info := (*unix.Inet4Pktinfo)(unsafe.Pointer(&data[0]))
			number = binary.BigEndian.Uint32(info.Addr[:]) - firstAddress
			ok = number < addressCount
		case m.Level == unix.SOL_SOCKET && m.Type == unix.SO_RXQ_OVFL && len(data) >= 4:
			now := binary.NativeEndian.Uint32(data)
			n.losses += uint64(now - n.lost)
			n.lost = now
		}
		all = all[min((size+7)&^7, len(all)):]
	}
	return number, ok
}

func (n *network) send(number uint32, packet []byte) {
	if n.queued == writeBatch {
		n.flush()
	}
	s := &n.out.slots[n.queued]
	s.vector.SetLen(copy(s.buffer[:], packet))
	binary.BigEndian.PutUint32(s.control.info.Spec_dst[:], firstAddress+number)
	n.queued++
}

// flush sends the queued packets, and blocks while the send buffer is full. A packet that the
// kernel refuses is dropped; its request is repeated like any other.
func (n *network) flush() error {
	for from := 0; from < n.queued; {
		count, _, errno := unix.Syscall6(unix.SYS_SENDMMSG, uintptr(n.fd),
			uintptr(unsafe.Pointer(&n.out.headers[from])), uintptr(n.queued-from), 0, 0, 0)
		switch errno {
		case 0:
			from += int(count)
		case syscall.EINTR:
		case syscall.EBADF, syscall.ENOTSOCK:
			return os.NewSyscallError("sendmmsg", errno)
		default:
			from++
		}
	}
	n.queued = 0
	return nil
}

func (n *network) addresses() uint32 { return addressCount }

func (n *network) dropped() uint64 { return n.losses }

func (n *network) close() { unix.Close(n.fd) }
