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
func Beside(others []*Port, udp, tcp *Port, o Options) (p *Port, err error) {
	sockets := make([]syscall.Conn, 0, 2*len(others)+2)
	for _, other := range others {
		sockets = append(sockets, other.udp, other.tcp)
	}
	defer func() {
		if p != nil {
			sockets = append(sockets, p.udp, p.tcp)
		}
		// From now on no other process, not even of the same user, may bind it.
		if no := setReusePorts(sockets, false); no != nil && err == nil {
			p.Close()
			p, err = nil, no
		}
	}()
	if err := setReusePorts(sockets, true); err != nil {
		return nil, err
	}
	o.UDP.reusePort = func(_, _ string, c syscall.RawConn) error { return setReusePort(c, true) }
	return Renew(udp, tcp, o)
}

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
