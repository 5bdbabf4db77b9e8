package transport

import (
	"encoding/binary"
	"net"
	"os"
	"syscall"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"

	"wamble"
)

// mmsghdr is struct mmsghdr of recvmmsg(2); Go pads it as C does.
type mmsghdr struct {
	hdr unix.Msghdr
	len uint32
}

// controlSpace has room for the control messages of a datagram: the struct timespec of SO_TIMESTAMPNS, the uint32 of
// SO_RXQ_OVFL, which is absent while the counter is zero, and the address it was sent to.
const controlSpace = unix.SizeofCmsghdr + 16 + unix.SizeofCmsghdr + 8 + sourceSpace

// batchReader reads up to ReadBatch datagrams with one system call, into buffers that it
// reuses.
type batchReader struct {
	u        *UDP
	headers  [ReadBatch]mmsghdr
	names    [ReadBatch]unix.RawSockaddrInet6
	vectors  [ReadBatch]unix.Iovec
	controls [ReadBatch][controlSpace]byte
	buffers  []byte
	packets  [ReadBatch]Packet
	locals   [ReadBatch][16]byte // of packets: the addresses they were sent to; zero if unknown
	used     int                 // headers that the last call wrote
	overflow uint32

	wait  bool
	epoll uintptr // armed before a wait
	got   int
	errno syscall.Errno
	// Method values, made once so that a read does not allocate.
	listening func(epoll uintptr) bool // listen
	receiving func(fd uintptr) bool    // recv
}

func newBatchReader(u *UDP) *batchReader {
	r := &batchReader{u: u, buffers: make([]byte, ReadBatch*MaxPacket), used: ReadBatch}
	for i := range r.headers {
		r.vectors[i].Base = &r.buffers[i*MaxPacket]
		r.vectors[i].SetLen(MaxPacket)
		h := &r.headers[i].hdr
		h.Name = (*byte)(unsafe.Pointer(&r.names[i]))
		h.Iov = &r.vectors[i]
		h.SetIovlen(1)
		h.Control = &r.controls[i][0]
	}
	r.listening, r.receiving = r.listen, r.recv
	return r
}

// batch reads the datagrams that are there. If there are none and wait is set, it waits until
// the socket's deadline.
func (r *batchReader) batch(wait bool) ([]Packet, error) {
	for i := range r.headers[:r.used] {
		h := &r.headers[i].hdr
		h.Namelen = unix.SizeofSockaddrInet6
		h.SetControllen(controlSpace)
	}
	r.used, r.wait, r.got, r.errno = 0, wait, 0, 0
	if err := r.readNow(); err != nil {
		return nil, err
	}
	switch r.errno {
	case 0:
	case syscall.EAGAIN, syscall.ECONNREFUSED, syscall.EINTR:
		// No datagram, or an ICMP error for one that was sent earlier.
		return nil, nil
	case syscall.EBADF:
		return nil, net.ErrClosed
	default:
		return nil, os.NewSyscallError("recvmmsg", r.errno)
	}
	r.used = r.got
	packets := r.packets[:0]
	for i := range r.headers[:r.got] {
		peer := wamble.Peer{Addr: addrPort(&r.names[i])}
		data := r.buffers[i*MaxPacket:][:r.headers[i].len:MaxPacket]
		if !isWakeUp(peer, data) {
			n := len(packets)
			r.locals[n] = [16]byte{}
			packets = append(packets, Packet{Peer: peer, Data: data})
			r.readControl(i, &packets[n].At, &r.locals[n])
		}
	}
	if r.u.sources != nil && len(packets) > 0 {
		r.u.sources.remember(packets, &r.locals)
	}
	return packets, nil
}

// full reports whether the last batch had no room for more.
func (r *batchReader) full() bool { return r.got == ReadBatch }

// readNow reads once, or blocks until a datagram is there.
func (r *batchReader) readNow() error {
	if !r.wait {
		return closedErr(r.u.socket.raw.Read(r.receiving))
	}
	return closedErr(r.u.socket.epollConn.Read(r.listening))
}

// listen reads what is there. It returns false to make the Go poller wait for the epoll.
func (r *batchReader) listen(epoll uintptr) bool {
	r.u.socket.disarm(epoll)
	r.epoll = epoll
	if err := r.u.socket.raw.Read(r.receiving); err != nil {
		r.errno = syscall.EBADF // closed
	}
	return r.errno != syscall.EAGAIN
}

// recv calls recvmmsg once. If nothing is there and the caller waits, it arms the epoll.
func (r *batchReader) recv(fd uintptr) bool {
	n, _, errno := unix.Syscall6(unix.SYS_RECVMMSG, fd,
		uintptr(unsafe.Pointer(&r.headers[0])), ReadBatch, unix.MSG_DONTWAIT, 0, 0)
	r.got, r.errno = int(n), errno
	if errno != 0 {
		r.got = 0
	}
	if errno == syscall.EAGAIN && r.wait {
		if err := r.u.socket.arm(r.epoll, fd); err != nil {
			r.errno = err.(syscall.Errno)
		}
	}
	return true
}

