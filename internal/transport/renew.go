package transport

import (
	"fmt"
	"net"
	"net/netip"
	"os"
	"syscall"
)

// RenewShards returns ports of n loops with options o that take their UDP sockets and their TCP listener from open
// ports; a nil port means that new sockets are bound. Udp is any port of several shards: up to n of their sockets are
// taken, and missing ones are bound. A socket that is taken is never unbound: the new port reads what is queued in it.
// The old port still has the socket; it should not be read any more, and be shut down.
func RenewShards(udp, tcp *Port, o Options, n int) ([]*Port, error) {
	if udp == nil && tcp == nil {
		return ListenShards(o, n)
	}
	udps, err := renewUDP(udp, tcp, o, n)
	if err != nil {
		return nil, err
	}
	t, err := renewTCP(tcp, udps[0], o)
	if err != nil {
		closeUDP(udps)
		return nil, err
	}
	return newPorts(udps, t, o, n)
}

func renewUDP(old, tcp *Port, o Options, n int) ([]*UDP, error) {
	if old == nil {
		address := o.Address
		if address.Port() == 0 && o.TCPPort == 0 {
			address = netip.AddrPortFrom(address.Addr(), tcp.TCPAddr().Port())
		}
		u, err := ListenUDP(address, o.UDP)
		return []*UDP{u}, err
	}
	var files []*os.File
	for _, p := range old.shards.ports[:min(n, len(old.shards.ports))] {
		file, err := Duplicate(p.udp)
		if err != nil {
			closeFiles(files)
			return nil, err
		}
		files = append(files, file)
	}
	return adoptUDPs(files, o.UDP)
}

func renewTCP(old *Port, udp *UDP, o Options) (*net.TCPListener, error) {
	if old == nil {
		number := o.TCPPort
		if number == 0 {
			number = udp.LocalAddr().Port()
		}
		return listenTCP(o.Address.Addr(), number, o.UDP.reusePort)
	}
	file, err := Duplicate(old.TCP())
	if err != nil {
		return nil, err
	}
	return adoptTCP(file)
}

// Duplicate returns a new descriptor of a socket, without changing the socket.
func Duplicate(c syscall.Conn) (*os.File, error) {
	raw, err := c.SyscallConn()
	if err != nil {
		return nil, fmt.Errorf("duplicate a socket: %w", err)
	}
	var fd int
	var inner error
	err = raw.Control(func(s uintptr) {
		syscall.ForkLock.RLock() // a child process must not inherit the descriptor between the two calls
		defer syscall.ForkLock.RUnlock()
		if fd, inner = syscall.Dup(int(s)); inner == nil {
			syscall.CloseOnExec(fd)
		}
	})
	if err == nil {
		err = inner
	}
	if err != nil {
		return nil, fmt.Errorf("duplicate a socket: %w", err)
	}
	return os.NewFile(uintptr(fd), "socket"), nil
}
