package transport

import (
	"encoding/binary"
	"fmt"
	"io"
	"net"
	"net/netip"
	"os"
	"os/exec"
	"testing"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"

	"wamble"
	"wamble/wire"
)

// The loader plays many clients, each with a source address of its own in
// 127.0.0.0/8, from one socket with batched system calls, so that it costs less
// than what it measures. It runs in a process of its own: the test binary,
// called with this variable.
const loaderVariable = "WAMBLE_TEST_LOADER"

func TestMain(m *testing.M) {
	if target := os.Getenv(loaderVariable); target != "" {
		runLoader(netip.MustParseAddrPort(target))
		return
	}
	os.Exit(m.Run())
}

// loaderClients is how many clients play at the same time, each with one move
// under way.
const loaderClients = 256

// startLoader runs the loader against address until the test ends.
func startLoader(tb testing.TB, address netip.AddrPort) {
	tb.Helper()
	exe, err := os.Executable()
	if err != nil {
		tb.Fatal(err)
	}
	cmd := exec.Command(exe)
	cmd.Env = append(os.Environ(), loaderVariable+"="+address.String(), "GOMAXPROCS=2")
	cmd.Stderr = os.Stderr
	stdin, err := cmd.StdinPipe()
	if err != nil {
		tb.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() {
		stdin.Close()
		cmd.Wait()
	})
}

// runLoader is the loader's process. It ends with its standard input.
func runLoader(target netip.AddrPort) {
	go func() {
		io.Copy(io.Discard, os.Stdin)
		os.Exit(0)
	}()
	s := openSpoofer(target)
	hello, _ := wire.Append(nil, wire.Header{}, wire.ClientHello{})
	clients := make([]loaderClient, loaderClients)
	for i := range clients {
		s.add(uint32(i), hello)
		clients[i].seq = 1
	}
	wire.SetSeq(hello, 1)
	s.flush()
	uci, _ := wire.MakeUCI("e2e4")
	move, _ := wire.Append(nil, wire.Header{Board: 1}, wire.PlayerMove{UCI: uci})
	ack, _ := wire.Append(nil, wire.Header{}, wire.Ack{})
	for {
		packets, err := s.udp.Read(time.Now().Add(time.Second))
		if err != nil {
			fmt.Fprintln(os.Stderr, "loader:", err)
			os.Exit(1)
		}
		if len(packets) == 0 { // something was lost: everybody asks again
			for i := range clients {
				clients[i].ask(s, uint32(i), hello, move)
			}
		}
		for _, p := range packets {
			switch wire.Control(p.Data[0]) {
			case wire.CtrlServerHello, wire.CtrlBoardUpdate:
			default:
				continue
			}
			i := binary.BigEndian.Uint32(p.Data[4:])
			c := &clients[i]
			copy(c.token[:], p.Data[4:20])
			copy(ack[1:32], p.Data[1:32])
			ack[1] = 0
			s.add(i, ack)
			c.seq++
			c.ask(s, i, hello, move)
		}
		s.flush()
	}
}

type loaderClient struct {
	token wamble.Token
	seq   uint32
}

// ask sends the client's move, or its hello while it has no session.
func (c *loaderClient) ask(s *spoofer, i uint32, hello, move []byte) {
	packet := move
	if c.token.IsZero() {
		packet = hello
	}
	copy(packet[4:20], c.token[:])
	wire.SetSeq(packet, c.seq)
	s.add(i, packet)
}

// spoofer sends packets from any source address of 127.0.0.0/8.
type spoofer struct {
	udp      *UDP
	target   unix.RawSockaddrInet4
	headers  [WriteBatch]mmsghdr
	vectors  [WriteBatch]unix.Iovec
	controls [WriteBatch]packetInfo
	buffers  [WriteBatch][128]byte
	n        int
}

// packetInfo is a control message that chooses the source address.
type packetInfo struct {
	header unix.Cmsghdr
	info   unix.Inet4Pktinfo
	_      [4]byte
}

func openSpoofer(target netip.AddrPort) *spoofer {
	u, err := ListenUDP(netip.MustParseAddrPort("0.0.0.0:0"), UDPOptions{})
	if err != nil {
		panic(err)
	}
	s := &spoofer{udp: u}
	s.target.Family, s.target.Port = unix.AF_INET, swap16(target.Port())
	s.target.Addr = target.Addr().As4()
	for i := range s.headers {
		c := &s.controls[i]
		c.header.Level, c.header.Type = unix.IPPROTO_IP, unix.IP_PKTINFO
		c.header.SetLen(unix.CmsgLen(unix.SizeofInet4Pktinfo))
		h := &s.headers[i].hdr
		h.Name = (*byte)(unsafe.Pointer(&s.target))
		h.Namelen = unix.SizeofSockaddrInet4
		h.Iov = &s.vectors[i]
		h.SetIovlen(1)
		h.Control = (*byte)(unsafe.Pointer(c))
		h.SetControllen(unix.CmsgSpace(unix.SizeofInet4Pktinfo))
		s.vectors[i].Base = &s.buffers[i][0]
	}
	return s
}

// add queues a packet from client i, whose address is 127.x.y.z of i.
func (s *spoofer) add(i uint32, packet []byte) {
	if s.n == WriteBatch {
		s.flush()
	}
	n := copy(s.buffers[s.n][:], packet)
	s.vectors[s.n].SetLen(n)
	i += 0x10002 // 127.1.0.2 and up
	s.controls[s.n].info.Spec_dst = [4]byte{127, byte(i >> 16), byte(i >> 8), byte(i)}
	s.n++
}

func (s *spoofer) flush() {
	from := 0
	err := s.udp.raw.Write(func(fd uintptr) bool {
		for from < s.n {
			n, _, errno := unix.Syscall6(unix.SYS_SENDMMSG, fd,
				uintptr(unsafe.Pointer(&s.headers[from])), uintptr(s.n-from), unix.MSG_DONTWAIT, 0, 0)
			switch errno {
			case 0:
				from += int(n)
			case unix.EAGAIN:
				return false
			default: // an address like 127.255.255.255 that no packet comes from
				from++
			}
		}
		return true
	})
	if err != nil && !isClosed(err) {
		panic(err)
	}
	s.n = 0
}

func isClosed(err error) bool {
	op, ok := err.(*net.OpError)
	return ok && op.Err == net.ErrClosed
}

// cleanups is a test whose cleanups can be run early.
type cleanups struct {
	testing.TB
	todo []func()
}

func (c *cleanups) Cleanup(f func()) { c.todo = append(c.todo, f) }

func (c *cleanups) run() {
	for _, f := range c.todo {
		f()
	}
	c.todo = nil
}

// netipLoopback is a socket's address for a client on this machine.
func netipLoopback(u *UDP) netip.AddrPort {
	return netip.AddrPortFrom(netip.AddrFrom4([4]byte{127, 0, 0, 1}), u.LocalAddr().Port())
}
