package transport

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"unicode/utf8"
)

// MaxMessage is the longest WebSocket message that either side accepts, in
// bytes. The original client has a buffer of this size.
const MaxMessage = 4096

// opcode is the kind of a frame (RFC 6455 §5.2).
type opcode byte

const (
	opContinuation opcode = 0x0
	opText         opcode = 0x1
	opBinary       opcode = 0x2
	opClose        opcode = 0x8
	opPing         opcode = 0x9
	opPong         opcode = 0xA
)

func (op opcode) control() bool { return op&0x8 != 0 }

// Close codes that this package sends (RFC 6455 §7.4.1).
const (
	CloseNormal    = 1000
	CloseGoingAway = 1001 // the server restarts: come back at once
	CloseProtocol  = 1002
	closeNoStatus  = 1005 // never on the wire: a close frame without a code
	CloseBadText   = 1007
	CloseTooBig    = 1009
)

// CloseError is the end of a connection by the rules of WebSocket. Remote says that the far end
// closed it; otherwise this end closes it because the far end broke the protocol.
type CloseError struct {
	Code   uint16
	Reason string
	Remote bool
}

func (e *CloseError) Error() string {
	by := "broke the protocol"
	if e.Remote {
		by = "closed the connection"
	}
	return fmt.Sprintf("websocket: the far end %s (%d) %s", by, e.Code, e.Reason)
}

func protocolError(reason string) error { return &CloseError{Code: CloseProtocol, Reason: reason} }

// maskKey masks a client's payload, so that the client cannot choose the bytes that a proxy
// sees (RFC 6455 §10.3).
type maskKey [4]byte

// apply masks or unmasks b, which starts at offset pos of its payload.
func (k maskKey) apply(b []byte, pos int) {
	for i := range b {
		b[i] ^= k[(pos+i)&3]
	}
}

// appendFrame appends one unfragmented frame. With a key, which clients must use, it masks the
// payload.
func appendFrame(dst []byte, op opcode, payload []byte, key *maskKey) []byte {
	dst = append(dst, 0x80|byte(op))
	masked := byte(0)
	if key != nil {
		masked = 0x80
	}
	switch n := len(payload); {
	case n < 126:
		dst = append(dst, masked|byte(n))
	case n <= 0xFFFF:
		dst = binary.BigEndian.AppendUint16(append(dst, masked|126), uint16(n))
	default:
		dst = binary.BigEndian.AppendUint64(append(dst, masked|127), uint64(n))
	}
	if key == nil {
		return append(dst, payload...)
	}
	dst = append(dst, key[:]...)
	start := len(dst)
	dst = append(dst, payload...)
	key.apply(dst[start:], 0)
	return dst
}

// closePayload returns the payload of a close frame: empty for closeNoStatus.
func closePayload(code uint16, reason string) []byte {
	if code == closeNoStatus {
		return nil
	}
	return append(binary.BigEndian.AppendUint16(nil, code), reason[:min(len(reason), 123)]...)
}

// frameReader reads the frames of one direction of a connection. It buffers one message of at
// most MaxMessage bytes and one control frame, and allocates nothing per frame.
type frameReader struct {
	r      io.Reader
	masked bool   // whether the far end is a client, whose frames are masked
	data   opcode // opcode of messages: opBinary or opText

	message    []byte // received bytes of the current message
	fragmented bool   // a message is in progress
	control    [125]byte
	head       [14]byte
}

func newFrameReader(r io.Reader, masked bool) *frameReader {
	return &frameReader{r: r, masked: masked, data: opBinary, message: make([]byte, 0, MaxMessage)}
}

// frameHeader is a frame without its payload.
type frameHeader struct {
	op   opcode
	fin  bool
	size int
	key  maskKey
}

