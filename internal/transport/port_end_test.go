package transport

import (
	"context"
	"errors"
	"io"
	"net"
	"net/netip"
	"os"
	"testing"
	"time"

	"wamble"
)

func TestPortShutdown(t *testing.T) {
	cases := []struct {
		name string
		code uint16
		want uint16 // close code at the client; 0: the stream just ends
	}{
		{"restart", CloseGoingAway, CloseGoingAway},
		{"stop", 0, 0},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			p := openPort(t, Options{}, nil)
			ws := dialPort(t, p)
			ws.Send(packet(t, 1, 1))
			got, _ := receive(t, p, 1, 0)
			p.Send(Packets{{Peer: got[0].Peer, Data: packet(t, 5, 1)}})
			done := make(chan error)
			go func() { done <- p.Shutdown(context.Background(), c.code) }()
			var err error
			for err == nil {
				var b []byte
				if b, err = ws.Next(); err == nil && wireSeq(t, b) != 5 {
					t.Errorf("got % x", b)
				}
			}
			ws.Finish(err)
			var closed *CloseError
			if errors.As(err, &closed) != (c.want != 0) ||
				(closed != nil && (closed.Code != c.want || !closed.Remote)) {
				t.Errorf("the client saw %v, want close code %d", err, c.want)
			}
			if err := <-done; err != nil {
				t.Error(err)
			}
			if p.Stats().Open != 0 {
				t.Errorf("%d connections are open", p.Stats().Open)
			}
			// UDP is not touched.
			udp := listenTestUDP(t, "127.0.0.1:0", UDPOptions{})
			udp.Write(Packets{{Peer: wamble.Peer{Addr: p.Addr()}, Data: packet(t, 6, 1)}})
			receive(t, p, 1, 0)
		})
	}
}

// A client that sends while the server closes still receives the close code, and answers that
// are on their way.
func TestPortShutdownWhileSending(t *testing.T) {
	p := openPort(t, Options{}, nil)
	nc := dialTCPTest(t, p)
	io.WriteString(nc, handshakeRequest)
	readHead(t, nc)
	nc.Write(appendFrame(nil, opBinary, packet(t, 1, 1), &maskKey{}))
	got, _ := receive(t, p, 1, 0)
	for range 10 {
		p.Send(Packets{{Peer: got[0].Peer, Data: packet(t, 5, 1000)}})
	}
	done := make(chan error, 1)
	go func() { done <- p.Shutdown(context.Background(), CloseGoingAway) }()
	f := newFrameReader(nc, false)
	answers := 0
	for {
		op, payload, err := f.next()
		if err != nil {
			t.Fatalf("after %d bytes of answers: %v", answers, err)
		}
		if op == opClose {
			if code, _, _ := parseClose(payload); code != CloseGoingAway {
				t.Errorf("close code %d", code)
			}
			break
		}
		answers += len(payload)
		for range 100 { // these are never read
			nc.Write(appendFrame(nil, opBinary, packet(t, 2, 1), &maskKey{}))
		}
	}
	if want := 10 * len(packet(t, 5, 1000)); answers != want {
		t.Errorf("%d bytes of answers, want %d", answers, want)
	}
	nc.Write(appendFrame(nil, opClose, closePayload(CloseGoingAway, ""), &maskKey{}))
	if err := <-done; err != nil {
		t.Error(err)
	}
}

// A client that ignores the close frame is cut off when the context ends.
func TestPortShutdownCuts(t *testing.T) {
	p := openPort(t, Options{WebSocket: GatewayOptions{Timing: Timing{Linger: time.Hour}}}, nil)
	nc, err := net.Dial("tcp", p.TCPAddr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer nc.Close()
	io.WriteString(nc, handshakeRequest)
	readHead(t, nc)
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer cancel()
	p.Shutdown(ctx, CloseGoingAway)
	if p.Stats().Open != 0 {
		t.Error("the connection is still open")
	}
}

func TestPortDisconnect(t *testing.T) {
	p := openPort(t, Options{}, nil)
	ws := dialPort(t, p)
	ws.Send(packet(t, 1, 1))
	got, _ := receive(t, p, 1, 0)
	p.Disconnect(got[0].Peer, 1008, "enough")
	_, err := ws.Next()
	var closed *CloseError
	if !errors.As(err, &closed) || closed.Code != 1008 || closed.Reason != "enough" {
		t.Errorf("the client saw %v", err)
	}
	ws.Finish(err)
	if _, ended := receive(t, p, 0, 1); ended[0] != got[0].Peer {
		t.Errorf("ended %v, want %v", ended[0], got[0].Peer)
	}
	p.Disconnect(got[0].Peer, 1008, "again") // gone already: nothing happens
}

func TestPortAdopt(t *testing.T) {
	old, err := Listen(Options{Address: netip.MustParseAddrPort("127.0.0.1:0")})
	if err != nil {
		t.Fatal(err)
	}
	udp, tcp := duplicate(t, old.UDP()), duplicate(t, old.TCP())
	address := old.Addr()
	old.Close()
	p, err := only(AdoptShards([]*os.File{udp}, tcp, Options{}, 1))
	if err != nil {
		t.Fatal(err)
	}
	go p.Serve(nil, nil)
	defer p.Close()
	if p.Addr() != address || p.TCPAddr() != address {
		t.Errorf("adopted %s and %s, want %s", p.Addr(), p.TCPAddr(), address)
	}
	ws := dialPort(t, p)
	ws.Send(packet(t, 1, 1))
	receive(t, p, 1, 0)

	udp, tcp = duplicate(t, p.UDP()), duplicate(t, p.UDP())
	if _, err := only(AdoptShards([]*os.File{udp}, tcp, Options{}, 1)); err == nil {
		t.Error("a UDP socket was adopted as TCP")
	}
	udp, tcp = duplicate(t, p.TCP()), duplicate(t, p.TCP())
	if _, err := only(AdoptShards([]*os.File{udp}, tcp, Options{}, 1)); err == nil {
		t.Error("a TCP listener was adopted as UDP")
	}
}
