package transport

import (
	"errors"
	"fmt"
	"syscall"
)

// control prepares a socket before it is bound; nil for none.
type control = func(network, address string, c syscall.RawConn) error

// ListenBeside is RenewShards for a port number that other ports of this process use on other addresses, as
// when a port moves from one address to all of them. The kernel refuses that unless all sockets
// have SO_REUSEPORT. While both ports are open, datagrams to the narrower address arrive at its
// port.
func ListenBeside(others []*Port, udp, tcp *Port, o Options) (*Port, error) {
	return only(ListenShardsBeside(others, udp, tcp, o, 1))
}

// ListenShardsBeside is ListenBeside for n loops.
func ListenShardsBeside(others []*Port, udp, tcp *Port, o Options, n int) (ports []*Port, err error) {
	var sockets []syscall.Conn
	for _, other := range others {
		sockets = append(sockets, other.exclusiveSockets()...)
	}
	defer func() {
		if err == nil {
			sockets = append(sockets, ports[0].exclusiveSockets()...)
		}
		// From now on no other process may bind the number, not even one of the same user.
		if no := setReusePorts(sockets, false); no != nil && err == nil {
			closePorts(ports)
			ports, err = nil, no
		}
	}()
	if err := setReusePorts(sockets, true); err != nil {
		return nil, err
	}
	o.UDP.reusePort = reusePort
	return RenewShards(udp, tcp, o, n)
}

// exclusiveSockets returns the sockets of a port that normally have no SO_REUSEPORT: TCP, and UDP unless
// several shards share its number.
func (p *Port) exclusiveSockets() []syscall.Conn {
	if p.shards.many() {
		return []syscall.Conn{p.TCP()}
	}
	return []syscall.Conn{p.udp, p.tcp}
}

// reusePort is the control function of a socket that shares its port number.
func reusePort(_, _ string, c syscall.RawConn) error { return setReusePort(c, true) }

func setReusePorts(sockets []syscall.Conn, on bool) error {
	var errs []error
	for _, s := range sockets {
		raw, err := s.SyscallConn()
		if err == nil {
			err = setReusePort(raw, on)
		}
		errs = append(errs, err)
	}
	if err := errors.Join(errs...); err != nil {
		return fmt.Errorf("share a port number: %w", err)
	}
	return nil
}
