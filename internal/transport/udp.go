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

// UDP is one datagram socket. An address without a host ("[::]:8888" or
// ":8888") takes IPv4 and IPv6 on the same descriptor, so that there is one
// loop per port and one descriptor to hand over; peers on IPv4 always appear
// in their plain form.
//
// One goroutine at a time may read. Writes may come from several.
type UDP struct {
	socket *socket
	local  netip.AddrPort
	read   *batchReader
	armed  time.Time // the read deadline that was set last
	stale  bool      // armed may no longer be in force

	mu    sync.Mutex // guards write
	write *batchWriter

	node   atomic.Uint32 // that far ends are at; 0: there are no others
	counts udpCounters
}

// udpCounters are written by the reading and the writing side, and read by
// anybody.
type udpCounters struct {
	received, sent, lost, refused, unsent atomic.Uint64
	forwarded, spilled, passed            atomic.Uint64
}

// UDPStats counts datagrams since the socket was opened.
type UDPStats struct {
	Received uint64 // handed to the reader, or forwarded, or spilled
	Sent     uint64 // accepted by the kernel
	Lost     uint64 // dropped by the kernel because the receive buffer was full
	Refused  uint64 // not sent: the kernel refused this one destination
	Unsent   uint64 // not sent: the send buffer stayed full
	// Of one of several shards: datagrams that are for another one.
	Forwarded uint64 // passed on to it
	Spilled   uint64 // lost: too many wait for it already
	// Passed are packets, also of connections, that came through another node.
	Passed uint64
}

// UDPOptions are what a socket can be told.
type UDPOptions struct {
	// Off leaves no socket but one on loopback, at a port that the kernel chooses:
	// for programs of this machine that are told of it.
	Off bool
	// Buffer is the size of the receive and of the send buffer in bytes. Zero
	// asks for the largest that the kernel grants.
	Buffer int

	reusePort control // nil: the number is not shared
}

// largestBuffer is what an unset buffer size asks for. The kernel charges about
// 800 bytes for the shortest datagram, so that this holds some twenty thousand
// of them, more than arrive during a handoff at full load. A larger buffer would
// only make datagrams wait longer.
const largestBuffer = 8 << 20

// ListenUDP opens a socket on address.
func ListenUDP(address netip.AddrPort, o UDPOptions) (*UDP, error) {
	if o.Off {
		address = netip.AddrPortFrom(netip.AddrFrom4([4]byte{127, 0, 0, 1}), 0)
	}
	network := "udp" // an unspecified IPv6 address takes IPv4 as well
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
		// A kernel without IPv6 still has a whole IPv4 internet.
		v4 := netip.AddrPortFrom(netip.IPv4Unspecified(), address.Port())
		conn, err = bind.ListenPacket(context.Background(), "udp4", v4.String())
	}
	if err != nil {
		return nil, fmt.Errorf("listen on udp %s: %w", address, err)
	}
	return newUDP(conn.(*net.UDPConn), o)
}

// adoptUDP is AdoptUDP, unless UDP is off: then what was open is closed.
func adoptUDP(file *os.File, o UDPOptions) (*UDP, error) {
	if o.Off {
		file.Close()
		return ListenUDP(netip.AddrPort{}, o)
	}
	return AdoptUDP(file, o)
}

// AdoptUDP takes over an open socket that another image of this program has
// bound. It closes file; the socket lives on in the UDP.
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
	u.read = newBatchReader(u)
	u.write = newBatchWriter(u, v6)
	return u, nil
}

// LocalAddr is the address that the socket is bound to.
func (u *UDP) LocalAddr() netip.AddrPort { return u.local }

// SyscallConn gives access to the descriptor, to pass it on to another image.
// Never ask the socket for its File instead: that turns it blocking.
func (u *UDP) SyscallConn() (syscall.RawConn, error) { return u.socket.SyscallConn() }

// Close closes the socket. A read that waits returns net.ErrClosed.
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

// Read waits for datagrams until the given time (zero: for ever, past: not at
// all) and returns the ones that are there, at most ReadBatch and possibly
// none; it may return early with none. Only a socket that is closed or broken
// is an error.
func (u *UDP) Read(until time.Time) ([]Packet, error) {
	wait, err := u.arm(until)
	if err != nil {
		return nil, err
	}
	return u.readArmed(wait)
}

// arm sets the time at which a read that waits gives up, and reports whether
// that is in the future. A deadline costs the runtime some work, and the loop
// calls for a slightly later one with every batch: an earlier one that has not
// passed stays, and makes a read return early at most once.
func (u *UDP) arm(until time.Time) (wait bool, err error) {
	now := time.Now()
	wait = until.IsZero() || until.After(now)
	if !wait {
		until = time.Time{} // an expired deadline would hide what has arrived
	}
	valid := u.armed.IsZero() || u.armed.After(now)
	early := !u.armed.IsZero() && (until.IsZero() || !until.Before(u.armed))
	if !u.stale && valid && (early || until.Equal(u.armed)) {
		return wait, nil
	}
	u.armed, u.stale = until, false
	return wait, u.socket.SetReadDeadline(until)
}

// readArmed reads under the deadline that is set.
func (u *UDP) readArmed(wait bool) ([]Packet, error) {
	packets, err := u.read.batch(wait)
	if errors.Is(err, os.ErrDeadlineExceeded) {
		u.stale = true // it has passed, or interrupt moved it
		return nil, nil
	}
	u.counts.received.Add(uint64(len(packets)))
	return packets, err
}

// interrupt ends a read that waits, now or at once when it begins to.
func (u *UDP) interrupt() { u.socket.SetReadDeadline(longAgo) }

var longAgo = time.Unix(1, 0)

// Write sends datagrams in order, WriteBatch to a system call. A destination
// that the kernel refuses is counted and skipped, and when the send buffer
// stays full for sendPatience the rest of a batch is dropped and counted:
// datagrams may be lost, and the caller never waits for the network. Packets
// of connections, and to far ends at other nodes, are left out. Only a closed or broken socket is an error.
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

// isWakeUp reports the datagram with which the original interrupts itself.
func isWakeUp(peer wamble.Peer, data []byte) bool {
	return len(data) == 1 && data[0] == 0 && peer.IP().IsLoopback()
}
