package transport

import (
	"net"
	"os"
)

// Bound reports whether a socket is a UDP socket or TCP listener bound to a port number; number
// 0 matches any port.
func Bound(socket *os.File, number uint16) bool {
	port := datagramPort(socket)
	if port == 0 {
		port = streamPort(socket)
	}
	return port != 0 && (number == 0 || port == int(number))
}

// Datagrams reports whether a file is a bound UDP socket, Streams whether it is a
// TCP listener.
func Datagrams(f *os.File) bool { return datagramPort(f) != 0 }
func Streams(f *os.File) bool   { return streamPort(f) != 0 }

func datagramPort(f *os.File) int {
	conn, err := net.FilePacketConn(f)
	if err != nil {
		return 0
	}
	defer conn.Close()
	if a, ok := conn.LocalAddr().(*net.UDPAddr); ok {
		return a.Port
	}
	return 0
}

func streamPort(f *os.File) int {
	l, err := net.FileListener(f)
	if err != nil {
		return 0
	}
	defer l.Close()
	if a, ok := l.Addr().(*net.TCPAddr); ok {
		return a.Port
	}
	return 0
}
