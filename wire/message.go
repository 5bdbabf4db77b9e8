package wire

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"
)

// Every error of this package wraps one of these three.
var (
	// ErrInvalid is returned for bytes that are not a packet.
	ErrInvalid = errors.New("invalid packet")
	// ErrTruncated is returned when a packet ends before its payload does.
	ErrTruncated = errors.New("truncated packet")
	// ErrTooLong is returned for a value that does not fit into its encoding.
	ErrTooLong = errors.New("too long")
)

// invalid, truncated and tooLong create the errors once, so that a flood of bad packets costs
// no memory.
func invalid(reason string) error   { return fmt.Errorf("%w: %s", ErrInvalid, reason) }
func truncated(reason string) error { return fmt.Errorf("%w: %s", ErrTruncated, reason) }
func tooLong(reason string) error   { return fmt.Errorf("%w: %s", ErrTooLong, reason) }

// Message is the base payload of a packet. Only the types of this package implement it; both T
// and *T are Messages, and decoding returns *T.
type Message interface {
	// Control returns the control code of the message, or 0 if only the header has it
	// (Fragment, Unknown).
	Control() Control
	append(dst []byte) ([]byte, error)
}

// message is a Message that can be decoded: the pointer to each type.
type message interface {
	Message
	// decode decodes the base payload. It returns the bytes after the known part, which
	// receivers ignore.
	decode(base []byte) (rest []byte, err error)
}

// Unknown is the payload of a control code outside the table. It passes the
// codec; a server drops it. Appended with a known code it makes any bytes a
// packet, which only tests do.
//
//	0  n  bytes
type Unknown struct {
	Payload Bytes `json:"hex"`
}

// Control returns 0: only the header has the control code.
func (Unknown) Control() Control { return 0 }

func (m Unknown) append(dst []byte) ([]byte, error) { return append(dst, m.Payload...), nil }

func (m *Unknown) decode(base []byte) ([]byte, error) {
	m.Payload = base
	return nil, nil
}

// empty is the payload of messages whose content is in the header. Its bytes are ignored.
type empty struct{}

func (empty) append(dst []byte) ([]byte, error)       { return dst, nil }
func (*empty) decode(base []byte) ([]byte, error)     { return base, nil }
func appendText(dst []byte, t Text) ([]byte, error)   { return append(dst, t...), nil }
func decodeText(t *Text, base []byte) ([]byte, error) { *t = base; return nil, nil }

// emptied returns s with length 0 and the same memory. It is never nil, so that JSON has [] for
// no rows.
func emptied[T any](s []T) []T {
	if s == nil {
		return []T{}
	}
	return s[:0]
}

// Text is text in a packet: bytes that are usually UTF-8, without a NUL. In JSON it is a
// string, or {"hex": …} if it is not UTF-8.
type Text []byte

// TextLimit is the number of bytes that existing clients keep of a FEN, a
// notification, a reason, a PROFILE_INFO and an unfragmented PROFILES_LIST.
const TextLimit = 89

// Limit returns the longest prefix of s with at most n bytes that does not end inside a UTF-8
// character.
func Limit[S ~string | ~[]byte](s S, n int) S {
	if len(s) <= n {
		return s
	}
	for cut := n; cut > n-utf8.UTFMax && cut >= 0; cut-- {
		if utf8.RuneStart(s[cut]) {
			return s[:cut]
		}
	}
	return s[:n]
}

// ShortFEN returns the first two fields of a FEN, placement and side to move, which are the
// payload of a board. The extension KeyBoardFEN has the whole FEN.
func ShortFEN[S string | ~[]byte](fen S) S {
	if first := space(fen); first >= 0 {
		if second := space(fen[first+1:]); second >= 0 {
			fen = fen[:first+1+second]
		}
	}
	return Limit(fen, TextLimit)
}

// space returns the index of the first space, or -1.
func space[S string | ~[]byte](s S) int {
	if text, ok := any(s).(string); ok {
		return strings.IndexByte(text, ' ')
	}
	return bytes.IndexByte([]byte(s), ' ')
}

// String returns a copy of t.
func (t Text) String() string { return string(t) }

type hexForm struct {
	Hex Bytes `json:"hex"`
}

// MarshalJSON writes a string, or {"hex": …} if t is not UTF-8.
func (t Text) MarshalJSON() ([]byte, error) {
	if utf8.Valid(t) {
		return marshal(string(t))
	}
	return marshal(hexForm{Bytes(t)})
}

// UnmarshalJSON reads what MarshalJSON writes.
func (t *Text) UnmarshalJSON(b []byte) error {
	if len(b) > 0 && b[0] == '{' {
		var h hexForm
		err := strict(b, &h)
		*t = Text(h.Hex)
		return err
	}
	var s string
	err := json.Unmarshal(b, &s)
	*t = Text(s)
	return err
}
