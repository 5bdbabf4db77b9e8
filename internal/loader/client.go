package loader

import (
	"encoding/binary"
	"time"
	"unsafe"

	"wamble"
	"wamble/chess"
	"wamble/wire"
)

// client is one player.
type client struct {
	number  uint32 // number of its address
	stage   stage
	role    Role
	known   bool // it has a token
	token   wamble.Token
	player  uint32 // index of the token in the log
	seq     uint32 // sequence number of its last request
	request request
	holds   heldBoard
	pending pending
	seen    seen
}

// stage is what a client waits for.
type stage uint8

const (
	resting  stage = iota // for nothing, or until request.due to say hello
	greeting              // for SERVER_HELLO
	asking                // for the answer to its request
	pausing               // until request.due for the next request
)

// idle reports whether a client waits for no answer.
func (c *client) idle() bool { return c.stage == resting || c.stage == pausing }

// request is the client's one request in flight.
type request struct {
	bytes [helloSize]byte // the packet
	size  uint8
	acked bool // the server has executed it; answers before that are not counted
	sends int
	first time.Duration // when it was first sent
	due   time.Duration // when it is sent again
}

// helloSize is the size of a hello in bytes. Servers ignore its padding, but limit what they
// send to an unproven address by what they received from it; this size allows a whole board.
const helloSize = 112

var helloPadding = wire.String("pad", "123456789012345678901234567890123456")

// heldBoard is the board that a client holds.
type heldBoard struct {
	board    wamble.BoardID
	position chess.Position
	// whole says that position is complete. A server that sends only placement and side leaves
	// out castling, en passant and counters.
	whole bool
	// offered says that the board came with a new token. Until the client uses the token, the
	// server may give the board to another player.
	offered bool
}

// pending is a move that was sent and neither accepted nor rejected so far.
type pending struct {
	open  bool
	entry entry
	first time.Duration // when it was first sent
}

// seen distinguishes repeated packets of the server from new ones. Sequence numbers rise with
// each packet. Only a restarted server counts from 1 again, and then the current request was
// sent more than once: so low numbers are also checked by fingerprint.
type seen struct {
	last uint32
	next uint8
	ring [64]uint64
}

// restarted is the highest number that the first packet received from a restarted server may
// have: earlier packets may be lost.
const restarted = 16

// repeated reports whether packet b was received before. Resent says that the current request
// was sent more than once.
func (s *seen) repeated(b []byte, seq uint32, resent bool) bool {
	if int32(seq-s.last) > 0 {
		return false
	}
	if !resent || seq > restarted {
		return true
	}
	f := fingerprint(b)
	for _, known := range s.ring {
		if known == f {
			return true
		}
	}
	return false
}

// keep stores an accepted packet.
func (s *seen) keep(b []byte, seq uint32) {
	s.last = seq
	s.ring[s.next] = fingerprint(b)
	s.next = (s.next + 1) % uint8(len(s.ring))
}

// fingerprint returns a hash of a packet.
func fingerprint(b []byte) uint64 {
	h := uint64(len(b))
	for ; len(b) >= 8; b = b[8:] {
		h = (h ^ binary.LittleEndian.Uint64(b)) * 0x9e3779b97f4a7c15
		h ^= h >> 29
	}
	for _, c := range b {
		h = (h ^ uint64(c)) * 0x100000001b3
	}
	return h
}

// ackOf returns the ACK of a packet: the packet's header with another control code.
func ackOf(dst *[wire.HeaderSize]byte, packet []byte) []byte {
	copy(dst[:], packet)
	dst[0], dst[1] = byte(wire.CtrlAck), 0
	dst[32], dst[33] = 0, 0
	return dst[:]
}

// positionOf reads the position of a board from a packet.
func positionOf(fen wire.Text, ext wire.Ext, buf []byte) (p chess.Position, whole bool, err error) {
	if f, ok := ext.Lookup(wire.KeyBoardFEN); ok && f.Type == wire.TypeString {
		p, err = chess.ParseFEN(asString(f.AppendText(buf[:0])))
		return p, err == nil, err
	}
	buf = append(append(buf[:0], fen...), " - - 0 1"...)
	p, err = chess.ParseFEN(asString(buf))
	return p, false, err
}

// asString returns b as a string without a copy: chess keeps nothing of a FEN.
func asString(b []byte) string { return unsafe.String(unsafe.SliceData(b), len(b)) }