// readControl reads the control messages of datagram i: when the kernel received it, in nanoseconds since 1970, the
// address it was sent to, and how many datagrams the kernel has dropped.
func (r *batchReader) readControl(i int, at *int64, local *[16]byte) {
	b := r.controls[i][:min(int(r.headers[i].hdr.Controllen), controlSpace)]
	for len(b) >= unix.SizeofCmsghdr {
		h := (*unix.Cmsghdr)(unsafe.Pointer(&b[0]))
		size := int(h.Len)
		if size < unix.SizeofCmsghdr || size > len(b) {
			return
		}
		value := b[unix.SizeofCmsghdr:size]
		switch [2]int32{h.Level, h.Type} {
		case [2]int32{unix.SOL_SOCKET, unix.SO_TIMESTAMPNS}:
			*at = int64(binary.NativeEndian.Uint64(value))*1e9 + int64(binary.NativeEndian.Uint64(value[8:]))
		case [2]int32{unix.SOL_SOCKET, unix.SO_RXQ_OVFL}:
			now := binary.NativeEndian.Uint32(value)
			r.u.counts.lost.Add(uint64(now - r.overflow)) // the counter wraps
			r.overflow = now
		case [2]int32{unix.IPPROTO_IP, unix.IP_PKTINFO}:
			copy(local[:], value[4:8])
		case [2]int32{unix.IPPROTO_IPV6, unix.IPV6_PKTINFO}:
			copy(local[:], value[:16])
		}
		b = b[min((size+7)&^7, len(b)):]
	}
}

// batchWriter sends up to WriteBatch datagrams with one system call.
type batchWriter struct {
	u       *UDP
	v6      bool
	headers [WriteBatch]mmsghdr
	names   [WriteBatch]unix.RawSockaddrInet6
	vectors [WriteBatch]unix.Iovec
	sources [WriteBatch][sourceSpace]byte

	from, to int       // headers that are not sent yet
	until    time.Time // when the wait for room ends; zero before the first wait
	got      int
	errno    syscall.Errno
	call     func(fd uintptr) bool
}

func newBatchWriter(u *UDP, v6 bool) *batchWriter {
	w := &batchWriter{u: u, v6: v6}
	for i := range w.headers {
		h := &w.headers[i].hdr
		h.Name = (*byte)(unsafe.Pointer(&w.names[i]))
		h.Iov = &w.vectors[i]
		h.SetIovlen(1)
	}
	w.call = w.send
	return w
}

// batch sends packets [first, end) of out, at most WriteBatch.
func (w *batchWriter) batch(out Outgoing, first, end int) error {
	w.fill(out, first, end)
	retried := false
	for w.from < w.to {
		if err := closedErr(w.u.socket.raw.Write(w.call)); err != nil {
			return err
		}
		switch w.errno {
		case 0:
			w.from += w.got
			w.u.counts.sent.Add(uint64(w.got))
			retried = false
		case syscall.EINTR:
		case syscall.EAGAIN, syscall.ENOBUFS:
			if w.errno == syscall.ENOBUFS && !w.until.IsZero() || !w.awaitRoom() {
				w.u.counts.unsent.Add(uint64(w.to - w.from))
				return nil
			}
		case syscall.ECONNREFUSED:
			// An ICMP error for an earlier datagram: the current one was not sent.
			if retried {
				w.skip()
			}
			retried = !retried
		case syscall.EBADF, syscall.ENOTSOCK:
			return net.ErrClosed
		default: // the error is of this destination only: EMSGSIZE, EINVAL, ENETUNREACH, EPERM …
			w.skip()
		}
	}
	return nil
}

// fill prepares the headers for the datagrams among packets [first, end).
func (w *batchWriter) fill(out Outgoing, first, end int) {
	w.from, w.to, w.until = 0, 0, time.Time{}
	node := w.u.node.Load()
	if w.u.sources != nil {
		w.u.sources.mu.Lock()
		defer w.u.sources.mu.Unlock()
	}
	for p := first; p < end; p++ {
		peer, data := out.At(p)
		if peer.Stream() || isRemote(node, peer) {
			continue
		}
		i := w.to
		n := putSockaddr(&w.names[i], peer.Addr, w.v6)
		if n == 0 { // the socket cannot reach this address family
			w.u.counts.refused.Add(1)
			continue
		}
		w.headers[i].hdr.Namelen = n
		w.vectors[i].Base = unsafe.SliceData(data)
		w.vectors[i].SetLen(len(data))
		if w.u.sources != nil {
			h := &w.headers[i].hdr
			h.Control = nil
			n := w.u.sources.put(&w.sources[i], peer.Addr, w.v6)
			if n > 0 {
				h.Control = &w.sources[i][0]
			}
			h.SetControllen(n)
		}
		w.to++
	}
}

// skip drops the datagram that the kernel refused.
func (w *batchWriter) skip() {
	w.from++
	w.u.counts.refused.Add(1)
}

// awaitRoom waits for room in the send buffer. It returns false when sendPatience for this
// batch is over.
func (w *batchWriter) awaitRoom() bool {
	now := time.Now()
	if w.until.IsZero() {
		w.until = now.Add(sendPatience)
	}
	left := w.until.Sub(now)
	if left <= 0 {
		return false
	}
	w.u.socket.raw.Control(func(fd uintptr) { w.u.socket.awaitRoom(fd, left) })
	return true
}

// send calls sendmmsg once.
func (w *batchWriter) send(fd uintptr) bool {
	n, _, errno := unix.Syscall6(unix.SYS_SENDMMSG, fd,
		uintptr(unsafe.Pointer(&w.headers[w.from])), uintptr(w.to-w.from), unix.MSG_DONTWAIT, 0, 0)
	w.got, w.errno = int(n), errno
	return true
}
