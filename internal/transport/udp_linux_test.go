package transport

import (
	"bytes"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"slices"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"wamble"
)

func TestUDPFamilies(t *testing.T) {
	cases := []struct{ name, listen, from, host string }{
		{"dual socket, IPv4", "[::]:0", "127.0.0.1:0", "127.0.0.1"},
		{"dual socket, IPv6", "[::]:0", "[::1]:0", "::1"},
		{"IPv4 socket", "127.0.0.1:0", "127.0.0.1:0", "127.0.0.1"},
		{"IPv6 socket", "[::1]:0", "[::1]:0", "::1"},
		{"all of IPv4", "0.0.0.0:0", "127.0.0.1:0", "127.0.0.1"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			server := listenTestUDP(t, c.listen, UDPOptions{})
			client := listenTestUDP(t, c.from, UDPOptions{})
			if err := client.Write(Packets{{Peer: to(server, c.host), Data: []byte("ping")}}); err != nil {
				t.Fatal(err)
			}
			got := collect(t, server, 1)[0]
			if want := client.LocalAddr(); got.Peer.Addr != want || got.Peer.Stream() {
				t.Errorf("peer %v, want %v over UDP", got.Peer, want)
			}
			if err := server.Write(Packets{{Peer: got.Peer, Data: []byte("pong")}}); err != nil {
				t.Fatal(err)
			}
			if got := collect(t, client, 1)[0]; string(got.Data) != "pong" {
				t.Errorf("answer %q, want pong", got.Data)
			}
		})
	}
}

func TestUDPListenError(t *testing.T) {
	u := listenTestUDP(t, "127.0.0.1:0", UDPOptions{})
	_, err := ListenUDP(u.LocalAddr(), UDPOptions{})
	if !errors.Is(err, syscall.EADDRINUSE) {
		t.Errorf("second socket on %s: %v, want %v", u.LocalAddr(), err, syscall.EADDRINUSE)
	}
}

// A datagram over 1234 bytes is cut, not dropped, and does not touch its
// neighbours.
func TestUDPTruncation(t *testing.T) {
	server := listenTestUDP(t, "127.0.0.1:0", UDPOptions{})
	client := listenTestUDP(t, "127.0.0.1:0", UDPOptions{})
	long := bytes.Repeat([]byte{7}, 3000)
	peer := to(server, "127.0.0.1")
	client.Write(Packets{{Peer: peer, Data: long}, {Peer: peer, Data: long[:MaxPacket]},
		{Peer: peer, Data: []byte("next")}})
	got := collect(t, server, 3)
	for i, want := range [][]byte{long[:MaxPacket], long[:MaxPacket], []byte("next")} {
		if !bytes.Equal(got[i].Data, want) {
			t.Errorf("datagram %d has %d bytes, want %d", i, len(got[i].Data), len(want))
		}
	}
}

// Batches larger than one system call arrive whole and in order.
func TestUDPBatches(t *testing.T) {
	server := listenTestUDP(t, "[::]:0", UDPOptions{})
	client := listenTestUDP(t, "127.0.0.1:0", UDPOptions{})
	var out Packets
	for i := range 3*WriteBatch + 7 {
		out = append(out, Packet{Peer: to(server, "127.0.0.1"), Data: fmt.Append(nil, i)})
	}
	if err := client.Write(&out); err != nil {
		t.Fatal(err)
	}
	for i, p := range collect(t, server, len(out)) {
		if want := fmt.Sprint(i); string(p.Data) != want {
			t.Fatalf("datagram %d is %q", i, p.Data)
		}
	}
	if got, want := server.Stats().Received, uint64(len(out)); got != want {
		t.Errorf("Received %d, want %d", got, want)
	}
	if got, want := client.Stats().Sent, uint64(len(out)); got != want {
		t.Errorf("Sent %d, want %d", got, want)
	}
}

