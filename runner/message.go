package runner

import (
	"encoding/binary"
	"fmt"
	"math"
	"slices"
	"time"
)

// Kind is the kind of a message; the runner treats all three the same.
type Kind uint8

// The kinds of messages.
const (
	Command Kind = 0
	Event   Kind = 1
	Timer   Kind = 2
)

// Flags are flags of a message. Other bits than those below make a frame malformed.
type Flags uint8

// The flags.
const (
	// Durable has no effect: everything that is posted is durable.
	Durable Flags = 0x01
	// HighPriority puts the message into the band that is delivered first.
	HighPriority Flags = 0x02
	// Dedupe makes the runner deliver one message per id and worker until Policy.DedupeFor
	// after its completion. Two workers may run two of them at the same time; then the effects
	// of the second are dropped, and it counts in Metrics.Duplicates.
	Dedupe Flags = 0x04
	// RequiresAck is for handlers: the sender asks for an answer.
	RequiresAck Flags = 0x08
	// HasFrom says that From is set.
	HasFrom Flags = 0x10
	// HasTrace says that Trace is set, even if it is empty.
	HasTrace Flags = 0x20

	knownFlags = Durable | HighPriority | Dedupe | RequiresAck | HasFrom | HasTrace
)

const (
	messageMagic  = "LMSG"
	messageHeader = 60
	noTrace       = math.MaxUint32
)

// Message is a decoded LMSG frame. After decoding its byte slices are views into the frame.
type Message struct {
	Kind  Kind
	Flags Flags
	// To is the worker whose inbox the message belongs to, below 1<<63.
	To uint64
	// RouteWorker and RouteTime are for handlers: the destination of an answer, and the time
	// when the message was sent.
	RouteWorker uint64
	RouteTime   time.Time
	// From is 0 unless Flags has HasFrom.
	From uint64
	// ID has at least one byte, and may be any bytes.
	ID []byte
	// Trace is empty unless Flags has HasTrace.
	Trace   []byte
	Payload []byte

	// The fields below are not in the frame; they are for Post and Tx.Send.

	// Queue is the name of an existing queue, instead of To.
	Queue string
	// At is when the message is delivered; zero means now.
	At time.Time
	// Unique prevents posting while a message with its ID waits or runs. It needs a named
	// queue.
	Unique bool

	after time.Duration // see After
}

// DecodeMessage decodes an LMSG frame, which must be the whole of frame. It returns
// ErrTruncated, ErrFormat or ErrVersion for the first violated rule.
func DecodeMessage(frame []byte) (Message, error) {
	var m Message
	err := m.decode(frame)
	return m, err
}

func (m *Message) decode(b []byte) error {
	h, err := checkMessage(b)
	if err != nil {
		return err
	}
	body := b[messageHeader:]
	m.Kind, m.Flags, m.To = Kind(b[12]), h.flags, uint64(h.to)
	m.RouteWorker = binary.LittleEndian.Uint64(b[24:])
	m.RouteTime = timeOf(int64(binary.LittleEndian.Uint64(b[32:])))
	m.From, m.ID, m.Trace, m.Payload = 0, body[:h.id:h.id], nil, body[h.id+h.trace:]
	if h.flags&HasFrom != 0 {
		m.From = binary.LittleEndian.Uint64(b[40:])
	}
	if h.trace > 0 {
		m.Trace = body[h.id : h.id+h.trace : h.id+h.trace]
	}
	return nil
}

// messageHead has the fields that routing needs, and the lengths of the parts.
type messageHead struct {
	flags     Flags
	to        int64
	id, trace uint64
}

// checkMessage checks a whole frame. A frame that passes can be decoded.
func checkMessage(b []byte) (h messageHead, err error) {
	body, err := checkHeader(b, messageMagic, messageHeader, uint8(Timer), uint8(knownFlags))
	if err != nil {
		return h, err
	}
	h.flags, h.to = Flags(b[13]), int64(binary.LittleEndian.Uint64(b[16:]))
	h.id = uint64(binary.LittleEndian.Uint32(b[48:]))
	trace := binary.LittleEndian.Uint32(b[52:])
	payload := uint64(binary.LittleEndian.Uint32(b[56:]))
	if h.id == 0 {
		return h, fmt.Errorf("message id is empty: %w", ErrFormat)
	}
	if (h.flags&HasTrace != 0) == (trace == noTrace) {
		return h, fmt.Errorf("trace length %#x does not fit the flags: %w", trace, ErrFormat)
	}
	if h.flags&HasTrace != 0 {
		h.trace = uint64(trace)
	}
	if h.id+h.trace+payload != uint64(len(body)) {
		return h, fmt.Errorf("lengths of id, trace and payload do not add up: %w", ErrFormat)
	}
	return h, nil
}

