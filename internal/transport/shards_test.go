package transport

import (
	"bytes"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"net/url"
	"slices"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"wamble"
	"wamble/wire"
)

// openShards listens on loopback for n loops and serves until the test ends.
func openShards(t testing.TB, o Options, n int) []*Port {
	t.Helper()
	if !o.Address.IsValid() {
		o.Address = netip.MustParseAddrPort("127.0.0.1:0")
	}
	ports, err := ListenShards(o, n)
	if err != nil {
		t.Fatal(err)
	}
	return serveShards(t, ports)
}

func serveShards(t testing.TB, ports []*Port) []*Port {
	served := make(chan error, 1)
	go func() { served <- ports[0].Serve(nil, nil) }()
	t.Cleanup(func() {
		closePorts(ports)
		if err := <-served; err != nil {
			t.Errorf("Serve: %v", err)
		}
	})
	return ports
}

// gather receives at all ports until so many packets have come, and returns those of
// each.
func gather(t testing.TB, ports []*Port, total int) [][]Packet {
	t.Helper()
	end := time.Now().Add(patience)
	got := make([][]Packet, len(ports))
	var count atomic.Int64
	var loops sync.WaitGroup
	for k, p := range ports {
		loops.Go(func() {
			for count.Load() < int64(total) && time.Now().Before(end) {
				in, err := p.Receive(end)
				if err != nil {
					t.Error(err)
					return
				}
				for _, packet := range in.Packets {
					got[k] = append(got[k], Packet{Peer: packet.Peer, Data: bytes.Clone(packet.Data)})
				}
				count.Add(int64(len(in.Packets)))
			}
			for _, other := range ports {
				other.Wake()
			}
		})
	}
	loops.Wait()
	if n := count.Load(); n != int64(total) {
		t.Fatalf("%d packets came, want %d", n, total)
	}
	return got
}

