package transport

import (
	"errors"
	"net/netip"
	"os"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"wamble"
)

// The kernel chooses the socket of a token: no loop forwards packets.
func TestShardsByKernel(t *testing.T) {
	const tokens = 1000
	for _, tc := range []struct {
		name string
		o    Options
		to   string // where the players send to; the address, if empty
	}{
		{"IPv4", Options{}, ""},
		{"IPv6", Options{Address: netip.MustParseAddrPort("[::]:0")}, "127.0.0.1"},
		{"UDP is off", Options{UDP: UDPOptions{Off: true}}, ""},
	} {
		t.Run(tc.name, func(t *testing.T) {
			ports := openShards(t, tc.o, 4)
			to := ports[0].Addr()
			if tc.to != "" {
				to = netip.AddrPortFrom(netip.MustParseAddr(tc.to), to.Port())
			}
			sayTokens(t, to, tokens)
			checkTokens(t, gather(t, ports, tokens))
			if n := forwardedBy(ports); n != 0 {
				t.Errorf("%d datagrams were forwarded", n)
			}
		})
	}
}

// Every one of the sixteen bytes of a token is read: one that is not zero makes a token.
func TestShardsKernelReadsWholeToken(t *testing.T) {
	ports := openShards(t, Options{}, 4)
	ports[0].SetOpenShards(firstShards(1))
	c := listenTestUDP(t, "127.0.0.1:0", UDPOptions{})
	want := 0
	for at := range 16 {
		b := tokenPacket(t, 0)
		b[4+at] = 0xC3
		if at == 15 {
			want = 3
		}
		c.Write(Packets{{Peer: wamble.Peer{Addr: ports[0].Addr()}, Data: b}})
		if got := gather(t, ports, 1); len(got[want]) != 1 {
			t.Errorf("byte %d: not at shard %d", at, want)
		}
	}
	ports[0].SetOpenShards(firstShards(4))
	// Without SetOpenShards(1) these do not differ from new players but for the token: the
	// kernel must have seen it, or the hash of the addresses would have decided.
	for at := range 15 {
		b := tokenPacket(t, 0)
		b[4+at] = 0xC3
		c.Write(Packets{{Peer: wamble.Peer{Addr: ports[0].Addr()}, Data: b}})
	}
	if got := gather(t, ports, 15); len(got[0]) != 15 || forwardedBy(ports) != 0 {
		t.Errorf("%d at shard 0, %d were forwarded; want 15 and 0", len(got[0]), forwardedBy(ports))
	}
}

// New players are spread, and a repeated hello reaches the same shard.
func TestShardsSpreadNewPlayers(t *testing.T) {
	ports := openShards(t, Options{}, 4)
	players := strangers(t, 128)
	home := map[netip.AddrPort]int{}
	for range 2 {
		sayHello(t, players, ports[0].Addr())
		for k, packets := range gather(t, ports, len(players)) {
			if len(packets) == 0 {
				t.Errorf("shard %d got none", k)
			}
			for _, p := range packets {
				if was, known := home[p.Peer.Addr]; known && was != k {
					t.Errorf("%v went to shard %d, then to %d", p.Peer, was, k)
				}
				home[p.Peer.Addr] = k
			}
		}
	}
	if n := forwardedBy(ports); n != 0 || len(home) != len(players) {
		t.Errorf("%d datagrams of %d players were forwarded", n, len(home))
	}
}

// Only open shards take new players; packets with tokens go to their shards.
func TestShardsOpen(t *testing.T) {
	ports := openShards(t, Options{}, 4)
	players := strangers(t, 64)
	for _, open := range []int{1, 2, 3, 1} {
		before := forwardedBy(ports)
		ports[3].SetOpenShards(firstShards(open))
		sayHello(t, players, ports[0].Addr())
		for k, packets := range gather(t, ports, len(players)) {
			if (len(packets) > 0) != (k < open) {
				t.Errorf("with %d open, shard %d got %d", open, k, len(packets))
			}
		}
		if n := forwardedBy(ports) - before; open == 1 && n != 0 {
			t.Errorf("%d new players of the only open shard were forwarded", n)
		}
		sayTokens(t, ports[0].Addr(), 64)
		checkTokens(t, gather(t, ports, 64))
	}
}

