package transport

import (
	"encoding/binary"
	"errors"
	"io"
	"net"
	"net/netip"
	"sync"
	"time"
)

// The header of the PROXY protocol, version 2:
//
//	12 bytes  signature
//	 1        version (4 bits, 2) and command (0 LOCAL: the proxy itself; 1 PROXY)
//	 1        family (4 bits: 1 IPv4, 2 IPv6) and kind of socket (1 stream)
//	 2        length of what follows
//	          source, destination, their ports, and extensions, which are skipped
const (
	proxySignature = "\r\n\r\n\x00\r\nQUIT\n"
	proxyHead      = len(proxySignature) + 4
	proxyTCP4      = 0x11
	proxyTCP6      = 0x21
)

var (
	errProxyHeader = errors.New("a bad header of the PROXY protocol")
	errNoSlot      = errors.New("too many connections from this address")
)

// introduction is the PROXY protocol header that a trusted proxy may send first on a
// connection, and which names its client. It is read on the first Read or RemoteAddr.
type introduction struct {
	patience time.Duration
	once     sync.Once
	from     netip.AddrPort // the client; invalid if the proxy sent no header, and may name clients in the head of each request
	unread   []byte         // bytes that were read and are not part of a header
	err      error
}

// read reads the header, if there is one, and assigns the place to the client's host.
func (i *introduction) read(c *net.TCPConn, p *slot) {
	i.once.Do(func() {
		c.SetReadDeadline(time.Now().Add(i.patience))
		i.from, i.unread, i.err = readProxyHeader(c)
		c.SetReadDeadline(time.Time{})
		if i.from.IsValid() && i.err == nil && !p.moveFinal(i.from.Addr()) {
			i.err = errNoSlot
			reset(c)
		}
	})
}

// readProxyHeader reads a header, if one is sent, and returns the client's address. Otherwise
// rest has the few bytes that were read to find out: no request and no TLS handshake begins
// like the signature.
func readProxyHeader(r io.Reader) (from netip.AddrPort, rest []byte, err error) {
	head := make([]byte, proxyHead)
	for n := 0; n < len(head); {
		got, err := r.Read(head[n:])
		n += got
		if begun := head[:min(n, len(proxySignature))]; string(begun) != proxySignature[:len(begun)] {
			return from, head[:n], nil
		}
		if err != nil && n < len(head) {
			if n == 0 {
				return from, nil, err
			}
			return from, nil, errProxyHeader
		}
	}
	command, family := head[12], head[13]
	length := int(binary.BigEndian.Uint16(head[14:]))
	var addresses [36]byte
	size, ip := 0, 0
	switch {
	case command == 0x20, command == 0x21 && family != proxyTCP4 && family != proxyTCP6:
	case command != 0x21:
		return from, nil, errProxyHeader
	case family == proxyTCP4:
		size, ip = 12, 4
	default:
		size, ip = 36, 16
	}
	if length < size {
		return from, nil, errProxyHeader
	}
	if _, err := io.ReadFull(r, addresses[:size]); err != nil {
		return from, nil, errProxyHeader
	}
	if _, err := io.CopyN(io.Discard, r, int64(length-size)); err != nil {
		return from, nil, errProxyHeader
	}
	if size > 0 {
		source, _ := netip.AddrFromSlice(addresses[:ip])
		from = netip.AddrPortFrom(source.Unmap(), binary.BigEndian.Uint16(addresses[2*ip:]))
	}
	return from, nil, nil
}
