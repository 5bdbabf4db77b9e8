package wire

import (
	"bytes"
	"encoding/binary"
)

// Packet is one whole packet, and the memory that decoding reuses: a loop that
// keeps one Packet decodes without allocating. The zero value is ready.
//
// A Packet must not be copied after its first use, and belongs to one
// goroutine at a time.
type Packet struct {
	Header
	// Message is the base payload: a pointer to the type of its control code,
	// to Fragment when flag 0x10 is set, or to Unknown. The next Decode of the
	// same Packet overwrites what it points to.
	Message Message
	// Ext are the extension fields in the order of the wire. The next Decode
	// overwrites them.
	Ext Ext
	// Rest are the bytes of the base payload that receivers ignore: the payload of
	// an empty request, bytes after the end of a move.
	Rest []byte

	fragment Fragment
	unknown  Unknown
	messages [len(controls)]message // made on first use, then reused
}

var errExtAndFragment = invalid("flags 0x08 and 0x10 exclude each other")
var errMayNotFragment = invalid("this control code does not travel in fragments")

// Decode reads the packet that b begins with; bytes after it are ignored. All
// byte slices in p are views into b: they are good until b changes. After an
// error Message is nil.
func (p *Packet) Decode(b []byte) error {
	p.reset()
	size, err := Size(b)
	if err != nil {
		p.Header = Header{}
		return err
	}
	_ = p.Header.Read(b) // Size has checked it
	payload := b[HeaderSize:size]
	if p.Flags&FlagFragment == 0 {
		return p.decodePayload(payload)
	}
	if p.Flags&FlagExt != 0 {
		return errExtAndFragment
	}
	if !p.Ctrl.MayFragment() {
		return errMayNotFragment
	}
	if err := p.fragment.decode(payload); err != nil {
		return err
	}
	p.Message = &p.fragment
	return nil
}

// DecodePayload reads a payload that is not in a fragment: the extension
// trailer, if there is one, and the message of h.Ctrl. With the header of any of
// its fragments it reads a payload that a Reassembler has joined; then payload
// may be longer than MaxPayload.
func (p *Packet) DecodePayload(h Header, payload []byte) error {
	p.reset()
	p.Header = h
	return p.decodePayload(payload)
}

func (p *Packet) decodePayload(payload []byte) error {
	var base []byte
	var err error
	base, p.Ext, err = decodeTrailer(p.Ext, payload, p.Flags&(FlagExt|FlagFragment) == FlagExt)
	if err != nil {
		return err
	}
	m := p.slot(p.Ctrl)
	if p.Rest, err = m.decode(base); err != nil {
		return err
	}
	p.Message = m
	return nil
}

// reset forgets all but the header.
func (p *Packet) reset() { p.Message, p.Rest, p.Ext = nil, nil, p.Ext[:0] }

// slot returns the reused message of c.
func (p *Packet) slot(c Control) message {
	if !c.Known() {
		return &p.unknown
	}
	if p.messages[c] == nil {
		p.messages[c] = controls[c].payload()
	}
	return p.messages[c]
}

// Decode reads the packet that b begins with into memory of its own. Loops use
// Packet.Decode, which does not allocate and also gives the extensions.
func Decode(b []byte) (Header, Message, error) {
	var p Packet
	if err := p.Decode(bytes.Clone(b)); err != nil {
		return Header{}, nil, err
	}
	return p.Header, p.Message, nil
}

var (
	errWrongControl = invalid("the message belongs to another control code than the header")
	errPacketFull   = tooLong("payload is over 1200 bytes and must travel in fragments")
)

// Append encodes a packet and appends it to dst. On an error dst is returned
// unchanged.
//
// The header's Ctrl may be 0; then it is that of the message. A payload over 1200
// bytes gives ErrTooLong: encode it with AppendPayload and cut it with
// NewTransfer. Append is generic only so that passing a message by value does
// not allocate.
func Append[M Message](dst []byte, h Header, m M, ext ...Field) ([]byte, error) {
	fragment := isFragment(m)
	if err := h.prepare(m.Control(), fragment); err != nil {
		return dst, err
	}
	start := len(dst)
	out, hasExt, err := appendPayload(h.append(dst), m, ext, fragment)
	if err != nil {
		return dst, err
	}
	n := len(out) - start - HeaderSize
	if n > MaxPayload {
		return dst, errPacketFull
	}
	if hasExt {
		out[start+1] |= byte(FlagExt)
	}
	binary.BigEndian.PutUint16(out[start+32:], uint16(n))
	return out, nil
}

// AppendPayload encodes only a payload, with its extension trailer, of any
// length: what NewTransfer cuts into fragments. On an error dst is returned
// unchanged.
func AppendPayload[M Message](dst []byte, m M, ext ...Field) ([]byte, error) {
	out, _, err := appendPayload(dst, m, ext, false)
	if err != nil {
		return dst, err
	}
	return out, nil
}

func appendPayload[M Message](dst []byte, m M, ext Ext, fragment bool) ([]byte, bool, error) {
	start := len(dst)
	out, err := m.append(dst)
	if err != nil || fragment {
		return out, false, err
	}
	return appendTrailer(out, start, ext)
}

func isFragment(m any) bool {
	switch m.(type) {
	case Fragment, *Fragment:
		return true
	}
	return false
}

// prepare makes the header that is sent with a message of control code c.
func (h *Header) prepare(c Control, fragment bool) error {
	h.Flags &^= FlagExt | FlagFragment
	if fragment {
		h.Flags |= FlagFragment
		if !h.Ctrl.MayFragment() {
			return errMayNotFragment
		}
		return nil
	}
	switch {
	case c == 0:
		return nil
	case h.Ctrl != 0 && h.Ctrl != c:
		return errWrongControl
	}
	h.Ctrl = c
	return nil
}
