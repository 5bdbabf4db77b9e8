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
	number  uint32 // of its address
	stage   stage
	role    Role
	known   bool // it has a token
	token   wamble.Token
	player  uint32 // the token's number in the log
	seq     uint32 // of its last request
	request request
	seat    seat
	pending pending
	seen    seen
}

// stage is what a client waits for.
type stage uint8

const (
	resting  stage = iota // for nothing, or for request.due to say hello
	greeting              // for SERVER_HELLO
	asking                // for the answer to what the mode asks
	pausing               // for request.due to ask again
)

// idle reports whether a client waits for no answer.
func (c *client) idle() bool { return c.stage == resting || c.stage == pausing }

// request is the one request that a client has under way.
type request struct {
	bytes [helloSize]byte // as sent, and sent again
	size  uint8
	acked bool // the server has executed it; an answer counts only now
	sends int
	first time.Duration // when it was first sent
	due   time.Duration // when it is sent again
}

// helloSize is how long a hello is. Servers ignore its payload; but they send an
// address that has not proven itself little more than it has sent, and this is
// enough for a whole board.
const helloSize = 112

// pad lengthens a request that has no payload.
func (r *request) pad(size uint8) {
	clear(r.bytes[r.size:size])
	r.size = size
	binary.BigEndian.PutUint16(r.bytes[32:], uint16(size-wire.HeaderSize))
}

// seat is the board that a client holds.
type seat struct {
	board    wamble.BoardID
	position chess.Position
	// whole says that position is all of it: castling, en passant, counters. A
	// server that tells only placement and side leaves those out.
	whole bool
	// offered says that the board came with a new token: until that has come back
	// to the server, whoever needs the board gets it.
	offered bool
}

// pending is a move that was asked and is neither accepted nor rejected yet.
type pending struct {
	open  bool
	entry entry
	first time.Duration // when it was first asked
}

// seen tells a repeated packet of the server from a new one. Numbers rise with
// each packet. Only a server that was restarted counts from 1 again, and then the
// request under way was sent more than once: so the low numbers are known by
// fingerprints, too.
type seen struct {
	last uint32
	next uint8
	ring [64]uint64
}

// restarted is the highest number that may be the first we see of a restarted
// server: some may have been lost.
const restarted = 16

// repeated reports whether packet b came before. Resent says that the request
// under way was sent more than once.
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

// keep remembers a packet that was taken.
func (s *seen) keep(b []byte, seq uint32) {
	s.last = seq
	s.ring[s.next] = fingerprint(b)
	s.next = (s.next + 1) % uint8(len(s.ring))
}

// fingerprint mixes the bytes of a packet, eight at a time.
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

// ackOf makes the ACK of a packet: its header with another control code.
func ackOf(dst *[wire.HeaderSize]byte, packet []byte) []byte {
	copy(dst[:], packet)
	dst[0], dst[1] = byte(wire.CtrlAck), 0
	dst[32], dst[33] = 0, 0
	return dst[:]
}

// positionOf reads where a board stands out of a packet that shows it.
func positionOf(fen wire.Text, ext wire.Ext, buf []byte) (p chess.Position, whole bool, err error) {
	if f, ok := ext.Lookup(wire.KeyBoardFEN); ok && f.Type == wire.TypeString {
		p, err = chess.ParseFEN(asString(f.AppendText(buf[:0])))
		return p, err == nil, err
	}
	buf = append(append(buf[:0], fen...), " - - 0 1"...)
	p, err = chess.ParseFEN(asString(buf))
	return p, false, err
}

// asString is b as a string, without a copy: chess keeps nothing of a FEN.
func asString(b []byte) string { return unsafe.String(unsafe.SliceData(b), len(b)) }