// A packet that is too short for a token counts as one of a new player.
func TestShardsShortPackets(t *testing.T) {
	ports := openShards(t, Options{}, 4)
	c := listenTestUDP(t, "127.0.0.1:0", UDPOptions{})
	for _, open := range []int{4, 1} {
		ports[0].SetOpenShards(firstShards(open))
		for n := range 34 {
			c.Write(Packets{{Peer: wamble.Peer{Addr: ports[0].Addr()}, Data: tokenPacket(t, 3)[:n]}})
		}
		for k, packets := range gather(t, ports, 34) {
			if open == 1 && k > 0 && len(packets) > 0 {
				t.Errorf("shard %d got %d", k, len(packets))
			}
		}
	}
}

// misled makes the kernel deliver everything to the first socket that was bound.
func misled(t *testing.T, ports []*Port) {
	t.Helper()
	program := []unix.SockFilter{{Code: unix.BPF_RET | unix.BPF_K}}
	var err error
	ports[0].udp.socket.raw.Control(func(fd uintptr) {
		err = unix.SetsockoptSockFprog(int(fd), unix.SOL_SOCKET, unix.SO_ATTACH_REUSEPORT_CBPF,
			&unix.SockFprog{Len: 1, Filter: &program[0]})
	})
	if err != nil {
		t.Fatal(err)
	}
}

// However the kernel distributes packets, each reaches its shard, with its sender.
func TestShardsForward(t *testing.T) {
	ports := openShards(t, Options{}, 4)
	misled(t, ports)
	const tokens = 200
	sayTokens(t, ports[0].Addr(), tokens)
	got := gather(t, ports, tokens)
	checkTokens(t, got)
	for _, packets := range got {
		for _, p := range packets {
			if p.Peer != got[0][0].Peer {
				t.Fatalf("a packet is from %v, want %v", p.Peer, got[0][0].Peer)
			}
		}
	}
	if n := forwardedBy(ports); n != tokens*3/4 {
		t.Errorf("%d datagrams were forwarded, want %d", n, tokens*3/4)
	}
}

// A loop that does not fetch costs the others no time and bounded memory.
func TestShardsSpill(t *testing.T) {
	ports := openShards(t, Options{}, 2)
	misled(t, ports)
	const more = 100
	c := listenTestUDP(t, "127.0.0.1:0", UDPOptions{})
	for i := range inboxForwarded + more {
		c.Write(Packets{{Peer: wamble.Peer{Addr: ports[0].Addr()}, Data: tokenPacket(t, 1)}})
		for end := time.Now().Add(patience); ports[0].UDP().Stats().Received == uint64(i); {
			if _, err := ports[0].Receive(end); err != nil || time.Now().After(end) {
				t.Fatal("nothing came", err)
			}
		}
	}
	if s := ports[0].UDP().Stats(); s.Forwarded != inboxForwarded || s.Spilled != more {
		t.Errorf("%+v, want %d forwarded and %d spilled", s, inboxForwarded, more)
	}
	receive(t, ports[1], inboxForwarded, 0)
	// Then the inboxes have space again.
	sayTokens(t, ports[0].Addr(), 2)
	checkTokens(t, gather(t, ports, 2))
}

// A shard that is closed changes the order of the sockets; the others still get their
// packets.
func TestShardsClose(t *testing.T) {
	ports := openShards(t, Options{}, 4)
	if err := ports[1].Close(); err != nil {
		t.Fatal(err)
	}
	c := listenTestUDP(t, "127.0.0.1:0", UDPOptions{})
	rest := []*Port{ports[0], ports[2], ports[3]}
	for i := range 40 {
		c.Write(Packets{{Peer: wamble.Peer{Addr: ports[0].Addr()}, Data: tokenPacket(t, 4+i)}})
	}
	got := gather(t, rest, 30)
	checkTokens(t, [][]Packet{got[0], nil, got[1], got[2]})
	// Connections are distributed in the same way.
	ws := dialPort(t, ports[0])
	ws.Send(tokenPacket(t, 1)) // lost with its shard
	ws.Send(tokenPacket(t, 2))
	receive(t, ports[2], 1, 0)
}

// files returns the descriptors of ports as a handoff takes them.
func files(t *testing.T, ports []*Port) (udp []*os.File, tcp *os.File) {
	for _, p := range ports {
		udp = append(udp, duplicate(t, p.UDP()))
	}
	return udp, duplicate(t, ports[0].TCP())
}

