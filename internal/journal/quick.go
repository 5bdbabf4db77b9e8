package journal

import (
	"encoding/binary"
	"math/bits"
	"time"

	"wamble/internal/intent"
)

// quick writes the fields of the kinds that every move writes, and reports
// whether in is one of them. It is what coder does with them, spelled out,
// because these are a tenth of the work of a move; a test holds both to the
// same bytes.
func quick(dst []byte, in intent.Intent) ([]byte, bool) {
	switch in := in.(type) {
	case *intent.RecordMove:
		dst = appendVarint(appendUvarint(dst, uint64(in.Board)), int64(in.Session))
		dst = appendVarint(appendText(dst, in.UCI), int64(in.Ply))
		return appendTime(appendBool(dst, in.First), in.At), true
	case *intent.UpdateBoard:
		dst = appendText(appendUvarint(dst, uint64(in.Board)), in.FEN)
		dst = appendUvarint(appendUvarint(dst, uint64(in.Status)), in.Version)
		return appendTime(dst, in.At), true
	case *intent.RemoveReservation:
		return appendTime(appendUvarint(dst, uint64(in.Board)), in.At), true
	case *intent.UpdateBoardAssignmentTime:
		return appendTime(appendUvarint(dst, uint64(in.Board)), in.At), true
	case *intent.CreateReservation:
		dst = appendVarint(appendUvarint(dst, uint64(in.Board)), int64(in.Session))
		return appendTime(appendTime(appendBool(dst, in.White), in.At), in.Expires), true
	}
	return dst, false
}

// appendUvarint is binary.AppendUvarint without a loop: most numbers of a frame
// are times, of eight bytes.
func appendUvarint(dst []byte, v uint64) []byte {
	if v < 1<<7 {
		return append(dst, byte(v))
	}
	if v >= 1<<56 {
		return binary.AppendUvarint(dst, v)
	}
	n := (bits.Len64(v) + 6) / 7
	// Seven bits into each byte, by halves, and then the mark of all but the last.
	v = v&0xfffffff | v&0xfffffff0000000<<4
	v = v&0x3fff00003fff | v&0xfffc0000fffc000<<2
	v = v&0x7f007f007f007f | v&0x3f803f803f803f80<<1
	v |= 0x8080808080808080 & (1<<(8*n-8) - 1)
	at := len(dst)
	return binary.LittleEndian.AppendUint64(dst, v)[:at+n]
}

func appendVarint(dst []byte, v int64) []byte { return appendUvarint(dst, zigzag(v)) }

// zigzag is how binary.AppendVarint makes small numbers of those near zero.
func zigzag(v int64) uint64 { return uint64(v)<<1 ^ uint64(v>>63) }

func appendText(dst []byte, s string) []byte {
	return append(appendUvarint(dst, uint64(len(s))), s...)
}

func appendBool(dst []byte, v bool) []byte {
	if v {
		return append(dst, 1)
	}
	return append(dst, 0)
}

func appendTime(dst []byte, t time.Time) []byte { return appendVarint(dst, microsOf(t)) }

// microsOf is how a time is written.
func microsOf(t time.Time) int64 {
	if t.IsZero() {
		return noTime
	}
	return t.UnixMicro()
}
