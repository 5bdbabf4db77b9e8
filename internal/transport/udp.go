package transport

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"os"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"wamble"
)

// UDP is one datagram socket. An address without a host ("[::]:8888" or ":8888") receives IPv4
// and IPv6 on the same descriptor, so that each port has one loop and one descriptor to hand
// over; IPv4 peers always have plain IPv4 addresses.
//
// One goroutine at a time may read. Writes may come from several.
type UDP struct {
	socket *socket
	local  netip.AddrPort
	read   *batchReader
	fixed  bool      // the options say how large the buffers are
	roomy  bool      // the receive buffer has the size of unreadBuffer; never if fixed
	reads  int       // since it has
	armed  time.Time // the read deadline that was set last
	stale  bool      // the socket's deadline may differ from armed

	sources *sources // nil if the socket is bound to one address; shared by the sockets of a number

	mu    sync.Mutex // guards write
	write *batchWriter

	node   atomic.Uint32 // number of this node for Peer.Node; 0 without a cluster
	counts udpCounters
}

// udpCounters are read by any goroutine.
type udpCounters struct {
	received, sent, lost, refused, unsent atomic.Uint64
	forwarded, spilled, passed            atomic.Uint64
}

// UDPStats counts datagrams since the socket was opened.
type UDPStats struct {
	Received uint64 // returned by a read, before forwarding
	Sent     uint64 // accepted by the kernel
	Lost     uint64 // dropped by the kernel because the receive buffer was full
	Refused  uint64 // not sent: the kernel refused the destination
	Unsent   uint64 // not sent: the send buffer stayed full
	// Forwarded and Spilled count datagrams for other shards.
	Forwarded uint64 // forwarded to the shard
	Spilled   uint64 // dropped: the shard's inbox was full
	// Passed counts packets of datagrams and connections that arrived at another node.
	Passed uint64
}

// UDPOptions configure a socket.
type UDPOptions struct {
	// Off binds only loopback, at a port that the kernel chooses, for programs on this machine
	// that know the number.
	Off bool
	// Buffer is the size of the receive buffer and of the send buffer in bytes; 0 means readBuffer, and unreadBuffer
	// for the send buffer and while nobody reads.
	Buffer int

	reusePort control // nil if the number is not shared
}

// The sizes of buffers if none is set. The kernel accounts about 400 bytes of them for the shortest datagram.
const (
	// unreadBuffer has room for what arrives during a handoff at full load: some twenty thousand datagrams.
	unreadBuffer = 8 << 20
	// readBuffer has room for what arrives between two reads: some five thousand. What does not fit is dropped
	// whoever it is from, and what is in a larger one is old before it is read.
	readBuffer = 2 << 20
)

// ListenUDP opens a socket on address.
func ListenUDP(address netip.AddrPort, o UDPOptions) (*UDP, error) {
	if o.Off {
		address = netip.AddrPortFrom(netip.AddrFrom4([4]byte{127, 0, 0, 1}), 0)
	}
	network := "udp" // with an unspecified IPv6 address: IPv4 too
	switch a := address.Addr(); {
	case !a.IsValid():
		address = netip.AddrPortFrom(netip.IPv6Unspecified(), address.Port())
	case a.Is4() || a.Is4In6():
		network, address = "udp4", netip.AddrPortFrom(a.Unmap(), address.Port())
	case !a.IsUnspecified():
		network = "udp6"
	}
	bind := net.ListenConfig{Control: o.reusePort}
	conn, err := bind.ListenPacket(context.Background(), network, address.String())
	if err != nil && errors.Is(err, syscall.EAFNOSUPPORT) && address.Addr().IsUnspecified() {
		// The kernel has no IPv6.
		v4 := netip.AddrPortFrom(netip.IPv4Unspecified(), address.Port())
		conn, err = bind.ListenPacket(context.Background(), "udp4", v4.String())
	}
	if err != nil {
		return nil, fmt.Errorf("listen on udp %s: %w", address, err)
	}
	return newUDP(conn.(*net.UDPConn), o)
}

// adoptUDP is AdoptUDP, unless UDP is off: then it closes file and returns a private socket.
func adoptUDP(file *os.File, o UDPOptions) (*UDP, error) {
	if o.Off {
		file.Close()
		return ListenUDP(netip.AddrPort{}, o)
	}
	return AdoptUDP(file, o)
}

// AdoptUDP takes over an open socket that another process image has bound. It closes file; the
// socket stays open.
func AdoptUDP(file *os.File, o UDPOptions) (*UDP, error) {
	defer file.Close()
	pc, err := net.FilePacketConn(file)
	if err != nil {
		return nil, fmt.Errorf("adopt descriptor: %w", err)
	}
	conn, ok := pc.(*net.UDPConn)
	if !ok {
		pc.Close()
		return nil, fmt.Errorf("adopt descriptor: it is a %s socket, not UDP", pc.LocalAddr().Network())
	}
	return newUDP(conn, o)
}