// checkHeader checks what both kinds of frames share, in the order that determines the error,
// and returns the body.
func checkHeader(b []byte, magic string, header int, maxKind, flags uint8) ([]byte, error) {
	if len(b) < header {
		return nil, fmt.Errorf("%d bytes are less than a header: %w", len(b), ErrTruncated)
	}
	if string(b[:4]) != magic {
		return nil, fmt.Errorf("magic is %q, not %s: %w", b[:4], magic, ErrFormat)
	}
	major, minor := binary.LittleEndian.Uint16(b[4:]), binary.LittleEndian.Uint16(b[6:])
	if major != 0 || minor != 0 {
		return nil, fmt.Errorf("version %d.%d: %w", major, minor, ErrVersion)
	}
	declared := uint64(binary.LittleEndian.Uint32(b[8:]))
	switch {
	case declared < uint64(header):
		return nil, fmt.Errorf("declared length %d is below the header: %w", declared, ErrFormat)
	case declared > uint64(len(b)):
		return nil, fmt.Errorf("declared length %d, have %d: %w", declared, len(b), ErrTruncated)
	case declared < uint64(len(b)):
		return nil, fmt.Errorf("%d bytes after the frame: %w", uint64(len(b))-declared, ErrFormat)
	case b[14] != 0 || b[15] != 0:
		return nil, fmt.Errorf("reserved bytes are set: %w", ErrFormat)
	case b[12] > maxKind:
		return nil, fmt.Errorf("kind %d: %w", b[12], ErrFormat)
	case b[13]&^flags != 0:
		return nil, fmt.Errorf("flags %#02x: %w", b[13], ErrFormat)
	}
	return b[header:], nil
}

// size returns the length of the frame, or an error if no frame can hold m.
func (m *Message) size() (int, error) {
	switch {
	case m.Kind > Timer:
		return 0, fmt.Errorf("kind %d: %w", m.Kind, ErrInvalid)
	case m.Flags&^knownFlags != 0:
		return 0, fmt.Errorf("flags %#02x: %w", m.Flags, ErrInvalid)
	case len(m.ID) == 0:
		return 0, fmt.Errorf("message id is empty: %w", ErrInvalid)
	case len(m.Trace) > 0 && m.Flags&HasTrace == 0:
		return 0, fmt.Errorf("trace without its flag: %w", ErrInvalid)
	case m.From != 0 && m.Flags&HasFrom == 0:
		return 0, fmt.Errorf("from without its flag: %w", ErrInvalid)
	}
	n := messageHeader + uint64(len(m.ID)) + uint64(len(m.Trace)) + uint64(len(m.Payload))
	if n > math.MaxUint32 {
		return 0, fmt.Errorf("frame of %d bytes: %w", n, ErrInvalid)
	}
	return int(n), nil
}

// Append appends the frame to dst. It allocates only if dst is too small, and returns dst
// unchanged with ErrInvalid if m cannot be encoded.
func (m *Message) Append(dst []byte) ([]byte, error) {
	n, err := m.size()
	if err != nil {
		return dst, err
	}
	return m.append(dst, n), nil
}

// append appends a frame of n bytes.
func (m *Message) append(dst []byte, n int) []byte {
	dst = append(slices.Grow(dst, n), messageMagic...)
	dst = append(dst, 0, 0, 0, 0)
	dst = binary.LittleEndian.AppendUint32(dst, uint32(n))
	dst = append(dst, byte(m.Kind), byte(m.Flags), 0, 0)
	for _, v := range [4]uint64{m.To, m.RouteWorker, uint64(msOf(m.RouteTime)), m.From} {
		dst = binary.LittleEndian.AppendUint64(dst, v)
	}
	traceLen := uint32(noTrace)
	if m.Flags&HasTrace != 0 {
		traceLen = uint32(len(m.Trace))
	}
	dst = binary.LittleEndian.AppendUint32(dst, uint32(len(m.ID)))
	dst = binary.LittleEndian.AppendUint32(dst, traceLen)
	dst = binary.LittleEndian.AppendUint32(dst, uint32(len(m.Payload)))
	dst = append(dst, m.ID...)
	dst = append(dst, m.Trace...)
	return append(dst, m.Payload...)
}
