package wire

// ClientHello asks for a session: the one of the token, or a new one if the
// token is zero. Flags & 0x7F are the capabilities asked for.
//
//	0  n  ignored
type ClientHello struct{ empty }

// CookieSize is the number of characters in the field hello.cookie of CLIENT_HELLO: the cookie,
// or zeros, and some padding, so that the ERROR with a cookie is not longer than the hello.
const CookieSize = 36

// NoCookie returns the field of a CLIENT_HELLO without a cookie, into which SetCookie can write
// one.
func NoCookie() Field { return String(KeyHelloCookie, "000000000000000000000000000000000000") }

// SetCookie writes a cookie into the field hello.cookie of an encoded packet. It returns false
// if there is no such field with enough room.
func SetCookie(packet, cookie []byte) bool {
	size, err := Size(packet)
	if err != nil || size-HeaderSize < footerSize {
		return false
	}
	body, err := trailerBody(packet[HeaderSize:size])
	if err != nil {
		return false
	}
	for body = body[2:]; len(body) > 0; {
		var f Field
		if body, err = f.decode(body); err != nil {
			return false
		}
		if f.Key == KeyHelloCookie && len(f.view) >= len(cookie) {
			copy(f.view, cookie)
			return true
		}
	}
	return false
}

// ServerHello answers ClientHello: token and board are in the header, whose
// sequence number is always 1. Flags & 0x7F are the capabilities granted, so
// that bit 0x01 does not reliably mean Chess960 here.
//
//	0  n  FEN: placement and side to move, e.g. "8/8/8/8/8/8/8/8 w"
type ServerHello struct {
	FEN Text `json:"fen"`
}

func (m ServerHello) append(dst []byte) ([]byte, error)   { return appendText(dst, m.FEN) }
func (m *ServerHello) decode(base []byte) ([]byte, error) { return decodeText(&m.FEN, base) }

// Ack acknowledges the packet whose sequence number it carries. A server echoes
// token and board of the request. Its payload and extensions are ignored, and it
// is never acknowledged itself. One with the number 0 acknowledges nothing: by it a
// client shows, about every 30 s, that its player is there and thinks.
//
//	0  n  ignored
type Ack struct{ empty }

// ClientGoodbye ends a session; the answer is ACK alone.
//
//	0  n  ignored
type ClientGoodbye struct{ empty }

// ClientVersion returns the protocol version of a CLIENT_HELLO, at least 1. If the version byte
// is 0, the version is the sequence number, as in the original.
func (h Header) ClientVersion() uint32 {
	if h.Version == 0 {
		return max(h.Seq, Version)
	}
	return uint32(h.Version)
}