func newUDP(conn *net.UDPConn, o UDPOptions) (*UDP, error) {
	local := conn.LocalAddr().(*net.UDPAddr).AddrPort()
	u := &UDP{local: netip.AddrPortFrom(local.Addr().Unmap(), local.Port())}
	var err error
	if u.socket, err = newSocket(conn); err != nil {
		return nil, fmt.Errorf("udp socket %s: %w", u.local, err)
	}
	v6, err := u.socket.prepare(o)
	if err != nil {
		u.socket.Close()
		return nil, fmt.Errorf("udp socket %s: %w", u.local, err)
	}
	if u.local.Addr().IsUnspecified() {
		u.sources = newSources(u.socket, v6)
	}
	u.fixed = o.Buffer > 0
	u.roomy = !u.fixed
	u.read = newBatchReader(u)
	u.write = newBatchWriter(u, v6)
	return u, nil
}

// LocalAddr returns the address that the socket is bound to.
func (u *UDP) LocalAddr() netip.AddrPort { return u.local }

// SyscallConn gives access to the descriptor, to pass it to another process image.
func (u *UDP) SyscallConn() (syscall.RawConn, error) { return u.socket.SyscallConn() }

// Close closes the socket. A waiting read returns net.ErrClosed.
func (u *UDP) Close() error { return u.socket.Close() }

// Stats returns the counters.
func (u *UDP) Stats() UDPStats {
	return UDPStats{
		Received: u.counts.received.Load(),
		Sent:     u.counts.sent.Load(),
		Lost:     u.counts.lost.Load(),
		Refused:  u.counts.refused.Load(),
		Unsent:   u.counts.unsent.Load(),

		Forwarded: u.counts.forwarded.Load(),
		Spilled:   u.counts.spilled.Load(),
		Passed:    u.counts.passed.Load(),
	}
}

// Read waits for datagrams until the given time (zero: forever, past: not at all) and returns
// those that are there, at most ReadBatch. It may return early with none. It fails only if the
// socket is closed or broken.
func (u *UDP) Read(until time.Time) ([]Packet, error) {
	wait, err := u.arm(until)
	if err != nil {
		return nil, err
	}
	return u.readArmed(wait)
}

// arm sets the read deadline and reports whether it is in the future. Setting it costs time,
// and the loop calls arm with a slightly later time for every batch, so an earlier deadline
// that has not passed is kept: it makes a read return early at most once.
func (u *UDP) arm(until time.Time) (wait bool, err error) {
	now := time.Now()
	wait = until.IsZero() || until.After(now)
	if !wait {
		until = time.Time{} // an expired deadline would hide queued datagrams
	}
	valid := u.armed.IsZero() || u.armed.After(now)
	early := !u.armed.IsZero() && (until.IsZero() || !until.Before(u.armed))
	if !u.stale && valid && (early || until.Equal(u.armed)) {
		return wait, nil
	}
	u.armed, u.stale = until, false
	return wait, u.socket.SetReadDeadline(until)
}

// readArmed reads under the deadline that arm has set.
func (u *UDP) readArmed(wait bool) ([]Packet, error) {
	packets, err := u.read.batch(wait)
	if u.roomy {
		u.shrink()
	}
	if errors.Is(err, os.ErrDeadlineExceeded) {
		u.stale = true // the deadline has passed, or interrupt has moved it
		return nil, nil
	}
	u.counts.received.Add(uint64(len(packets)))
	return packets, err
}

// maxRoomyReads bounds the batches for which the receive buffer stays large: a flood has no end.
const maxRoomyReads = 256

// shrink makes the receive buffer small again when what waited in it has been read. While more waits than a small
// one takes, the kernel would drop all that arrives.
func (u *UDP) shrink() {
	if u.reads++; !u.read.full() || u.reads >= maxRoomyReads {
		u.roomy = false
		u.socket.receiveBuffer(readBuffer)
	}
}

// hold makes the receive buffer large until what waits in it has been read.
func (u *UDP) hold() {
	if !u.fixed && !u.roomy {
		u.roomy, u.reads = true, 0
		u.socket.receiveBuffer(unreadBuffer)
	}
}

// interrupt ends the current read, or the next one that waits.
func (u *UDP) interrupt() { u.socket.SetReadDeadline(longAgo) }

var longAgo = time.Unix(1, 0)

// Write sends datagrams in order, WriteBatch per system call. It counts and skips a destination
// that the kernel refuses; when the send buffer stays full for sendPatience, it counts and
// drops the remaining packets of a batch. It skips packets for connections and for far ends at
// other nodes. It fails only if the socket is closed or broken.
func (u *UDP) Write(out Outgoing) error {
	u.mu.Lock()
	defer u.mu.Unlock()
	n := out.Len()
	for from := 0; from < n; from += WriteBatch {
		if err := u.write.batch(out, from, min(from+WriteBatch, n)); err != nil {
			return err
		}
	}
	return nil
}

// sendPatience is how long one batch may wait for room in the send buffer.
const sendPatience = 5 * time.Millisecond

// isWakeUp reports whether a datagram is the one with which the original server interrupts
// itself.
func isWakeUp(peer wamble.Peer, data []byte) bool {
	return len(data) == 1 && data[0] == 0 && peer.IP().IsLoopback()
}
