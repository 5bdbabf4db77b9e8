package transport

import (
	"bytes"
	"errors"
	"testing"

	"wamble"
)

// replied records what a port has sent to another node.
type replied struct {
	shard int
	to    wamble.Peer
	data  []byte
}

// TestJoin: a far end has the number of the node that it wrote to, over UDP and over a
// WebSocket; a packet to one at another node does not leave by a socket of this one.
func TestJoin(t *testing.T) {
	ports := openShards(t, Options{}, 2)
	var given []replied
	ports[1].Join(7, func(shard int, to wamble.Peer, packet []byte) {
		given = append(given, replied{shard, to, bytes.Clone(packet)})
	})
	player := listenTestUDP(t, "127.0.0.1:0", UDPOptions{})
	if err := player.Write(Packets{{Peer: wamble.Peer{Addr: ports[0].Addr()}, Data: tokenPacket(t, 1)}}); err != nil {
		t.Fatal(err)
	}
	c := dialPort(t, ports[0])
	c.Send(tokenPacket(t, 2))
	got := gather(t, ports, 2)
	if len(got[0]) != 1 || len(got[1]) != 1 || got[0][0].Peer.Node != 7 || got[1][0].Peer.Node != 7 {
		t.Fatalf("got %v, want one packet each of far ends at node 7", got)
	}
	datagrams, stream := got[1][0].Peer, got[0][0].Peer
	away, awayStream, old := datagrams, stream, datagrams
	away.Node, awayStream.Node, old.Node = 9, 9, 0
	if err := ports[1].Send(Packets{{Peer: away, Data: []byte("a")}, {Peer: datagrams, Data: []byte("b")},
		{Peer: awayStream, Data: []byte("c")},
		{Peer: old, Data: []byte("d")}, {Peer: stream, Data: tokenPacket(t, 5)}}); err != nil {
		t.Fatal(err)
	}
	answers := collect(t, player, 2)
	if string(answers[0].Data) != "b" || string(answers[1].Data) != "d" {
		t.Errorf("the player is answered %q and %q, want b and d", answers[0].Data, answers[1].Data)
	}
	if b, err := c.Next(); err != nil || wireSeq(t, b) != 5 {
		t.Errorf("the connection is answered % x, %v", b, err)
	}
	if len(given) != 2 || given[0].to != away || string(given[0].data) != "a" || given[0].shard != 1 ||
		given[1].to != awayStream || string(given[1].data) != "c" {
		t.Errorf("to another node went %v, want a and c of shard 1", given)
	}
}

// TestPass: a packet that another node has read, and the end of a connection there, arrive at
// the shard with the far end's own address. Packets for a full shard are dropped.
func TestPass(t *testing.T) {
	ports := openShards(t, Options{}, 2)
	peer := wamble.Peer{Addr: ports[0].Addr(), Route: 3, Node: 9}
	if !ports[0].DeliverForwarded(1, Packet{Peer: peer, Data: []byte("x")}) ||
		ports[0].DeliverForwarded(2, Packet{Peer: peer, Data: []byte("x")}) {
		t.Error("a packet is passed to a shard that there is, and to no other")
	}
	ports[0].DeliverEnd(1, peer)
	ports[0].DeliverEnd(2, peer)
	packets, ended := receive(t, ports[1], 1, 1)
	if len(packets) != 1 || packets[0].Peer != peer || string(packets[0].Data) != "x" || len(ended) != 1 ||
		ended[0] != peer {
		t.Errorf("got %v and %v", packets, ended)
	}
}

// TestDatagramsAreDroppedFirst: a burst of datagrams that another node passes on costs no connection there its
// packets. A connection has a share, and what is fetched makes room again.
func TestDatagramsAreDroppedFirst(t *testing.T) {
	ports := openShards(t, Options{}, 2)
	deliver := func(peer wamble.Peer, n int) (taken int) {
		for range n {
			if ports[0].DeliverForwarded(1, Packet{Peer: peer, Data: []byte("x")}) {
				taken++
			}
		}
		return taken
	}
	datagrams := wamble.Peer{Addr: ports[0].Addr(), Node: 9}
	for round := range 3 {
		if got := deliver(datagrams, 3000); got != inboxForwarded {
			t.Errorf("round %d: %d datagrams were taken, want %d", round, got, inboxForwarded)
		}
		want := inboxForwarded
		for i := range 20 {
			conn := wamble.Peer{Addr: ports[0].Addr(), Route: uint32(i + 1), Node: 9}
			if got := deliver(conn, 10); got != 10 {
				t.Errorf("round %d: connection %d lost %d of 10 packets", round, i, 10-got)
			}
			want += 10
		}
		greedy := wamble.Peer{Addr: ports[0].Addr(), Route: 99, Node: 9}
		if got := deliver(greedy, 2000); got != inboxRemoteShare {
			t.Errorf("round %d: a connection has %d packets waiting, want %d", round, got, inboxRemoteShare)
		}
		receive(t, ports[1], want+inboxRemoteShare, 0)
	}
}

// TestHangUp: the connections of one shard end, and no other.
func TestHangUp(t *testing.T) {
	ports := openShards(t, Options{}, 2)
	stays, goes := dialPort(t, ports[0]), dialPort(t, ports[0])
	stays.Send(tokenPacket(t, 2))
	goes.Send(tokenPacket(t, 1))
	got := gather(t, ports, 2)
	ports[0].DisconnectShard(1, CloseGoingAway, "")
	_, err := goes.Next()
	if closed := new(CloseError); !errors.As(err, &closed) || closed.Code != CloseGoingAway {
		t.Errorf("the connection of shard 1 ended with %v, want %d", err, CloseGoingAway)
	}
	ports[0].Send(Packets{{Peer: got[0][0].Peer, Data: tokenPacket(t, 6)}})
	if b, err := stays.Next(); err != nil || wireSeq(t, b) != 6 {
		t.Errorf("the connection of shard 0 hears % x, %v", b, err)
	}
}

// TestNothingOpen: if no shard takes new players, they are spread over all, for nodes that
// have open ones.
func TestNothingOpen(t *testing.T) {
	ports := openShards(t, Options{}, 4)
	ports[0].SetOpenShards(0)
	from := strangers(t, 64)
	sayHello(t, from, ports[0].Addr())
	c := dialPort(t, ports[0])
	c.Send(tokenPacket(t, 0))
	for k, packets := range gather(t, ports, 65) {
		if len(packets) == 0 {
			t.Errorf("shard %d got nothing", k)
		}
	}
}
