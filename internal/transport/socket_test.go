//go:build unix

package transport

import (
	"bytes"
	"net/netip"
	"os"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"wamble"
)

func listenTestUDP(t testing.TB, address string, o UDPOptions) *UDP {
	t.Helper()
	u, err := ListenUDP(netip.MustParseAddrPort(address), o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { u.Close() })
	return u
}

// collect reads until n packets have come, copying them.
func collect(t testing.TB, u *UDP, n int) []Packet {
	t.Helper()
	var got []Packet
	end := time.Now().Add(patience)
	for len(got) < n {
		packets, err := u.Read(end)
		if err != nil {
			t.Fatal(err)
		}
		if len(packets) == 0 && time.Now().After(end) {
			t.Fatalf("%d packets came, want %d", len(got), n)
		}
		for _, p := range packets {
			got = append(got, Packet{Peer: p.Peer, Data: bytes.Clone(p.Data), At: p.At})
		}
	}
	return got
}

func to(u *UDP, host string) wamble.Peer {
	return wamble.Peer{Addr: netip.AddrPortFrom(netip.MustParseAddr(host), u.LocalAddr().Port())}
}

// duplicate takes a descriptor as a handoff does: without disturbing the socket.
func duplicate(t *testing.T, c interface {
	SyscallConn() (syscall.RawConn, error)
}) *os.File {
	t.Helper()
	raw, err := c.SyscallConn()
	if err != nil {
		t.Fatal(err)
	}
	fd := -1
	var inner error
	if err := raw.Control(func(s uintptr) { fd, inner = unix.FcntlInt(s, unix.F_DUPFD_CLOEXEC, 0) }); err != nil ||
		inner != nil {
		t.Fatal(err, inner)
	}
	return os.NewFile(uintptr(fd), "socket")
}
