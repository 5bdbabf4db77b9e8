package transport

import (
	"net"
	"os"
)

// Bound reports whether a socket is bound to a port number; 0 is any.
func Bound(socket *os.File, number uint16) bool {
	if pc, err := net.FilePacketConn(socket); err == nil {
		defer pc.Close()
		a, ok := pc.LocalAddr().(*net.UDPAddr)
		return ok && (number == 0 || a.Port == int(number))
	}
	l, err := net.FileListener(socket)
	if err != nil {
		return false
	}
	defer l.Close()
	a, ok := l.Addr().(*net.TCPAddr)
	return ok && (number == 0 || a.Port == int(number))
}