// next returns the next whole message, ping, pong or close frame. The payload is valid until
// the next call. Control frames may come between the fragments of a message. A violation is a
// *CloseError with the code to send.
func (f *frameReader) next() (opcode, []byte, error) {
	for {
		h, err := f.header()
		if err != nil {
			return 0, nil, err
		}
		if h.op.control() {
			payload := f.control[:h.size]
			if err := f.payload(payload, h); err != nil {
				return 0, nil, err
			}
			return h.op, payload, nil
		}
		if !f.fragmented {
			f.message = f.message[:0]
		}
		start := len(f.message)
		f.message = f.message[:start+h.size]
		if err := f.payload(f.message[start:], h); err != nil {
			return 0, nil, err
		}
		f.fragmented = !h.fin
		if h.fin {
			return f.data, f.message, nil
		}
	}
}

// header reads and checks the header of a frame. The size is checked before any payload is
// read.
func (f *frameReader) header() (frameHeader, error) {
	b := f.head[:2]
	if _, err := io.ReadFull(f.r, b); err != nil {
		return frameHeader{}, err // io.EOF between frames
	}
	h := frameHeader{op: opcode(b[0] & 0x0F), fin: b[0]&0x80 != 0}
	masked, short := b[1]&0x80 != 0, b[1]&0x7F
	switch {
	case b[0]&0x70 != 0:
		return h, protocolError("reserved bits are set")
	case masked != f.masked:
		return h, protocolError("wrong masking")
	case h.op.control() && (!h.fin || short > 125):
		return h, protocolError("control frame is fragmented or too long")
	case h.op > opPong || (h.op > opBinary && h.op < opClose):
		return h, protocolError("unknown opcode")
	case h.op == opText && f.data != opText:
		return h, protocolError("text is not spoken here")
	case h.op == opBinary && f.data != opBinary:
		return h, protocolError("only text is spoken here")
	case h.op == opContinuation && !f.fragmented:
		return h, protocolError("nothing to continue")
	case h.op == f.data && f.fragmented:
		return h, protocolError("the message before is not complete")
	}
	return h, f.length(&h, short)
}

// length reads the rest of the header: extended length and mask.
func (f *frameReader) length(h *frameHeader, short byte) error {
	n := uint64(short)
	extra := 0
	switch short {
	case 126:
		extra = 2
	case 127:
		extra = 8
	}
	rest := f.head[2 : 2+extra]
	if f.masked {
		rest = f.head[2 : 2+extra+4]
	}
	if err := f.full(rest); err != nil {
		return err
	}
	switch short {
	case 126:
		n = uint64(binary.BigEndian.Uint16(rest))
	case 127:
		n = binary.BigEndian.Uint64(rest)
	}
	limit := uint64(MaxMessage)
	if f.fragmented && !h.op.control() {
		limit -= uint64(len(f.message))
	}
	if n > limit {
		return &CloseError{Code: CloseTooBig, Reason: "message over 4096 bytes"}
	}
	h.size = int(n)
	if f.masked {
		h.key = maskKey(rest[extra:])
	}
	return nil
}

// payload reads and unmasks the payload of a frame into b.
func (f *frameReader) payload(b []byte, h frameHeader) error {
	if err := f.full(b); err != nil {
		return err
	}
	if f.masked {
		h.key.apply(b, 0)
	}
	return nil
}

// full reads all of b; an end of the stream is io.ErrUnexpectedEOF.
func (f *frameReader) full(b []byte) error {
	_, err := io.ReadFull(f.r, b)
	if errors.Is(err, io.EOF) {
		return io.ErrUnexpectedEOF
	}
	return err
}

// parseClose reads the payload of a close frame.
func parseClose(b []byte) (code uint16, reason string, err error) {
	switch {
	case len(b) == 0:
		return closeNoStatus, "", nil
	case len(b) == 1:
		return 0, "", protocolError("close code is cut")
	}
	code = binary.BigEndian.Uint16(b)
	known := code >= 1000 && code <= 1014 && code != 1004 && code != 1005 && code != 1006
	if !known && (code < 3000 || code > 4999) {
		return 0, "", protocolError("invalid close code")
	}
	if !utf8.Valid(b[2:]) {
		return 0, "", &CloseError{Code: CloseBadText, Reason: "close reason is not UTF-8"}
	}
	return code, string(b[2:]), nil
}
