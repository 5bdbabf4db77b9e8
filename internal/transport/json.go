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

// jsonPath is the end of the path of connections that speak JSON.
const jsonPath = "/json"

const (
	// jsonAsked is how many requests of a connection are remembered with their
	// ids: as many as may be in flight.
	jsonAsked = 64
	// jsonFaults is how many messages in a row may be no request. Each is
	// answered; then the connection ends.
	jsonFaults = 16
	// jsonText is how many bytes of a text are kept for the next one.
	jsonText = 16 << 10
	// jsonLimit is the reason of the refusal of a request over a limit, which a packet
	// has no room for.
	jsonLimit = "too many requests: wait a second, then ask again"
)

// jsonSide is the far end of a connection that speaks JSON: it turns objects into
// packets and packets into objects, so that nobody behind it sees a difference. It
// numbers requests, knows the token of the session, and finds the request that an
// answer belongs to. The connection's reader and its writer use it.
type jsonSide struct {
	mu    sync.Mutex // guards what follows, up to the next blank line
	token wamble.Token
	seq   uint32
	asked []askedJSON // oldest first
	acks  uint64      // so far

	packet []byte // of the reader: the last request
	faults int    // of the reader: messages in a row that are no request

	decoded wire.Packet // of the writer, as what follows
	join    wire.Reassembler
	text    []byte
}

// askedJSON is a request whose answer is still to come.
type askedJSON struct {
	id    []byte // as the caller wrote it; nil: none
	seq   uint32
	ctrl  wire.Control
	acked uint64 // which ACK of the connection it got, from 1; 0: none yet
}

// newJSONConn starts a connection that speaks JSON. Its far end answers pings: what
// speaks text is no client of the original.
func newJSONConn(nc net.Conn, r *bufio.Reader, peer wamble.Peer, t Timing) *Conn {
	f := newFrameReader(r, true)
	f.data = opText
	return startConn(nc, peer, t, false, true, f, newJSONSide())
}

// newJSONSide counts from a random number: a client that comes back begins a new run
// of numbers, which must not look like the one before.
func newJSONSide() *jsonSide {
	var first [4]byte
	rand.Read(first[:])
	return &jsonSide{seq: binary.BigEndian.Uint32(first[:]) >> 1}
}

// readObject turns the message in hand into a packet. Nil without an error: it was
// no request, and its answer is queued.
func (c *Conn) readObject() ([]byte, error) {
	text := c.rest
	c.rest = nil
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

// request makes the packet of an object.
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

// remember notes a request, whose answer has its id.
func (j *jsonSide) remember(o *wire.Object) {
	j.asked = slices.DeleteFunc(j.asked, func(a askedJSON) bool { return a.seq == o.Seq })
	if len(j.asked) == jsonAsked {
		j.asked = slices.Delete(j.asked, 0, 1)
	}
	a := askedJSON{id: o.ID, seq: o.Seq, ctrl: o.Ctrl}
	if o.Flags.Unreliable() { // gets no ACK
		j.acks++
		a.acked = j.acks
	}
	j.asked = append(j.asked, a)
}

// refuse is the ERROR that answers an object which is no request.
func (j *jsonSide) refuse(o *wire.Object, why error) ([]byte, error) {
	denied, ok := why.(*wamble.Denied)
	if !ok {
		denied = &wamble.Denied{Code: wamble.AccessDenied, Reason: strings.TrimPrefix(why.Error(), wire.ErrInvalid.Error()+": ")}
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
	return wire.Append(nil, wire.Header{Flags: wire.FlagUnreliable}, wire.Error{Code: denied.Code, Reason: wire.Text(reason)}, ext...)
}

// object returns the text of a packet to the far end; nil if there is none yet, because
// the packet is a fragment. It is good until the next call.
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

// answered returns the id of the request that a packet answers, if any, and takes
// from the header what the far end need not know: the token that it has, and how
// packets are repeated, but for the number that an ACK is about.
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

// find returns the request that a packet answers, or -1. Answers that do not name
// their request come in the order of the ACKs, behind them.
func (j *jsonSide) find(p *wire.Packet) int {
	if p.Ctrl == wire.CtrlAck {
		return slices.IndexFunc(j.asked, func(a askedJSON) bool { return a.seq == p.Seq })
	}
	if seq, ok := p.Ext.Int(wire.KeyRequestSeq); ok {
		return slices.IndexFunc(j.asked, func(a askedJSON) bool { return a.seq == uint32(seq) })
	}
	switch p.Ctrl {
	case wire.CtrlBoardUpdate: // a push: an answer names its request
		return -1
	case wire.CtrlError: // over a limit: the last request was not taken, and maybe others
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

// overLimit reports whether an ERROR refuses a request over a limit: only such a one
// neither names its request nor has a cookie.
func overLimit(p *wire.Packet) bool {
	_, named := p.Ext.Int(wire.KeyRequestSeq)
	return p.Flags.Unreliable() && !named && p.Ext.View(wire.KeyHelloCookie) == nil
}

func (a *askedJSON) expects(c wire.Control) bool {
	info, _ := a.ctrl.Info()
	return slices.Contains(info.Replies, c) || c == wire.CtrlLoginFailed && a.ctrl == wire.CtrlLoginRequest
}
