package transport

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math/bits"
	"net"
	"net/netip"
	"os"
	"sync/atomic"
	"syscall"

	"wamble"
	"wamble/wire"
)

// MaxShards is how many ports may share a number.
const MaxShards = 64

// shards are the ports of one number, one for each loop of a profile. A packet goes to the
// shard that its token names (wamble.Token.Shard), a packet without a token to any open shard.
//
//	              program of the kernel: the token's last byte
//	UDP ──┬─ socket 0 ── Receive 0 ─┐ ┌─ loop 0
//	      └─ socket 1 ── Receive 1 ─┼─┼─ loop 1
//	                                │ │
//	    for another shard: forward ─┴▶│ inbox 1 ◀── Conn
type shards struct {
	ports   []*Port                     // a power of two; the first has TCP and the gateway
	open    atomic.Uint64               // bit k: shard k takes packets without a token
	cluster atomic.Pointer[clusterLink] // nil without a cluster
	// waited is set when further shards open after only the first was open: packets without a
	// token that are queued in its socket then belong to all open shards.
	waited atomic.Bool
}

// fewWaited is a size of a batch that shows that the socket's queue is empty.
const fewWaited = 16

// many reports whether there is more than one shard.
func (s *shards) many() bool { return len(s.ports) > 1 }

// ListenShards is Listen for n loops, n a power of two: it returns n ports on one number. Each
// has a UDP socket and an inbox; the kernel chooses the socket by a datagram's token. The first
// port also has TCP, HTTP and the WebSocket.
//
// On Linux the sockets share their number by SO_REUSEPORT while they are open. So another
// program of the same user that sets SO_REUSEPORT can bind the number too, and receives some of
// the new players' datagrams; a program that does not set it, such as another Wamble server,
// cannot.
//
// On other systems only the first port has the number, and forwards datagrams for the others,
// whose sockets are private ones on loopback.
func ListenShards(o Options, n int) ([]*Port, error) {
	// With port 0 the kernel chooses a number for TCP that may be taken for UDP: then try
	// another one.
	const attempts = 64
	var err error
	for range attempts {
		var ports []*Port
		if ports, err = listenOnce(o, n); err == nil {
			return ports, nil
		}
		if o.Address.Port() != 0 || !errors.Is(err, syscall.EADDRINUSE) {
			break
		}
	}
	return nil, err
}

// AdoptShards takes over the open sockets of ports that another process image has bound, for n loops. It closes the
// files; the sockets stay open. The inherited sockets belong to the first loops, in this
// order; missing ones are bound. More than n sockets are an error, because datagrams to the
// excess ones would be lost.
func AdoptShards(udp []*os.File, tcp *os.File, o Options, n int) ([]*Port, error) {
	if len(udp) == 0 || len(udp) > n {
		closeFiles(append(udp, tcp))
		return nil, fmt.Errorf("adopt descriptors: %d UDP sockets for %d shards", len(udp), n)
	}
	udps, err := adoptUDPs(udp, o.UDP)
	if err != nil {
		tcp.Close()
		return nil, err
	}
	t, err := adoptTCP(tcp)
	if err != nil {
		closeUDP(udps)
		return nil, err
	}
	return newPorts(udps, t, o, n)
}

// adoptUDPs takes over the sockets of one number and closes the files. It returns one private
// socket if UDP is off.
func adoptUDPs(files []*os.File, o UDPOptions) ([]*UDP, error) {
	var udps []*UDP
	for i, file := range files {
		u, err := adoptUDP(file, o)
		if err == nil {
			udps = append(udps, u)
			if sharesNumber && !o.Off && u.local != udps[0].local {
				err = fmt.Errorf("adopt descriptors: UDP sockets on %s and %s", udps[0].local, u.local)
			}
		}
		if err != nil {
			closeFiles(files[i+1:])
			closeUDP(udps)
			return nil, err
		}
		if o.Off { // one new socket replaces all
			closeFiles(files[i+1:])
			break
		}
	}
	return udps, nil
}

// newPorts returns the ports of n loops on a TCP listener and the first of their UDP sockets.
// On an error it closes all of them.
func newPorts(udps []*UDP, tcp *net.TCPListener, o Options, n int) ([]*Port, error) {
	if bits.OnesCount(uint(n)) != 1 || n > MaxShards {
		closeUDP(udps)
		tcp.Close()
		return nil, fmt.Errorf("%d shards: they are a power of two, at most %d", n, MaxShards)
	}
	udps, err := share(udps, n, o.UDP)
	if err != nil {
		tcp.Close()
		return nil, err
	}
	s := &shards{}
	for k, u := range udps {
		u.sources = udps[0].sources // a shard answers what another one's socket has received
		s.ports = append(s.ports, newPort(u, s, k))
	}
	first := s.ports[0]
	first.listens(tcp, o)
	for _, p := range s.ports {
		p.first = first
		if !sharesNumber {
			p.via = first.udp
		}
		for _, other := range s.ports {
			if other != p {
				p.inbox.others = append(p.inbox.others, other.inbox)
			}
		}
	}
	s.setMask(firstShards(n))
	return s.ports, nil
}