// One bad destination never stops the batch.
func TestUDPBadDestinations(t *testing.T) {
	server := listenTestUDP(t, "127.0.0.1:0", UDPOptions{})
	bad := map[string]wamble.Peer{
		"port 0":    {Addr: netip.MustParseAddrPort("127.0.0.1:0")},
		"broadcast": {Addr: netip.MustParseAddrPort("255.255.255.255:9")},
		"IPv6":      {Addr: netip.MustParseAddrPort("[::1]:9")},
		"none":      {},
		"bad zone":  {Addr: netip.MustParseAddrPort("[fe80::1%nowhere]:9")},
	}
	for name, peer := range bad {
		t.Run(name, func(t *testing.T) {
			client := listenTestUDP(t, "127.0.0.1:0", UDPOptions{})
			good := to(server, "127.0.0.1")
			out := Packets{{Peer: good, Data: []byte("a")}, {Peer: peer, Data: []byte("x")},
				{Peer: peer, Data: []byte("y")}, {Peer: good, Data: []byte("b")}}
			if err := client.Write(out); err != nil {
				t.Fatal(err)
			}
			got := collect(t, server, 2)
			if string(got[0].Data) != "a" || string(got[1].Data) != "b" {
				t.Errorf("arrived %q and %q, want a and b", got[0].Data, got[1].Data)
			}
			if s := client.Stats(); s.Refused != 2 || s.Sent != 2 {
				t.Errorf("%+v, want 2 refused and 2 sent", s)
			}
		})
	}
	t.Run("too long", func(t *testing.T) {
		client := listenTestUDP(t, "127.0.0.1:0", UDPOptions{})
		good := to(server, "127.0.0.1")
		client.Write(Packets{{Peer: good, Data: make([]byte, 70000)}, {Peer: good, Data: []byte("b")}})
		if got := collect(t, server, 1); string(got[0].Data) != "b" || client.Stats().Refused != 1 {
			t.Errorf("arrived %q, %+v", got[0].Data, client.Stats())
		}
	})
}

// A destination without a listener answers with an ICMP error. It must affect neither the
// next datagram nor the next read.
func TestUDPNobodyThere(t *testing.T) {
	gone := listenTestUDP(t, "127.0.0.1:0", UDPOptions{})
	nobody := to(gone, "127.0.0.1")
	gone.Close()
	server := listenTestUDP(t, "127.0.0.1:0", UDPOptions{})
	client := listenTestUDP(t, "127.0.0.1:0", UDPOptions{})
	for range 50 {
		out := Packets{{Peer: nobody, Data: []byte("x")}, {Peer: to(server, "127.0.0.1"), Data: []byte("y")}}
		if err := client.Write(out); err != nil {
			t.Fatal(err)
		}
		if _, err := client.Read(longAgo); err != nil {
			t.Fatal(err)
		}
	}
	if got := len(collect(t, server, 50)); got != 50 {
		t.Errorf("%d datagrams, want 50", got)
	}
}

func TestUDPIgnoresWakeUp(t *testing.T) {
	server := listenTestUDP(t, "127.0.0.1:0", UDPOptions{})
	client := listenTestUDP(t, "127.0.0.1:0", UDPOptions{})
	peer := to(server, "127.0.0.1")
	client.Write(Packets{{Peer: peer, Data: []byte{0}}, {Peer: peer, Data: []byte{1}},
		{Peer: peer, Data: []byte{0, 0}}, {Peer: peer, Data: nil},
		{Peer: peer, Data: []byte("end")}})
	got := collect(t, server, 4)
	want := []string{"\x01", "\x00\x00", "", "end"}
	if texts := textsOf(got); !slices.Equal(texts, want) {
		t.Errorf("got %q, want %q", texts, want)
	}
}

func textsOf(packets []Packet) []string {
	var out []string
	for _, p := range packets {
		out = append(out, string(p.Data))
	}
	return out
}

func TestUDPReadUntil(t *testing.T) {
	u := listenTestUDP(t, "127.0.0.1:0", UDPOptions{})
	for name, until := range map[string]time.Time{
		"past": longAgo, "now": time.Now(), "soon": time.Now().Add(5 * time.Millisecond),
	} {
		packets, err := u.Read(until)
		if len(packets) != 0 || err != nil {
			t.Errorf("%s: %d packets, %v", name, len(packets), err)
		}
	}
	// After an expired deadline the next read still returns waiting datagrams.
	u.Write(Packets{{Peer: to(u, "127.0.0.1"), Data: []byte("self")}})
	if got := collect(t, u, 1); string(got[0].Data) != "self" {
		t.Errorf("got %q", got[0].Data)
	}
}

