package transport

import (
	"bufio"
	"crypto/rand"
	"encoding/binary"
	"net"
	"slices"
	"strings"
	"sync"
	"unicode/utf8"

	"wamble"
	"wamble/wire"
)

// jsonPath is appended to the WebSocket's path for connections that carry JSON.
const jsonPath = "/json"

const (
	// jsonAsked is how many requests of a connection are remembered with their ids: as many as
	// may be in flight.
	jsonAsked = 64
	// jsonFaults is how many invalid messages in a row are answered before the connection is
	// closed.
	jsonFaults = 16
	// jsonText is the largest text buffer in bytes that is kept for reuse.
	jsonText = 16 << 10
	// jsonLimit is the reason of an ERROR for a request over a rate limit, whose packet has no
	// reason.
	jsonLimit = "too many requests: wait a second, then ask again"
)

// jsonSide translates between the JSON objects of a connection and packets, so that the rest of
// the server handles packets only. It numbers requests, holds the session's token, and matches
// answers to requests. The connection's reader and writer both use it.
type jsonSide struct {
	mu    sync.Mutex // guards token to acks
	token wamble.Token
	seq   uint32
	asked []askedJSON // oldest first
	acks  uint64      // ACKs counted so far

	packet []byte // used by the reader: the last request
	faults int    // used by the reader: invalid messages in a row

	decoded wire.Packet // used by the writer, like join and text
	join    wire.Reassembler
	text    []byte
}

// askedJSON is a request without its answer so far.
type askedJSON struct {
	id    []byte // as the client wrote it; nil if absent
	seq   uint32
	ctrl  wire.Control
	acked uint64 // number of the ACK that the request got, counted per connection from 1; 0 before it
}

// newJSONConn starts a server's connection that carries JSON. It sends pings: original clients,
// which do not answer them, have no JSON.
func newJSONConn(nc net.Conn, r *bufio.Reader, peer wamble.Peer, t Timing) *Conn {
	f := newFrameReader(r, true)
	f.data = opText
	return startConn(nc, peer, t, false, true, f, newJSONSide())
}

// newJSONSide starts its sequence numbers at a random value, so that a client that reconnects
// does not reuse the numbers of its earlier connection.
func newJSONSide() *jsonSide {
	var first [4]byte
	rand.Read(first[:])
	return &jsonSide{seq: binary.BigEndian.Uint32(first[:]) >> 1}
}

// readObject turns the current message into a packet. It returns nil without an error if the
// message was invalid; its answer is queued.
func (c *Conn) readObject() ([]byte, error) {
	text := c.unread
	c.unread = nil
	if !utf8.Valid(text) {
		return nil, &CloseError{Code: CloseBadText, Reason: "not UTF-8"}
	}
	o, err := wire.ParseObject(text)
	if err == nil {
		if err = c.json.request(&o); err == nil {
			c.json.faults = 0
			return c.json.packet, nil
		}
	}
	if c.json.faults++; c.json.faults > jsonFaults {
		return nil, protocolError("too many messages that are no request")
	}
	answer, err := c.json.refuse(&o, err)
	if err != nil {
		return nil, err
	}
	switch err := c.Send(answer); err {
	case nil, net.ErrClosed:
		return nil, nil
	default:
		return nil, err
	}
}