// share adds the missing sockets of n, bound to the address of the first. On an error it closes
// all. The first was bound without SO_REUSEPORT, which proves that the number was free.
func share(udps []*UDP, n int, o UDPOptions) ([]*UDP, error) {
	if n == 1 {
		return udps, nil
	}
	address := udps[0].LocalAddr()
	if o.Off = !sharesNumber; sharesNumber {
		o.reusePort = reusePort
		for _, u := range udps {
			if err := setReusePorts([]syscall.Conn{u}, true); err != nil {
				closeUDP(udps)
				return nil, err
			}
		}
	}
	for len(udps) < n {
		u, err := ListenUDP(address, o)
		if err != nil {
			closeUDP(udps)
			return nil, err
		}
		udps = append(udps, u)
	}
	return udps, nil
}

// SetOpenShards makes only some shards take packets without a token, which new players send: bit k of mask opens
// shard k. At first all shards are open. With mask 0 such packets are spread over all shards, whose loops other
// nodes run. It acts on all shards of p; one goroutine at a time may call it.
func (p *Port) SetOpenShards(mask uint64) { p.shards.setMask(mask) }

// Open returns how many shards take packets without a token.
func (p *Port) Open() int { return bits.OnesCount64(p.shards.open.Load()) }

// IsOpen reports whether a shard takes packets without a token.
func (p *Port) IsOpen(shard int) bool { return p.shards.open.Load()&(1<<shard) != 0 }

// firstShards returns the mask of the first n shards.
func firstShards(n int) uint64 { return 1<<n - 1 }

func (s *shards) setMask(mask uint64) {
	mask &= firstShards(len(s.ports))
	if s.open.Load() == 1 && mask > 1 {
		s.waited.Store(true)
	}
	if was := s.open.Swap(mask); s.many() && (was == 0 || (was == 1) != (mask == 1)) {
		// An error is harmless: the loops then forward datagrams to each other.
		s.ports[0].udp.steer(len(s.ports), mask == 1)
	}
}

// choose maps a number to an open shard, or to any shard if none is open.
func (s *shards) choose(number uint64) int {
	mask := s.open.Load()
	if mask == 0 {
		return int(number % uint64(len(s.ports)))
	}
	for n := number % uint64(bits.OnesCount64(mask)); n > 0; n-- {
		mask &= mask - 1
	}
	return bits.TrailingZeros64(mask)
}

// Shards returns the ports of all loops that share the number of p, including p.
func (p *Port) Shards() []*Port { return p.shards.ports }

// tokenOf returns the token of a packet, zero if the packet is too short.
func tokenOf(packet []byte) (t wamble.Token) {
	if len(packet) >= wire.HeaderSize {
		t = wamble.Token(packet[wire.TokenOffset:])
	}
	return t
}

// forwardOthers forwards the datagrams for other shards and returns the remaining ones.
func (p *Port) forwardOthers(packets []Packet) []Packet {
	waited := p.index == 0 && p.shards.waited.Load()
	if waited && len(packets) < fewWaited {
		p.shards.waited.Store(false) // the socket's queue is empty after this batch
	}
	kept := packets[:0]
	for _, packet := range packets {
		k := p.index
		if t := tokenOf(packet.Data); !t.IsZero() {
			k = t.Shard(len(p.shards.ports))
		} else if waited || !p.IsOpen(k) {
			k = p.shards.choose(hashAddress(packet.Peer.Addr))
		}
		switch {
		case k == p.index:
			kept = append(kept, packet)
		case p.shards.ports[k].inbox.forward(packet):
			p.udp.counts.forwarded.Add(1)
		default:
			p.udp.counts.spilled.Add(1)
		}
	}
	return kept
}

// hashAddress hashes the address of a far end, so that its packets always go to the same shard.
func hashAddress(a netip.AddrPort) uint64 {
	ip := a.Addr().As16()
	h := binary.LittleEndian.Uint64(ip[:8])
	for _, v := range [...]uint64{binary.LittleEndian.Uint64(ip[8:]), uint64(a.Port())} {
		h = (h ^ v) * 0x9E3779B97F4A7C15
		h ^= h >> 32
	}
	return h
}

// put queues a packet of a connection at its shard. Packets without a token go to one shard,
// which the connection keeps while that shard is open.
func (s *shards) put(from *source, packet []byte) {
	k := 0
	if s.many() {
		if t := tokenOf(packet); !t.IsZero() {
			k = t.Shard(len(s.ports))
		} else {
			if from.home < 0 || s.open.Load()&(1<<from.home) == 0 {
				from.home = s.choose(uint64(from.peer.Route))
			}
			k = from.home
		}
		from.noteReceiver(k)
	}
	s.ports[k].inbox.put(from, packet)
}

// end tells every shard that has got packets of a connection, or shard 0 if none has, that the
// connection has ended.
func (s *shards) end(from *source) {
	from.each(func(shard int) { s.ports[shard].inbox.end(from) })
}

// only returns the port of a single loop.
func only(ports []*Port, err error) (*Port, error) {
	if err != nil {
		return nil, err
	}
	return ports[0], nil
}

func closePorts(ports []*Port) {
	for _, p := range ports {
		p.Close()
	}
}

func closeUDP(udps []*UDP) {
	for _, u := range udps {
		u.Close()
	}
}

func closeFiles(files []*os.File) {
	for _, f := range files {
		f.Close()
	}
}
