package transport

import (
	"errors"
	"fmt"
	"syscall"
)

// control prepares a socket before it is bound; nil does nothing.
type control = func(network, address string, c syscall.RawConn) error

// Beside is Renew for a number that other ports of this process have on other
// addresses, as when a port moves from one address to all of them: the kernel
// refuses that unless all of them have SO_REUSEPORT. While both are open, what is
// sent to the narrower address arrives at its port.
func Beside(others []*Port, udp, tcp *Port, o Options) (*Port, error) {
	return only(BesideShards(others, udp, tcp, o, 1))
}

// BesideShards is Beside for n loops.
func BesideShards(others []*Port, udp, tcp *Port, o Options, n int) (ports []*Port, err error) {
	var sockets []syscall.Conn
	for _, other := range others {
		sockets = append(sockets, other.alone()...)
	}
	defer func() {
		if err == nil {
			sockets = append(sockets, ports[0].alone()...)
		}
		// From now on no other process, not even of the same user, may bind it.
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

// alone returns the sockets of a port that share their number with no other: several
// shards share that of UDP as long as they live.
func (p *Port) alone() []syscall.Conn {
	if p.shards.many() {
		return []syscall.Conn{p.TCP()}
	}
	return []syscall.Conn{p.udp, p.tcp}
}

// reusePort is the control of a socket that shares its number.
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
