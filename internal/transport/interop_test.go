package transport

import (
	"bytes"
	"io"
	"net"
	"net/http/httptest"
	"net/url"
	"testing"

	"golang.org/x/net/websocket"
)

// Another implementation of RFC 6455 speaks to our gateway.
func TestForeignClient(t *testing.T) {
	p := openPort(t, Options{}, nil)
	host := p.TCPAddr().String()
	c, err := websocket.Dial("ws://"+host+"/ws", "", "http://"+host)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	c.PayloadType = websocket.BinaryFrame
	sent := append(packet(t, 1, 1000), packet(t, 2, 1)...)
	if _, err := c.Write(sent); err != nil {
		t.Fatal(err)
	}
	got, _ := receive(t, p, 2, 0)
	p.Send(Packets(got))
	back := make([]byte, len(sent))
	if _, err := io.ReadFull(c, back); err != nil || !bytes.Equal(back, sent) {
		t.Errorf("%d bytes came back, %v; want %d", len(back), err, len(sent))
	}
	c.Close()
	receive(t, p, 0, 1)
}

// Our client speaks to another implementation's server.
func TestForeignServer(t *testing.T) {
	s := httptest.NewServer(websocket.Server{Handler: func(c *websocket.Conn) {
		var message []byte // whole ones: a packet does not span two
		for websocket.Message.Receive(c, &message) == nil {
			websocket.Message.Send(c, message)
		}
	}})
	defer s.Close()
	u, err := url.Parse("ws" + s.URL[len("http"):])
	if err != nil {
		t.Fatal(err)
	}
	c, err := DialWebSocket(t.Context(), u, nil, Timing{})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Finish(net.ErrClosed)
	for i := range uint32(50) {
		c.Send(packet(t, i, 1+int(i)*20))
	}
	for i := range uint32(50) {
		got, err := c.Next()
		if err != nil || !bytes.Equal(got, packet(t, i, 1+int(i)*20)) {
			t.Fatalf("packet %d: %d bytes, %v", i, len(got), err)
		}
	}
}