// tokenPacket is a packet of the session that has token i; 0 is none.
func tokenPacket(t testing.TB, i int) []byte {
	t.Helper()
	h := wire.Header{Ctrl: wire.CtrlServerNotification, Seq: uint32(i)}
	if i != 0 {
		h.Token = wamble.Token{0: 0x80, 1: byte(i >> 8), 15: byte(i)}
	}
	b, err := wire.Append(nil, h, wire.ServerNotification{Text: make(wire.Text, 4)})
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// sayTokens sends one packet of each token of [1, n] from a socket of its own.
func sayTokens(t testing.TB, to netip.AddrPort, n int) {
	t.Helper()
	c := listenTestUDP(t, "127.0.0.1:0", UDPOptions{})
	out := make(Packets, n)
	for i := range out {
		out[i] = Packet{Peer: wamble.Peer{Addr: to}, Data: tokenPacket(t, i+1)}
	}
	if err := c.Write(out); err != nil || c.Stats().Sent != uint64(n) {
		t.Fatal(err, c.Stats())
	}
}

// strangers are sockets that send a packet without a token.
func strangers(t testing.TB, n int) []*UDP {
	s := make([]*UDP, n)
	for i := range s {
		s[i] = listenTestUDP(t, "127.0.0.1:0", UDPOptions{Buffer: 64 << 10})
	}
	return s
}

// sayHello sends a packet without a token from every socket.
func sayHello(t testing.TB, from []*UDP, to netip.AddrPort) {
	t.Helper()
	for _, u := range from {
		if err := u.Write(Packets{{Peer: wamble.Peer{Addr: to}, Data: tokenPacket(t, 0)}}); err != nil {
			t.Fatal(err)
		}
	}
}

// checkTokens checks that every packet is at the shard of its token.
func checkTokens(t testing.TB, got [][]Packet) {
	t.Helper()
	for k, packets := range got {
		for _, p := range packets {
			if want := tokenOf(p.Data).Shard(len(got)); want != k {
				t.Fatalf("a packet of shard %d is at %d", want, k)
			}
		}
	}
}

// forwardedBy returns how many datagrams the shards have forwarded to each other.
func forwardedBy(ports []*Port) (n uint64) {
	for _, p := range ports {
		s := p.UDP().Stats()
		n += s.Forwarded + s.Spilled
	}
	return n
}

func TestShardsNumber(t *testing.T) {
	for _, n := range []int{-1, 0, 3, 128} {
		if ports, err := ListenShards(Options{Address: netip.MustParseAddrPort("127.0.0.1:0")}, n); err == nil {
			closePorts(ports)
			t.Errorf("%d shards are open", n)
		}
	}
}

// Other programs may not bind the ports of the shards.
func TestShardsTaken(t *testing.T) {
	ports := openShards(t, Options{}, 4)
	for _, p := range ports {
		if p.Addr() != ports[0].TCPAddr() || p.TCPAddr() != ports[0].TCPAddr() {
			t.Errorf("a shard has %s and %s", p.Addr(), p.TCPAddr())
		}
	}
	for _, n := range []int{1, 4} {
		free := listenTestTCP(t)
		number := free.Addr().(*net.TCPAddr).AddrPort().Port()
		free.Close()
		if _, err := ListenShards(Options{Address: ports[0].Addr(), TCPPort: number}, n); !errors.Is(err,
			syscall.EADDRINUSE) {
			t.Errorf("%d more shards: %v, want %v", n, err, syscall.EADDRINUSE)
		}
	}
}

func listenTestTCP(t *testing.T) *net.TCPListener {
	t.Helper()
	l, err := listenTCP(netip.MustParseAddr("127.0.0.1"), 0, nil)
	if err != nil {
		t.Fatal(err)
	}
	return l
}

// Datagrams reach the shard of their token, from every sender, and answers of every shard
// come from the port that was asked.
func TestShardsAnswer(t *testing.T) {
	ports := openShards(t, Options{}, 4)
	player := listenTestUDP(t, "127.0.0.1:0", UDPOptions{})
	for i := 1; i <= 4; i++ {
		player.Write(Packets{{Peer: wamble.Peer{Addr: ports[0].Addr()}, Data: tokenPacket(t, i)}})
	}
	got := gather(t, ports, 4)
	checkTokens(t, got)
	for k, packets := range got {
		if len(packets) != 1 || packets[0].Peer.Addr != player.LocalAddr() {
			t.Fatalf("shard %d got %v", k, packets)
		}
		ports[k].Send(Packets(packets))
	}
	for _, answer := range collect(t, player, 4) {
		if answer.Peer.Addr != ports[0].Addr() {
			t.Errorf("an answer came from %v, want %v", answer.Peer, ports[0].Addr())
		}
	}
}

// Packets of a connection go to the shards of their tokens; those without one stay together.
// Every shard that got some is told of the end, and no other.
func TestShardsConnection(t *testing.T) {
	ports := openShards(t, Options{}, 4)
	ports[2].SetOpenShards(firstShards(1))
	c := dialPort(t, ports[0])
	for _, i := range []int{2, 3, 0, 6, 0, 2} {
		c.Send(tokenPacket(t, i))
	}
	got := gather(t, ports, 6)
	if counts := fmt.Sprint(len(got[0]), len(got[1]), len(got[2]), len(got[3])); counts != "2 0 3 1" {
		t.Errorf("packets of the shards: %s, want 2 0 3 1", counts)
	}
	peer := got[2][0].Peer
	for k := range ports { // every shard can answer, and does so through the first
		ports[k].Send(Packets{{Peer: peer, Data: tokenPacket(t, 100+k)}})
		if b, err := c.Next(); err != nil || wireSeq(t, b) != uint32(100+k) {
			t.Errorf("shard %d answers % x, %v", k, b, err)
		}
	}
	ports[3].Disconnect(peer, CloseNormal, "")
	for {
		if _, err := c.Next(); err != nil {
			c.Finish(err)
			break
		}
	}
	for _, k := range []int{0, 2, 3} {
		if _, ended := receive(t, ports[k], 0, 1); len(ended) != 1 || ended[0] != peer {
			t.Errorf("shard %d hears of %v", k, ended)
		}
	}
	if in, err := ports[1].Receive(longAgo); err != nil || len(in.Ended) != 0 {
		t.Errorf("shard 1 hears of %v, %v", in.Ended, err)
	}
}

// JSON connections are spread in the same way.
func TestShardsJSON(t *testing.T) {
	ports := openShards(t, Options{}, 4)
	u := &url.URL{Scheme: "ws", Host: ports[0].TCPAddr().String(), Path: "/ws/json"}
	c, err := DialText(t.Context(), u, nil, Timing{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Finish(net.ErrClosed) })
	c.Send([]byte(`{"ctrl":"CLIENT_HELLO"}`))
	for i := 1; i <= 4; i++ {
		token := tokenOf(tokenPacket(t, i))
		c.Send(fmt.Appendf(nil, `{"ctrl":"LIST_PROFILES","token":"%x"}`, token[:]))
	}
	got := gather(t, ports, 5)
	for k := range got {
		got[k] = slices.DeleteFunc(got[k], func(p Packet) bool { return tokenOf(p.Data).IsZero() })
		if len(got[k]) != 1 {
			t.Errorf("shard %d got %d packets of its token", k, len(got[k]))
		}
	}
	checkTokens(t, got)
}

// Connections without tokens are spread over the shards that are open; one that has
// lost its shard goes to another.
func TestShardsOpenToConnections(t *testing.T) {
	ports := openShards(t, Options{}, 4)
	conns := make([]*Conn, 8)
	for i := range conns {
		conns[i] = dialPort(t, ports[0])
	}
	for _, open := range []int{4, 2, 1, 4} {
		ports[0].SetOpenShards(firstShards(open))
		for _, c := range conns {
			c.Send(tokenPacket(t, 0))
		}
		for k, packets := range gather(t, ports, len(conns)) {
			if open == 4 || k < open {
				continue
			}
			if len(packets) != 0 {
				t.Errorf("with %d open, shard %d got %d", open, k, len(packets))
			}
		}
	}
}

// The share of a connection holds for all shards together: any loop that fetches makes space.
func TestShardsShare(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a, b := newInbox(func() {}), newInbox(func() {})
		a.others, b.others = []*inbox{b}, []*inbox{a}
		from := &source{}
		data := tokenPacket(t, 1)
		for range inboxShare / 2 {
			a.put(from, data)
			b.put(from, data)
		}
		var late atomic.Bool
		next := func(in *inbox) {
			late.Store(false)
			go func() { in.put(from, data); late.Store(true) }()
			synctest.Wait()
			if late.Load() {
				t.Fatal("a connection has more than its share")
			}
		}
		next(a)
		b.fetch(nil, nil, make([][]byte, 1))
		if synctest.Wait(); !late.Load() {
			t.Error("another loop makes no room")
		}
		next(a)
		b.stop() // its loop fetches no more
		if synctest.Wait(); !late.Load() {
			t.Error("what waits for a loop that is gone takes the share")
		}
		b.fetch(nil, nil, make([][]byte, inboxPackets))
		if got, want := from.waiting.Load(), int32(a.count); got != want {
			t.Errorf("the share is %d, want %d", got, want)
		}
	})
}

