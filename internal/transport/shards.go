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

// shards are the ports of one number, one for each loop of a profile: a packet goes
// to the one that its token names (wamble.Token.Shard), one without a token to any
// that is open.
//
//	              program of the kernel: the token's last byte
//	UDP ──┬─ socket 0 ── Receive 0 ─┐ ┌─ loop 0
//	      └─ socket 1 ── Receive 1 ─┼─┼─ loop 1
//	                                │ │
//	          another one's: forward└▶│ inbox 1 ◀── Conn
type shards struct {
	ports  []*Port                // a power of two; the first has TCP and the gateway
	open   atomic.Uint64          // bit k: shard k takes packets without a token
	joined atomic.Pointer[joined] // nil: there are no other nodes
	// waited: since the first shard was open alone, packets may wait in its socket which
	// are for all that are open now.
	waited atomic.Bool
}

// fewWaited is fewer packets than are read at once of a socket in which more wait.
const fewWaited = 16

// many reports whether there is more than one.
func (s *shards) many() bool { return len(s.ports) > 1 }

// ListenShards is Listen for n loops, a power of two: it returns n ports on one
// number. Each has a UDP socket and an inbox of its own, and the kernel chooses the
// socket by the token of a datagram; the first port has TCP, HTTP and the WebSocket
// too. With n = 1 it is Listen.
//
// On Linux the sockets share their number by SO_REUSEPORT, as long as they live, or
// else the kernel would not choose among them. So a program of the same user that
// asks for SO_REUSEPORT may bind the number as well, and takes some of the new
// players; one that does not ask for it, as every other server of ours, may not.
//
// Elsewhere the first port has the number, and passes on what is for the others:
// their sockets are private ones on loopback.
func ListenShards(o Options, n int) ([]*Port, error) {
	// With port 0 the kernel chooses for TCP; the number may be taken for UDP.
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

// AdoptShards is Adopt for n loops. Inherited sockets are those of the first loops,
// in this order; those that are missing are bound. More than n are refused: what is
// sent to them would be lost.
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

// adoptUDPs takes over sockets of one number. It closes the files.
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
		if o.Off { // the others get the number of the new one
			closeFiles(files[i+1:])
			break
		}
	}
	return udps, nil
}

// newPorts returns the ports of n loops on a listener and the first of their sockets,
// all of which it closes after an error.
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
	s.setOpen(n)
	return s.ports, nil
}

// share binds the sockets that are missing of n beside the first ones. After an error
// all are closed. The first was bound without SO_REUSEPORT: the number was free.
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

// SetOpen says that only the first n shards take packets without a token: those of new
// players. At first all do. Any of the ports may be told; one goroutine at a time.
func (p *Port) SetOpen(n int) { p.shards.setOpen(n) }

// SetOpenShards is SetOpen for any of the shards: bit k says that shard k does. Without any
// such packets go to all, for nodes that have them.
func (p *Port) SetOpenShards(mask uint64) { p.shards.setMask(mask) }

// Open is how many shards take packets without a token.
func (p *Port) Open() int { return bits.OnesCount64(p.shards.open.Load()) }

// IsOpen reports whether a shard takes packets without a token.
func (p *Port) IsOpen(shard int) bool { return p.shards.open.Load()&(1<<shard) != 0 }

func (s *shards) setOpen(n int) { s.setMask(firstShards(max(1, min(n, len(s.ports))))) }

// firstShards is the mask of the first n.
func firstShards(n int) uint64 { return 1<<n - 1 }

func (s *shards) setMask(mask uint64) {
	mask &= firstShards(len(s.ports))
	if s.open.Load() == 1 && mask > 1 {
		s.waited.Store(true)
	}
	if was := s.open.Swap(mask); s.many() && (was == 0 || (was == 1) != (mask == 1)) {
		// Without it, or if the order of the sockets is another one because one was
		// closed, the loops forward to each other.
		s.ports[0].udp.steer(len(s.ports), mask == 1)
	}
}

// choose chooses one of the open shards by a number. If none is open it is one that another
// node has.
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

// Shards returns the ports of all loops that share the number of p, p among them.
func (p *Port) Shards() []*Port { return p.shards.ports }

// tokenOf returns the token of a packet, zero if it is too short to have one.
func tokenOf(packet []byte) (t wamble.Token) {
	if len(packet) >= wire.HeaderSize {
		t = wamble.Token(packet[wire.TokenOffset:])
	}
	return t
}

// keep passes on the datagrams that are for other shards, and returns the rest.
func (p *Port) keep(packets []Packet) []Packet {
	waited := p.index == 0 && p.shards.waited.Load()
	if waited && len(packets) < fewWaited {
		p.shards.waited.Store(false) // this is the rest
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

// hashAddress spreads far ends: the packets of one always go to the same shard.
func hashAddress(a netip.AddrPort) uint64 {
	ip := a.Addr().As16()
	h := binary.LittleEndian.Uint64(ip[:8])
	for _, v := range [...]uint64{binary.LittleEndian.Uint64(ip[8:]), uint64(a.Port())} {
		h = (h ^ v) * 0x9E3779B97F4A7C15
		h ^= h >> 32
	}
	return h
}

// put leaves a packet of a connection at its shard. One without a token goes to a
// shard that the connection keeps while it is open.
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
		from.tell(k)
	}
	s.ports[k].inbox.put(from, packet)
}

// end tells every shard that has got packets of a connection that it is gone; the
// first, if none has.
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
