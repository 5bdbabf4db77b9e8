package wire

import (
	"bytes"
	"encoding/binary"
)

// Packet is one whole packet, with memory that decoding reuses: a loop with one Packet decodes
// without allocating. The zero value is usable.
//
// A Packet must not be copied after its first use, and belongs to one
// goroutine at a time.
type Packet struct {
	Header
	// Message is the base payload: a pointer to the type of its control code, to Fragment if
	// flag 0x10 is set, or to Unknown. The next Decode of the same Packet overwrites its
	// target.
	Message Message
	// Ext are the extension fields in the order of the packet. The next Decode overwrites them.
	Ext Ext
	// Rest are bytes of the base payload that receivers ignore: the payload of an empty
	// request, bytes after the end of a move.
	Rest []byte

	fragment Fragment
	unknown  Unknown
	messages [len(controls)]message // created on first use, then reused
}

var errExtAndFragment = invalid("flags 0x08 and 0x10 exclude each other")
var errMayNotFragment = invalid("this control code does not travel in fragments")

// Decode decodes the packet at the start of b; bytes after it are ignored. All byte slices in p
// are views into b. After an error Message is nil.
func (p *Packet) Decode(b []byte) error {
	p.reset()
	size, err := Size(b)
	if err != nil {
		p.Header = Header{}
		return err
	}
	_ = p.Header.Read(b) // cannot fail after Size
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

// DecodePayload decodes a payload that is not a fragment: the extension trailer, if there is
// one, and the message of h.Ctrl. With the header of any fragment it decodes the joined payload
// of a Reassembler, which may be longer than MaxPayload.
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

// reset clears everything but the header.
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

// Decode decodes a copy of the packet at the start of b. Loops use Packet.Decode, which does
// not allocate and also returns the extensions.
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

// Append encodes a packet and appends it to dst. On an error it returns dst unchanged.
//
// If the header's Ctrl is 0, it is that of the message. A payload over 1200 bytes returns
// ErrTooLong: encode it with AppendPayload and split it with NewTransfer. Append is generic so
// that passing a message by value does not allocate.
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

// AppendPayload encodes only a payload of any length, with its extension trailer, for
// NewTransfer. On an error it returns dst unchanged.
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

// prepare sets the header's control code and flags for a message of control code c.
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