// Another process goes on with the sockets, and with the packets in them.
func TestShardsAdopt(t *testing.T) {
	old, err := ListenShards(Options{Address: netip.MustParseAddrPort("127.0.0.1:0")}, 4)
	if err != nil {
		t.Fatal(err)
	}
	old[0].SetOpenShards(firstShards(1))
	sayTokens(t, old[0].Addr(), 100)
	udp, tcp := files(t, old)
	ports, err := AdoptShards(udp, tcp, Options{}, 4)
	if err != nil {
		t.Fatal(err)
	}
	serveShards(t, ports)
	closePorts(old)
	sayTokens(t, ports[0].Addr(), 100)
	checkTokens(t, gather(t, ports, 200))
	players := strangers(t, 64)
	sayHello(t, players, ports[0].Addr())
	for k, packets := range gather(t, ports, len(players)) {
		if len(packets) == 0 {
			t.Errorf("shard %d got no new players", k)
		}
	}
	if n := forwardedBy(ports); n != 0 {
		t.Errorf("%d datagrams were forwarded", n)
	}
	dialPort(t, ports[0]).Send(tokenPacket(t, 3))
	receive(t, ports[3], 1, 0)
}

// A socket that another process has bound, for one loop, gets its siblings.
func TestShardsAdoptFewer(t *testing.T) {
	old, err := Listen(Options{Address: netip.MustParseAddrPort("127.0.0.1:0")})
	if err != nil {
		t.Fatal(err)
	}
	sayTokens(t, old.Addr(), 8) // wait in the only socket
	udp, tcp := files(t, []*Port{old})
	ports, err := AdoptShards(udp, tcp, Options{}, 4)
	if err != nil {
		t.Fatal(err)
	}
	serveShards(t, ports)
	old.Close()
	checkTokens(t, gather(t, ports, 8))
	before := forwardedBy(ports)
	sayTokens(t, ports[0].Addr(), 100)
	checkTokens(t, gather(t, ports, 100))
	if n := forwardedBy(ports) - before; before != 6 || n != 0 {
		t.Errorf("%d, then %d datagrams were forwarded, want 6, then 0", before, n)
	}
}

func TestShardsAdoptWrong(t *testing.T) {
	a, b := openShards(t, Options{}, 4), openShards(t, Options{}, 4)
	udp, tcp := files(t, a)
	if ports, err := AdoptShards(udp, tcp, Options{}, 2); err == nil {
		closePorts(ports)
		t.Error("four sockets were adopted for two shards")
	}
	udp, tcp = files(t, []*Port{a[0], b[1]})
	if ports, err := AdoptShards(udp, tcp, Options{}, 2); err == nil {
		closePorts(ports)
		t.Error("sockets of two numbers were adopted")
	}
	sayTokens(t, a[0].Addr(), 8) // nothing was disturbed
	checkTokens(t, gather(t, a, 8))
}

// A reload takes over the sockets, or moves them to other addresses.
func TestShardsRenew(t *testing.T) {
	loopback := netip.MustParseAddrPort("127.0.0.1:0")
	renew := func(old *Port, o Options) ([]*Port, error) { return RenewShards(old, old, o, 4) }
	everywhere := func(old *Port, o Options) ([]*Port, error) {
		o.Address = netip.AddrPortFrom(netip.Addr{}, old.Addr().Port())
		return ListenShardsBeside([]*Port{old}, nil, nil, o, 4)
	}
	for _, tc := range []struct {
		name  string
		was   int
		renew func(*Port, Options) ([]*Port, error)
	}{
		{"as many", 4, renew}, {"more", 1, renew}, {"fewer", 8, renew},
		{"to all addresses", 4, everywhere}, {"one to all addresses", 1, everywhere},
	} {
		t.Run(tc.name, func(t *testing.T) {
			var old, ports []*Port
			for ports == nil {
				var err error
				if old, err = ListenShards(Options{Address: loopback}, tc.was); err != nil {
					t.Fatal(err)
				}
				if ports, err = tc.renew(old[0], Options{Address: loopback}); err != nil {
					closePorts(old)
				}
				if err != nil && !errors.Is(err, syscall.EADDRINUSE) { // by another process, on another address
					t.Fatal(err)
				}
			}
			serveShards(t, ports)
			closePorts(old)
			to := netip.AddrPortFrom(loopback.Addr(), ports[0].Addr().Port())
			sayTokens(t, to, 100)
			checkTokens(t, gather(t, ports, 100))
			if n := forwardedBy(ports); n != 0 && tc.was <= 4 {
				t.Errorf("%d datagrams were forwarded", n)
			}
		})
	}
}
