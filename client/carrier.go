package client

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"net/url"
	"syscall"

	"wamble"
	"wamble/internal/transport"
)

// carrier is a connection to the server: a UDP socket or a WebSocket connection. One goroutine
// calls Next, one calls Send.
type carrier interface {
	// Send sends a packet without blocking. A packet that cannot be sent is lost.
	Send(to wamble.Peer, packet []byte)
	// Next waits for a packet, which is valid until the next call. After syscall.ECONNREFUSED
	// it may be called again.
	Next() ([]byte, error)
	// End closes the carrier after Next returned err, and waits until its goroutines have
	// ended. Interrupt makes Next return.
	End(err error)
	Interrupt()
	Peer() wamble.Peer
}

// parseAddress checks the scheme and host of a server's address.
func parseAddress(address string) (*url.URL, error) {
	u, err := url.Parse(address)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrAddress, err)
	}
	switch u.Scheme {
	case "udp":
		if u.Port() == "" || (u.Path != "" && u.Path != "/") {
			return nil, fmt.Errorf("%w %q: want udp://host:port", ErrAddress, address)
		}
	case "ws", "wss":
	default:
		return nil, fmt.Errorf("%w %q: want udp://, ws:// or wss://", ErrAddress, address)
	}
	if u.Hostname() == "" {
		return nil, fmt.Errorf("%w %q: no host", ErrAddress, address)
	}
	return u, nil
}

func openCarrier(ctx context.Context, u *url.URL, config *tls.Config) (carrier, error) {
	if u.Scheme == "udp" {
		return openUDP(ctx, u.Host)
	}
	c, err := transport.DialWebSocket(ctx, u, config, transport.Timing{})
	if err != nil {
		return nil, err
	}
	return streamCarrier{c}, nil
}

// udpCarrier is a connected socket: the kernel drops packets from other addresses.
type udpCarrier struct {
	conn   *net.UDPConn
	peer   wamble.Peer
	buffer [transport.MaxPacket]byte
}

func openUDP(ctx context.Context, host string) (*udpCarrier, error) {
	c, err := (&net.Dialer{}).DialContext(ctx, "udp", host)
	if err != nil {
		return nil, err
	}
	conn := c.(*net.UDPConn)
	remote := conn.RemoteAddr().(*net.UDPAddr).AddrPort()
	remote = netip.AddrPortFrom(remote.Addr().Unmap(), remote.Port())
	return &udpCarrier{conn: conn, peer: wamble.Peer{Addr: remote}}, nil
}

// Send tries twice, because the first try may only report that the port was closed when an
// earlier packet arrived.
func (u *udpCarrier) Send(_ wamble.Peer, packet []byte) {
	if _, err := u.conn.Write(packet); errors.Is(err, syscall.ECONNREFUSED) {
		u.conn.Write(packet)
	}
}

func (u *udpCarrier) Next() ([]byte, error) {
	n, err := u.conn.Read(u.buffer[:])
	return u.buffer[:n], err
}

func (u *udpCarrier) End(error)         { u.conn.Close() }
func (u *udpCarrier) Interrupt()        { u.conn.Close() }
func (u *udpCarrier) Peer() wamble.Peer { return u.peer }

// streamCarrier is a WebSocket connection.
type streamCarrier struct{ *transport.Conn }

func (s streamCarrier) Send(_ wamble.Peer, packet []byte) { s.Conn.Send(packet) }
func (s streamCarrier) End(err error)                     { s.Finish(err) }
func (s streamCarrier) Interrupt()                        { s.Close(transport.CloseNormal, "") }

// restarting reports whether the server closed the connection because it restarts, and may be
// connected to at once.
func restarting(err error) bool {
	closed, ok := errors.AsType[*transport.CloseError](err)
	return ok && closed.Remote && closed.Code == transport.CloseGoingAway
}