func TestUDPClose(t *testing.T) {
	u := listenTestUDP(t, "127.0.0.1:0", UDPOptions{})
	done := make(chan error)
	go func() {
		_, err := u.Read(time.Time{})
		done <- err
	}()
	u.Close()
	if err := <-done; !errors.Is(err, net.ErrClosed) {
		t.Errorf("read: %v, want %v", err, net.ErrClosed)
	}
	if err := u.Write(Packets{{Peer: to(u, "127.0.0.1"), Data: []byte("x")}}); !errors.Is(err, net.ErrClosed) {
		t.Errorf("write: %v, want %v", err, net.ErrClosed)
	}
}

func TestUDPBuffers(t *testing.T) {
	small := listenTestUDP(t, "127.0.0.1:0", UDPOptions{Buffer: 16 << 10})
	receive, send, err := small.Buffers()
	if err != nil || receive != 32<<10 || send != 32<<10 {
		t.Errorf("granted %d and %d, %v; want twice 16 KiB, as Linux counts", receive, send, err)
	}
	large := listenTestUDP(t, "127.0.0.1:0", UDPOptions{})
	if r, s, err := large.Buffers(); err != nil || r < 10*receive || s < 10*send {
		t.Errorf("unset: granted %d and %d, %v; want the largest", r, s, err)
	}
	for _, step := range []struct {
		name string
		do   func(u *UDP)
		want int
	}{
		{"while somebody reads", func(u *UDP) { u.Read(longAgo) }, readBuffer},
		{"during a handoff", (*UDP).hold, unreadBuffer},
		{"still", (*UDP).hold, unreadBuffer},
		{"after it", func(u *UDP) { u.Read(longAgo) }, readBuffer},
	} {
		step.do(small)
		step.do(large)
		if r, _, err := large.Buffers(); err != nil || r != 2*step.want {
			t.Errorf("%s: granted %d, %v; want twice %d", step.name, r, err, step.want)
		}
		if r, _, err := small.Buffers(); err != nil || r != receive {
			t.Errorf("%s: the host's choice of %d became %d, %v", step.name, receive, r, err)
		}
	}
}

// TestUDPBacklog: the receive buffer stays large until what waits in it has been read, or much has.
func TestUDPBacklog(t *testing.T) {
	server := listenTestUDP(t, "127.0.0.1:0", UDPOptions{})
	client := listenTestUDP(t, "127.0.0.1:0", UDPOptions{})
	send := func() {
		for range ReadBatch {
			client.Write(Packets{{Peer: to(server, "127.0.0.1"), Data: []byte("x")}})
		}
	}
	read := func(name string, want int) {
		t.Helper()
		packets, err := server.Read(longAgo)
		got, _, _ := server.Buffers()
		if err != nil || len(packets) > ReadBatch || got != 2*want {
			t.Fatalf("%s: %d packets, %v; the buffer has %d, want twice %d", name, len(packets), err, got, want)
		}
	}
	send()
	read("there may be more", unreadBuffer)
	read("there is no more", readBuffer)
	server.hold()
	for range maxRoomyReads - 1 {
		send()
		read("a flood", unreadBuffer)
	}
	send()
	read("a flood that does not end", readBuffer)
}

// TestUDPArrival: a datagram has the time at which the kernel received it, also when the kernel counts lost ones.
func TestUDPArrival(t *testing.T) {
	server := listenTestUDP(t, "[::]:0", UDPOptions{Buffer: 4 << 10})
	client := listenTestUDP(t, "127.0.0.1:0", UDPOptions{})
	for range 2 {
		began := time.Now().UnixNano()
		for range 50 {
			client.Write(Packets{{Peer: to(server, "127.0.0.1"), Data: make([]byte, 500)}})
		}
		sent := time.Now().UnixNano()
		for _, p := range collect(t, server, 1) {
			if p.At < began || p.At > sent {
				t.Fatalf("a datagram of the time from %d to %d arrived at %d", began, sent, p.At)
			}
		}
		for packets, _ := server.Read(longAgo); len(packets) > 0; packets, _ = server.Read(longAgo) {
		}
	}
	if server.Stats().Lost == 0 {
		t.Error("nothing was lost")
	}
}

