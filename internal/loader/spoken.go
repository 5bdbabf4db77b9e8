package loader

import (
	"context"
	"fmt"
	"net/url"
	"strconv"
	"sync"

	"wamble"
	"wamble/internal/transport"
	"wamble/wire"
)

// spoken are the connections of clients that speak JSON. It translates between packets, which
// clients use, and JSON objects.
type spoken struct {
	arrivals
	tongues []*tongue
}

// tongue is the connection of one client.
type tongue struct {
	conn *transport.Conn

	out     wire.Packet // used by the sender
	text    []byte
	numbers uint32 // used by the reader: the numbers of packets, which JSON objects lack

	mu    sync.Mutex
	token wamble.Token // session token that both sides know
}

// openSpoken opens a connection for each client.
func openSpoken(ctx context.Context, o Options, clients int) (*spoken, error) {
	s := &spoken{}
	s.open()
	u := &url.URL{Scheme: "ws", Host: o.Server.String(), Path: "/ws/json"}
	for i := range clients {
		conn, err := transport.DialText(ctx, u, nil, transport.Timing{})
		if err != nil {
			s.close()
			return nil, fmt.Errorf("connection %d of %d: %w", i+1, clients, err)
		}
		t := &tongue{conn: conn}
		s.tongues = append(s.tongues, t)
		s.readers.Add(1)
		go s.readFrom(uint32(i), t)
	}
	return s, nil
}

// readFrom queues what one client receives.
func (s *spoken) readFrom(number uint32, t *tongue) {
	defer s.readers.Done()
	for {
		text, err := t.conn.Next()
		if err != nil {
			t.conn.Finish(err)
			return
		}
		b := s.buffers.Get().(*[wire.MaxPacket]byte)
		packet, err := t.packet(b[:0], text)
		if err != nil || len(packet) > len(b) {
			packet = append(b[:0], "not a packet"...) // counted as malformed
		}
		s.put(datagram{number, packet})
	}
}

// packet encodes an object as a packet.
func (t *tongue) packet(dst, text []byte) ([]byte, error) {
	o, err := wire.ParseObject(text)
	if err != nil {
		return dst, err
	}
	t.mu.Lock()
	if o.Ctrl == wire.CtrlServerHello {
		t.token = o.Token
	} else if !o.Named {
		o.Token = t.token
	}
	t.mu.Unlock()
	if o.Ctrl != wire.CtrlAck {
		t.numbers++
		o.Seq = t.numbers
	}
	return wire.Append(dst, o.Header, o.Message, o.Ext...)
}

// send sends a packet as an object. It leaves out what JSON does not need: ACKs and the known
// token.
func (s *spoken) send(number uint32, packet []byte) {
	t := s.tongues[number]
	if t.out.Decode(packet) != nil || t.out.Ctrl == wire.CtrlAck {
		return
	}
	t.mu.Lock()
	if t.out.Ctrl == wire.CtrlClientHello {
		t.token = t.out.Token
	} else if t.out.Token == t.token {
		t.out.Token = wamble.Token{}
	}
	t.mu.Unlock()
	var id [10]byte
	var err error
	if t.text, err = wire.AppendObject(t.text[:0], strconv.AppendUint(id[:0], uint64(t.out.Seq), 10),
		&t.out); err == nil {
		t.conn.Send(t.text)
	}
}

func (s *spoken) addresses() uint32 { return uint32(len(s.tongues)) }

func (s *spoken) close() {
	for _, t := range s.tongues {
		t.conn.Abort()
	}
	s.readers.Wait()
}
