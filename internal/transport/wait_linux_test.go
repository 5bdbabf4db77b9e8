package transport

import (
	"fmt"
	"net"
	"net/netip"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"wamble"
	"wamble/internal/link"
)

// fires reports whether the poller would be woken for a datagram.
func fires(t *testing.T, u *UDP) bool {
	t.Helper()
	fds := []unix.PollFd{{Events: unix.POLLIN | unix.POLLOUT}}
	err := u.socket.epollConn.Control(func(epoll uintptr) {
		fds[0].Fd = int32(epoll)
		if _, err := unix.Poll(fds, 0); err != nil {
			t.Error(err)
		}
	})
	if err != nil {
		t.Fatal(err)
	}
	return fds[0].Revents != 0
}

// TestBellRingsForWhoeverWaits: the poller is woken by the first datagram that comes while a
// reader waits, and by no other that comes or leaves.
func TestBellRingsForWhoeverWaits(t *testing.T) {
	u, err := ListenUDP(netip.MustParseAddrPort("127.0.0.1:0"), UDPOptions{})
	if err != nil {
		t.Fatal(err)
	}
	defer u.Close()
	other, err := net.DialUDP("udp", nil, net.UDPAddrFromAddrPort(u.LocalAddr()))
	if err != nil {
		t.Fatal(err)
	}
	defer other.Close()
	say := func() {
		t.Helper()
		if _, err := other.Write([]byte("hello")); err != nil { // it is there when Write returns
			t.Fatal(err)
		}
	}
	take := func(until time.Time, want int) {
		t.Helper()
		if packets, err := u.Read(until); err != nil || len(packets) != want {
			t.Fatalf("read %d packets and %v, want %d", len(packets), err, want)
		}
	}

	say()
	if fires(t, u) {
		t.Error("it fires for a datagram that nobody waits for")
	}
	take(time.Now().Add(time.Hour), 1) // there at once: the epoll is not needed

	waited := make(chan struct{})
	go func() {
		defer close(waited)
		if packets, err := u.Read(time.Now().Add(time.Hour)); err != nil || len(packets) != 1 {
			t.Errorf("whoever waited read %d packets and %v", len(packets), err)
		}
	}()
	for set := false; !set; {
		u.socket.epollConn.Control(func(epoll uintptr) { set = armed(t, epoll) })
	}
	say()
	<-waited
	for range 3 {
		say()
	}
	var out link.Batch
	out.Send(wamble.Peer{Addr: other.LocalAddr().(*net.UDPAddr).AddrPort()}, []byte("answer"))
	if err := u.Write(&out); err != nil {
		t.Fatal(err)
	}
	if fires(t, u) {
		t.Error("it fires once more for a reader that has returned")
	}
	take(time.Time{}, 3)
	take(time.Now().Add(time.Millisecond), 0)
}

// TestAllocsBell: waiting for a datagram allocates nothing.
func TestAllocsBell(t *testing.T) {
	u, err := ListenUDP(netip.MustParseAddrPort("127.0.0.1:0"), UDPOptions{})
	if err != nil {
		t.Fatal(err)
	}
	defer u.Close()
	u.socket.epollConn.Control(func(epoll uintptr) {
		u.socket.raw.Control(func(fd uintptr) {
			if n := testing.AllocsPerRun(100, func() {
				if err := u.socket.arm(epoll, fd); err != nil {
					t.Fatal(err)
				}
				u.socket.disarm(epoll)
			}); n != 0 {
				t.Errorf("%v allocations", n)
			}
		})
	})
}

// armed asks the kernel whether an epoll waits for a datagram.
func armed(t *testing.T, epoll uintptr) bool {
	t.Helper()
	info, err := os.ReadFile(fmt.Sprintf("/proc/self/fdinfo/%d", epoll))
	if err != nil {
		t.Fatal(err)
	}
	// tfd: 7 events: 40000001 data: …
	_, after, _ := strings.Cut(string(info), "events:")
	fields := strings.Fields(after)
	if len(fields) == 0 {
		t.Fatalf("no socket in %q", info)
	}
	mask, err := strconv.ParseUint(fields[0], 16, 32)
	if err != nil {
		t.Fatal(err)
	}
	return mask&unix.EPOLLIN != 0
}

// TestSocketWithoutDescriptor: a socket without a descriptor is an error.
func TestSocketWithoutDescriptor(t *testing.T) {
	conn, err := net.ListenUDP("udp", &net.UDPAddr{IP: net.IPv4(127, 0, 0, 1)})
	if err != nil {
		t.Fatal(err)
	}
	conn.Close()
	if _, err := newSocket(conn); err == nil {
		t.Error("a closed socket was taken")
	}
}