// The path of a packet allocates nothing.
func TestAllocsShards(t *testing.T) {
	ports := openShards(t, Options{}, 2)
	own, other := tokenPacket(t, 2), tokenPacket(t, 1)
	peer := wamble.Peer{Addr: netip.MustParseAddrPort("192.0.2.1:5")}
	packets := make([]Packet, 0, 3)
	from := &source{peer: wamble.Peer{Route: 1}, home: -1}
	round := func() {
		kept := ports[0].forwardOthers(append(packets[:0], Packet{Peer: peer, Data: own}, Packet{Peer: peer, Data: other}))
		ports[0].shards.put(from, other)
		in, err := ports[1].Receive(longAgo)
		if err != nil || len(kept) != 1 || len(in.Packets) != 2 {
			t.Fatalf("%d kept, %d forwarded, %v", len(kept), len(in.Packets), err)
		}
	}
	for range inboxPackets {
		round()
	}
	if got := testing.AllocsPerRun(1000, round); got != 0 {
		t.Errorf("%v allocations, want 0", got)
	}
}

// BenchmarkReceive measures a batch of datagrams on loopback, received by its loop.
func BenchmarkReceive(b *testing.B) {
	for _, n := range []int{1, 4} {
		b.Run(fmt.Sprintf("shards=%d", n), func(b *testing.B) {
			ports, err := ListenShards(Options{Address: netip.MustParseAddrPort("127.0.0.1:0")}, n)
			if err != nil {
				b.Fatal(err)
			}
			defer closePorts(ports)
			c := listenTestUDP(b, "127.0.0.1:0", UDPOptions{})
			out := make(Packets, ReadBatch)
			for i := range out {
				out[i] = Packet{Peer: wamble.Peer{Addr: ports[0].Addr()}, Data: tokenPacket(b, 64)}
			}
			b.ReportAllocs()
			for b.Loop() {
				c.Write(&out)
				for got := 0; got < len(out); {
					in, err := ports[0].Receive(time.Time{})
					if err != nil {
						b.Fatal(err)
					}
					got += len(in.Packets)
				}
			}
		})
	}
}
