package profile

import (
	"time"

	"wamble"
	"wamble/internal/link"
	"wamble/internal/pack"
	"wamble/internal/session"
)

// Packet is a datagram, or a packet out of a WebSocket message.
type Packet struct {
	Peer wamble.Peer
	Data []byte
}

func (in *Packet) apply(p *Profile, out *Output) {
	p.setCurrent(in.Data)
	got := p.receive(p.clock.since, in, out)
	switch got.Verdict {
	case link.New:
		r := &p.scratch.request
		*r = request{
			id: got.Request, h: got.Packet.Header, message: got.Packet.Message, ext: got.Packet.Ext, data: in.Data,
			granted: got.Granted,
		}
		p.request(r, out)
	case link.Delivered, link.Duplicate: // a sign of life
		s := p.sessions.Find(got.Packet.Token)
		switch acks := got.Verdict == link.Delivered; {
		case s != nil:
			if acks && got.Packet.Seq == 0 {
				s.SetSigns()
			}
			p.noteActivity(s, in.Peer)
		case acks:
			p.acceptByACK(in.Peer, got.Packet.Token, out)
		}
	}
}

// receive passes a packet to the link.
func (n *network) receive(since time.Duration, in *Packet, out *Output) *link.Received {
	if n.Clock == nil {
		return n.link.Receive(since, in.Peer, in.Data, &out.Packets)
	}
	began := n.Clock()
	got := n.link.Receive(since, in.Peer, in.Data, &out.Packets)
	n.linkTime += n.Clock().Sub(began)
	return got
}

// LinkTime returns how long the link has handled packets so far, by Clock.
func (p *Profile) LinkTime() time.Duration { return p.linkTime }

// setCurrent records the packet that is being handled.
func (n *network) setCurrent(packet []byte) {
	n.currentPacket = packet
	if n.BeforePacket != nil {
		n.BeforePacket(packet)
	}
}

// CurrentPacket returns the packet during whose handling Step has panicked; nil if there was none. For a request
// that waited for a load it is the packet of that request.
func (p *Profile) CurrentPacket() []byte { return p.currentPacket }

// Classify says in which order a waiting packet is handled: see link.Endpoint.Classify. It is no input, and changes
// nothing that a step depends on.
func (p *Profile) Classify(from wamble.Peer, packet []byte) (class link.Class, cookie bool) {
	return p.link.Classify(from, packet)
}

func (in *Packet) pack(w *pack.Writer) {
	PackPeer(w, in.Peer)
	w.Bytes(in.Data)
}

func (in *Packet) unpack(r *pack.Reader) { in.Peer, in.Data = unpackPeer(r), r.Bytes() }

// PeerClosed is the end of a WebSocket connection.
type PeerClosed struct{ Peer wamble.Peer }

func (in *PeerClosed) apply(p *Profile, _ *Output) {
	p.scratch.tokens = p.link.TokensAt(in.Peer, p.scratch.tokens[:0])
	p.link.Forget(in.Peer)
	for _, token := range p.scratch.tokens {
		p.disconnected(p.sessions.Find(token))
	}
}

// disconnected handles that a session may have lost its last connection.
func (p *Profile) disconnected(s *session.Session) {
	if s == nil {
		return
	}
	if _, ok := p.link.Home(s.Token()); !ok {
		p.boards.Closed(p.clock.now, s.ID())
		p.endVisit(s)
		p.loseTurn(s)
	}
}
