package profile

import (
	"wamble"
	"wamble/internal/link"
	"wamble/internal/pack"
)

// Packet is a datagram, or a packet out of a WebSocket message.
type Packet struct {
	Peer wamble.Peer
	Data []byte
}

func (in *Packet) take(p *Profile, out *Output) {
	got := p.link.Receive(p.clock.since, in.Peer, in.Data, &out.Packets)
	switch got.Verdict {
	case link.New:
		r := &p.scratch.request
		*r = request{id: got.Request, h: got.Packet.Header, message: got.Packet.Message, ext: got.Packet.Ext, data: in.Data, granted: got.Granted}
		p.request(r, out)
	case link.Delivered:
		if s := p.sessions.Find(got.Packet.Token); s != nil {
			p.hear(s)
		}
	}
}

func (in *Packet) pack(w *pack.Writer) {
	PackPeer(w, in.Peer)
	w.Bytes(in.Data)
}

func (in *Packet) unpack(r *pack.Reader) { in.Peer, in.Data = unpackPeer(r), r.Bytes() }

// PeerClosed is the end of a WebSocket connection.
type PeerClosed struct{ Peer wamble.Peer }

func (in *PeerClosed) take(p *Profile, _ *Output) { p.link.Forget(in.Peer) }