// TestDrain: what does not fit into a batch is drained, while the packets of connections stay valid.
func TestDrain(t *testing.T) {
	p := openPort(t, Options{}, nil)
	client := listenTestUDP(t, "127.0.0.1:0", UDPOptions{})
	const n = 2*ReadBatch + 5
	for i := range n {
		client.Write(Packets{{Peer: wamble.Peer{Addr: p.Addr()}, Data: fmt.Append(nil, i)}})
	}
	p.inbox.put(&source{peer: wamble.Peer{Addr: p.Addr(), Route: 7}}, []byte("stream"))
	in, err := p.Receive(longAgo)
	if err != nil || !in.Full || len(in.Packets) != ReadBatch+1 {
		t.Fatalf("%d packets, full %v, %v", len(in.Packets), in.Full, err)
	}
	last, got := in.Packets[ReadBatch], ReadBatch
	for _, full := range []bool{true, false} {
		more, left, err := p.Drain()
		if got += len(more); left != full || err != nil {
			t.Fatalf("%d datagrams, full %v, %v", len(more), left, err)
		}
	}
	if got != n || string(last.Data) != "stream" || last.At != 0 {
		t.Errorf("%d of %d datagrams, and %q", got, n, last.Data)
	}
}

// Datagrams that the kernel drops because they are not read are counted exactly.
func TestUDPCountsLoss(t *testing.T) {
	server := listenTestUDP(t, "127.0.0.1:0", UDPOptions{Buffer: 4 << 10})
	client := listenTestUDP(t, "127.0.0.1:0", UDPOptions{})
	const n = 2000
	peer := to(server, "127.0.0.1")
	for range n {
		client.Write(Packets{{Peer: peer, Data: make([]byte, 500)}})
	}
	// A datagram that arrives carries the counter: the last of them is marked, and marked
	// again while it does not fit into the buffer.
	got, sent, mark := 0, n, ""
	for end := time.Now().Add(patience); ; {
		packets, err := server.Read(time.Now().Add(10 * time.Millisecond))
		if err != nil || time.Now().After(end) {
			t.Fatalf("the last datagram never came: %v", err)
		}
		got += len(packets)
		if len(packets) == 0 {
			sent, mark = sent+1, fmt.Sprint("mark ", sent)
			client.Write(Packets{{Peer: peer, Data: []byte(mark)}})
		} else if mark != "" && string(packets[len(packets)-1].Data) == mark {
			break
		}
	}
	if lost := int(server.Stats().Lost); lost == 0 || got+lost != sent {
		t.Errorf("read %d, counted %d lost, sent %d", got, lost, sent)
	}
}

// Another process adopts a duplicate of the descriptor while packets wait in it.
func TestUDPAdopt(t *testing.T) {
	old := listenTestUDP(t, "[::]:0", UDPOptions{})
	client := listenTestUDP(t, "127.0.0.1:0", UDPOptions{})
	client.Write(Packets{{Peer: to(old, "127.0.0.1"), Data: []byte("waiting")}})
	file := duplicate(t, old)
	adopted, err := AdoptUDP(file, UDPOptions{})
	if err != nil {
		t.Fatal(err)
	}
	defer adopted.Close()
	port := old.LocalAddr().Port()
	old.Close()
	if got := adopted.LocalAddr().Port(); got != port {
		t.Errorf("adopted port %d, want %d", got, port)
	}
	got := collect(t, adopted, 1)[0]
	if string(got.Data) != "waiting" {
		t.Errorf("got %q", got.Data)
	}
	adopted.Write(Packets{{Peer: got.Peer, Data: []byte("answer")}})
	if got := collect(t, client, 1)[0]; string(got.Data) != "answer" {
		t.Errorf("got %q", got.Data)
	}

	tcp, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer tcp.Close()
	if u, err := AdoptUDP(duplicate(t, tcp.(*net.TCPListener)), UDPOptions{}); err == nil {
		u.Close()
		t.Error("a TCP listener was adopted as UDP")
	}
}

func TestAllocsUDP(t *testing.T) {
	server := listenTestUDP(t, "[::]:0", UDPOptions{})
	client := listenTestUDP(t, "127.0.0.1:0", UDPOptions{})
	out := new(Packets)
	for range 32 {
		*out = append(*out, Packet{Peer: to(server, "127.0.0.1"), Data: make([]byte, 100)})
	}
	back := new(Packets)
	if got := testing.AllocsPerRun(200, func() {
		client.Write(out)
		*back = (*back)[:0]
		for len(*back) < len(*out) {
			packets, _ := server.Read(time.Time{})
			*back = append(*back, packets...)
		}
		server.Write(back)
		for n := 0; n < len(*out); {
			packets, _ := client.Read(time.Time{})
			n += len(packets)
		}
	}); got != 0 {
		t.Errorf("%v allocations for 32 packets there and back, want 0", got)
	}
}