// request encodes an object as a packet into j.packet.
func (j *jsonSide) request(o *wire.Object) error {
	info, known := o.Ctrl.Info()
	switch {
	case !known:
		return &wamble.Denied{Code: wamble.AccessDenied, Reason: "there is no such control code"}
	case info.From == wire.FromServer:
		return &wamble.Denied{Code: wamble.AccessDenied, Reason: o.Ctrl.String() + " is sent by servers"}
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	if !o.Named {
		o.Token = j.token
	}
	if o.Token.IsZero() && !info.ZeroToken {
		return &wamble.Denied{Code: wamble.UnknownPlayer, Reason: "no session: say CLIENT_HELLO first", Blocking: true}
	}
	if o.Ctrl == wire.CtrlAck {
		return j.encode(o)
	}
	next := j.seq + 1
	if o.Numbered {
		next = o.Seq
	}
	o.Seq = next
	readsAll(o)
	if err := j.encode(o); err != nil {
		return err
	}
	j.seq = next
	j.remember(o)
	return nil
}

func (j *jsonSide) encode(o *wire.Object) (err error) {
	j.packet, err = wire.Append(j.packet[:0], o.Header, o.Message, o.Ext...)
	return err
}

// readsAll adds a field without effect to a request that has none of ours, so that link does not take the client
// for one that reads wire.OldMaxFields fields at most. A hello with a trailer must ask for its capabilities.
func readsAll(o *wire.Object) {
	if o.Ext.HasOurs() || len(o.Ext) == wire.MaxFields {
		return
	}
	if o.Ctrl == wire.CtrlClientHello && o.Flags&(wire.CapHotReload|wire.CapProfileState) == 0 && len(o.Ext) == 0 {
		o.Flags |= wire.CapHotReload | wire.CapProfileState
	}
	o.Ext = append(o.Ext, wire.Int(wire.KeyHelloWithoutBoard, 0))
}

// remember records a request, so that its answer gets its id. Beyond jsonAsked the oldest is
// forgotten.
func (j *jsonSide) remember(o *wire.Object) {
	j.asked = slices.DeleteFunc(j.asked, func(a askedJSON) bool { return a.seq == o.Seq })
	if len(j.asked) == jsonAsked {
		j.asked = slices.Delete(j.asked, 0, 1)
	}
	a := askedJSON{id: o.ID, seq: o.Seq, ctrl: o.Ctrl}
	if o.Flags.Unreliable() { // answered without an ACK
		j.acks++
		a.acked = j.acks
	}
	j.asked = append(j.asked, a)
}

// refuse returns the ERROR that answers an invalid object.
func (j *jsonSide) refuse(o *wire.Object, why error) ([]byte, error) {
	denied, ok := why.(*wamble.Denied)
	if !ok {
		denied = &wamble.Denied{Code: wamble.AccessDenied,
			Reason: strings.TrimPrefix(why.Error(), wire.ErrInvalid.Error()+": ")}
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	j.seq++
	o.Seq = j.seq
	j.remember(o)
	ext := []wire.Field{wire.Int(wire.KeyRequestSeq, int64(o.Seq))}
	if denied.Blocking {
		ext = append(ext, wire.Int(wire.KeyErrorBlocking, 1))
	}
	reason := wire.Limit(strings.ToValidUTF8(denied.Reason, "?"), wire.TextLimit)
	return wire.Append(nil, wire.Header{Flags: wire.FlagUnreliable},
		wire.Error{Code: denied.Code, Reason: wire.Text(reason)}, ext...)
}

// object returns a packet as JSON text, valid until the next call; nil if the packet is a
// fragment of an incomplete payload, or invalid.
func (j *jsonSide) object(packet []byte) []byte {
	p := &j.decoded
	if p.Decode(packet) != nil {
		return nil
	}
	if f, ok := p.Message.(*wire.Fragment); ok {
		payload, err := j.join.Add(p.Ctrl, f)
		if err != nil || payload == nil || p.DecodePayload(p.Header, payload) != nil {
			return nil
		}
	}
	id := j.answered(p)
	if cap(j.text) > jsonText {
		j.text = nil
	}
	var err error
	if j.text, err = wire.AppendObject(j.text[:0], id, p); err != nil {
		return nil
	}
	return j.text
}

// answered returns the id of the request that a packet answers, nil if there is none. It
// removes from the header what a JSON client does not need: the known token, the delivery
// flags, and the sequence number unless the packet is an ACK.
func (j *jsonSide) answered(p *wire.Packet) (id []byte) {
	j.mu.Lock()
	defer j.mu.Unlock()
	switch {
	case p.Ctrl == wire.CtrlServerHello || p.Ctrl == wire.CtrlLoginSuccess:
		j.token = p.Token
	case p.Token == j.token:
		p.Token = wamble.Token{}
	}
	i := j.find(p)
	if e, ok := p.Message.(*wire.Error); ok && len(e.Reason) == 0 && overLimit(p) {
		e.Reason = wire.Text(jsonLimit)
	}
	if p.Flags &^= wire.FlagUnreliable; p.Ctrl != wire.CtrlAck {
		p.Seq = 0
	}
	if i < 0 {
		return nil
	}
	id = j.asked[i].id
	if info, _ := j.asked[i].ctrl.Info(); p.Ctrl == wire.CtrlAck && len(info.Replies) > 0 {
		j.acks++
		j.asked[i].acked = j.acks
	} else {
		j.asked = slices.Delete(j.asked, i, i+1)
	}
	return id
}

// find returns the index of the request that a packet answers, or -1. An answer without
// KeyRequestSeq belongs to the request that was acknowledged first among those that expect its
// control code.
func (j *jsonSide) find(p *wire.Packet) int {
	if p.Ctrl == wire.CtrlAck {
		return slices.IndexFunc(j.asked, func(a askedJSON) bool { return a.seq == p.Seq })
	}
	if seq, ok := p.Ext.Int(wire.KeyRequestSeq); ok {
		return slices.IndexFunc(j.asked, func(a askedJSON) bool { return a.seq == uint32(seq) })
	}
	switch p.Ctrl {
	case wire.CtrlBoardUpdate: // pushed: a BOARD_UPDATE that answers names its request
		return -1
	case wire.CtrlError: // over a limit: refuses the last request, if that has no ACK
		if i := len(j.asked) - 1; i >= 0 && j.asked[i].acked == 0 {
			return i
		}
		return -1
	}
	best := -1
	for i, a := range j.asked {
		if a.acked > 0 && a.expects(p.Ctrl) && (best < 0 || a.acked < j.asked[best].acked) {
			best = i
		}
	}
	return best
}

// overLimit reports whether an ERROR refuses a request over a rate limit: only such an ERROR
// has neither the request's number nor a cookie.
func overLimit(p *wire.Packet) bool {
	_, named := p.Ext.Int(wire.KeyRequestSeq)
	return p.Flags.Unreliable() && !named && p.Ext.View(wire.KeyHelloCookie) == nil
}

func (a *askedJSON) expects(c wire.Control) bool {
	info, _ := a.ctrl.Info()
	return slices.Contains(info.Replies, c) || c == wire.CtrlLoginFailed && a.ctrl == wire.CtrlLoginRequest
}
