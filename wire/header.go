package wire

import (
	"encoding/binary"

	"wamble"
)

// Sizes in bytes.
const (
	HeaderSize = 34
	MaxPayload = 1200
	MaxPacket  = HeaderSize + MaxPayload
)

// TokenOffset is the offset of the token in a header.
const TokenOffset = 4

// Version is the protocol version of this package.
const Version = 1

// Header is the first 34 bytes of a packet.
//
//	 0   1  ctrl
//	 1   1  flags
//	 2   1  version; 1
//	 3   1  reserved; must be 0
//	 4  16  token; all zero = no session
//	20   8  board, big-endian
//	28   4  sequence number, big-endian
//	32   2  payload length, big-endian; at most 1200
type Header struct {
	Ctrl Control
	// Flags are the received bits. When encoding, Append determines FlagExt and FlagFragment.
	Flags Flags
	// Version is used only in CLIENT_HELLO. Append writes 0 as 1.
	Version uint8
	Token   wamble.Token
	Board   wamble.BoardID
	Seq     uint32
}

var (
	errShortHeader = invalid("shorter than the 34 bytes of a header")
	errReserved    = invalid("reserved byte is not zero")
	errPayloadLen  = invalid("payload length is over 1200")
	errShort       = truncated("payload is shorter than its length says")
)

// Peek reads only the header of a packet, and checks that its payload is complete. Decode may
// refuse a packet that Peek accepts.
func Peek(b []byte) (Header, error) {
	var h Header
	err := h.Read(b)
	return h, err
}

// Read reads the header into h, like Peek. After an error h is unchanged.
func (h *Header) Read(b []byte) error {
	if _, err := Size(b); err != nil {
		return err
	}
	h.Ctrl, h.Flags, h.Version = Control(b[0]), Flags(b[1]), b[2]
	h.Token = wamble.Token(b[4:20])
	h.Board = wamble.BoardID(binary.BigEndian.Uint64(b[20:]))
	h.Seq = binary.BigEndian.Uint32(b[28:])
	return nil
}

// Size returns the length of the packet at the start of b, for splitting a WebSocket message,
// which may have several. A datagram has one packet; bytes after it are ignored.
func Size(b []byte) (int, error) {
	if len(b) < HeaderSize {
		return 0, errShortHeader
	}
	if b[3] != 0 {
		return 0, errReserved
	}
	n := int(binary.BigEndian.Uint16(b[32:]))
	if n > MaxPayload {
		return 0, errPayloadLen
	}
	if len(b) < HeaderSize+n {
		return 0, errShort
	}
	return HeaderSize + n, nil
}

// SetSeq writes a sequence number into an encoded packet, which must be at least as long as a
// header.
func SetSeq(packet []byte, seq uint32) { binary.BigEndian.PutUint32(packet[28:32], seq) }

// append writes the header with payload length 0; setPayloadLen completes it.
func (h *Header) append(dst []byte) []byte {
	start := len(dst)
	dst = append(dst, zeros[:]...)
	b := dst[start:]
	b[0], b[1], b[2] = byte(h.Ctrl), byte(h.Flags), h.Version
	if h.Version == 0 {
		b[2] = Version
	}
	*(*wamble.Token)(b[4:20]) = h.Token
	binary.BigEndian.PutUint64(b[20:], uint64(h.Board))
	binary.BigEndian.PutUint32(b[28:], h.Seq)
	return dst
}

var zeros [HeaderSize]byte