// No allocations either by a port that wakes up by itself now and then.
func TestAllocsPort(t *testing.T) {
	p := openPort(t, Options{}, nil)
	client := listenTestUDP(t, "127.0.0.1:0", UDPOptions{})
	out := &Packets{{Peer: wamble.Peer{Addr: p.Addr()}, Data: make([]byte, 100)}}
	back := new(Packets)
	if got := testing.AllocsPerRun(200, func() {
		client.Write(out)
		*back = (*back)[:0]
		for len(*back) == 0 {
			in, _ := p.Receive(time.Now().Add(time.Minute))
			*back = append(*back, in.Packets...)
		}
		p.Wake()
		p.Receive(time.Now().Add(time.Minute))
		p.Send(back)
		client.Read(time.Now().Add(time.Minute))
	}); got != 0 {
		t.Errorf("%v allocations for a packet there and back, want 0", got)
	}
}

func TestSockaddr(t *testing.T) {
	for _, s := range []string{"1.2.3.4:5", "255.0.0.1:65535", "[2001:db8::1]:8888", "[fe80::1%3]:9", "[::1]:0"} {
		want := netip.MustParseAddrPort(s)
		for _, v6 := range []bool{false, true} {
			var sa unix.RawSockaddrInet6
			n := putSockaddr(&sa, want, v6)
			if !v6 && want.Addr().Is6() {
				if n != 0 {
					t.Errorf("%s fits an IPv4 socket", s)
				}
				continue
			}
			if got := addrPort(&sa); got != want {
				t.Errorf("%s (v6 socket %v) comes back as %s", s, v6, got)
			}
		}
	}
	if got := addrPort(&unix.RawSockaddrInet6{Family: 99}); got.IsValid() {
		t.Errorf("unknown family gives %v", got)
	}
}

// TestUDPSources: a socket that is bound to all addresses answers from the one that the peer has last written to.
func TestUDPSources(t *testing.T) {
	for _, c := range []struct {
		name, listen, from string
		at                 []string // addresses of the machine that the client writes to in turn
	}{
		{"dual socket, IPv4", "[::]:0", "127.0.0.1:0", []string{"127.0.0.2", "127.0.0.3", "127.0.0.1"}},
		{"dual socket, IPv6", "[::]:0", "[::1]:0", []string{"::1", "::1"}},
		{"all of IPv4", "0.0.0.0:0", "127.0.0.1:0", []string{"127.0.0.2", "127.0.0.3", "127.0.0.1"}},
		{"one address", "127.0.0.9:0", "127.0.0.1:0", []string{"127.0.0.9"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			server, client := listenTestUDP(t, c.listen, UDPOptions{}), listenTestUDP(t, c.from, UDPOptions{})
			for _, host := range c.at {
				if err := client.Write(Packets{{Peer: to(server, host), Data: []byte("ping")}}); err != nil {
					t.Fatal(err)
				}
				peer := collect(t, server, 1)[0].Peer
				for range 2 {
					if err := server.Write(Packets{{Peer: peer, Data: []byte("pong")}}); err != nil {
						t.Fatal(err)
					}
					if got := collect(t, client, 1)[0].Peer; got != to(server, host) {
						t.Errorf("the answer to a packet for %s comes from %v", host, got.Addr)
					}
				}
			}
		})
	}
}

// TestUDPSourcesBounded: of two peers with the same place the second is known, and the kernel chooses for the first.
func TestUDPSourcesBounded(t *testing.T) {
	s := &sources{}
	first := netip.MustParseAddrPort("10.0.0.1:1")
	second := first
	for s.place(second) != s.place(first) || second == first {
		second = netip.AddrPortFrom(first.Addr(), second.Port()+1)
	}
	var locals [ReadBatch][16]byte
	locals[0], locals[1] = [16]byte{127, 0, 0, 2}, [16]byte{127, 0, 0, 3}
	s.remember([]Packet{{Peer: wamble.Peer{Addr: first}}, {Peer: wamble.Peer{Addr: second}}}, &locals)
	var b [sourceSpace]byte
	if n := s.put(&b, first, false); n != 0 {
		t.Errorf("the first has a message of %d bytes", n)
	}
	if n := s.put(&b, second, false); n == 0 || !bytes.Equal(b[unix.SizeofCmsghdr+4:][:4], []byte{127, 0, 0, 3}) {
		t.Errorf("the second has %d bytes, %v", n, b)
	}
}
