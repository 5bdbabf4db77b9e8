//go:build !linux

package transport

import (
	"cmp"
	"errors"
	"net"
	"net/netip"
	"syscall"
	"time"

	"wamble"
)

// batchReader reads one datagram per system call: only Linux has recvmmsg.

type batchReader struct {
	u      *UDP
	buffer [MaxPacket]byte
	packet [1]Packet
}

func newBatchReader(u *UDP) *batchReader { return &batchReader{u: u} }

func (r *batchReader) batch(wait bool) ([]Packet, error) {
	if !wait {
		r.u.socket.SetReadDeadline(time.Now().Add(time.Millisecond))
	}
	n, from, err := r.u.socket.ReadFromUDPAddrPort(r.buffer[:])
	if err != nil {
		return nil, err
	}
	peer := wamble.Peer{Addr: netip.AddrPortFrom(from.Addr().Unmap(), from.Port())}
	if isWakeUp(peer, r.buffer[:n]) {
		return nil, nil
	}
	r.packet[0] = Packet{Peer: peer, Data: r.buffer[:n]}
	return r.packet[:], nil
}

// full is for Linux: here a datagram waits in the kernel's order until it is read.
func (r *batchReader) full() bool { return false }

// sources is for Linux: other kernels choose the source address by the route.
type sources struct{}

func newSources(*socket, bool) *sources { return nil }

type batchWriter struct{ u *UDP }

func newBatchWriter(u *UDP, _ bool) *batchWriter { return &batchWriter{u: u} }

func (w *batchWriter) batch(out Outgoing, first, end int) error {
	w.u.socket.SetWriteDeadline(time.Now().Add(sendPatience))
	node := w.u.node.Load()
	for i := first; i < end; i++ {
		peer, data := out.At(i)
		if peer.Stream() || isRemote(node, peer) {
			continue
		}
		_, err := w.u.socket.WriteToUDPAddrPort(data, peer.Addr)
		switch {
		case err == nil:
			w.u.counts.sent.Add(1)
		case errors.Is(err, net.ErrClosed):
			return err
		default:
			w.u.counts.refused.Add(1)
		}
	}
	return nil
}

type socket struct{ *net.UDPConn }

func newSocket(conn *net.UDPConn) (*socket, error) { return &socket{conn}, nil }

// prepare halves the buffer size, beginning with the largest, until the kernel accepts it.
func (s *socket) prepare(o UDPOptions) (v6 bool, err error) {
	for size := cmp.Or(o.Buffer, unreadBuffer); size >= 32<<10; size /= 2 {
		if s.SetReadBuffer(size) == nil && s.SetWriteBuffer(size) == nil {
			break
		}
	}
	return true, nil
}

func (s *socket) receiveBuffer(size int) { s.SetReadBuffer(size) }

// sharesNumber is for Linux.
const sharesNumber = false

func (u *UDP) steer(int, bool) error { return errors.ErrUnsupported }

// setReusePort is for Linux.
func setReusePort(syscall.RawConn, bool) error { return errors.ErrUnsupported }

// Buffers is for Linux.
func (u *UDP) Buffers() (receive, send int, err error) { return 0, 0, errors.ErrUnsupported }
