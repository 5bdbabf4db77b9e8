package journal

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"time"

	"wamble/internal/intent"
)

// A frame is a version byte and then one record per intent:
//
//	kind u8, length uvarint, fields
//
// Integers are varints (zigzag where they may be negative), texts are a
// uvarint length and bytes, times are microseconds since 1970 as varints,
// floats are 8 bytes. A record may be longer than the fields this binary
// knows: a newer one may have added some at the end.
const frameVersion = 1

// Bounds of what a frame may hold. A request has a handful of intents; only
// the end of a game with many contributors has more.
const (
	MaxIntents = 4096
	maxText    = 1 << 20
)

// ErrFrame is returned when bytes are not a frame of intents.
var ErrFrame = errors.New("not a frame of intents")

// Begin starts a frame at the end of dst.
func Begin(dst []byte) []byte { return append(dst, frameVersion) }

// Append adds one intent to the frame at the end of dst. It allocates nothing
// but what dst needs to grow.
func Append(dst []byte, in intent.Intent) []byte {
	dst = append(dst, byte(in.Kind()), 0, 0, 0)
	start := len(dst)
	dst, done := quick(dst, in)
	if !done {
		c := coder{buf: dst}
		c.intent(in)
		dst = c.buf
	}
	// The length is a uvarint padded to three bytes, so that the record is
	// written in place.
	n := len(dst) - start
	dst[start-3] = byte(n) | 0x80
	dst[start-2] = byte(n>>7) | 0x80
	dst[start-1] = byte(n >> 14)
	return dst
}

// Join adds the intents of a frame to the frame at the end of dst, or begins one
// there if dst is empty: many requests can travel as one message. MaxIntents and
// the limits of the journal are the caller's to keep.
func Join(dst, frame []byte) []byte {
	if len(dst) == 0 || len(frame) == 0 {
		return append(dst, frame...)
	}
	return append(dst, frame[1:]...)
}

// Decode reads a frame. The intents share no memory with it.
func Decode(frame []byte) ([]intent.Intent, error) {
	m, err := MakeMessage(0, frame)
	if err != nil {
		return nil, err
	}
	var intents []intent.Intent
	for rest := m.records; len(rest) > 0; {
		var r record
		r, rest, _ = cut(rest)
		in := r.kind.New()
		if err := r.decode(in); err != nil {
			return nil, fmt.Errorf("%w: record %d, %v, is malformed", ErrFrame, len(intents), r.kind)
		}
		intents = append(intents, in)
	}
	return intents, nil
}

// coder writes the fields of an intent to buf, or reads them from it: one
// description of each record serves both ways.
type coder struct {
	buf    []byte
	decode bool
	bad    bool
}

func (c *coder) uint(v *uint64) {
	if !c.decode {
		c.buf = appendUvarint(c.buf, *v)
		return
	}
	x, n := binary.Uvarint(c.buf)
	if n <= 0 {
		c.bad, c.buf = true, nil
		return
	}
	*v, c.buf = x, c.buf[n:]
}

func (c *coder) int(v *int64) {
	if !c.decode {
		c.buf = appendVarint(c.buf, *v)
		return
	}
	x, n := binary.Varint(c.buf)
	if n <= 0 {
		c.bad, c.buf = true, nil
		return
	}
	*v, c.buf = x, c.buf[n:]
}

func (c *coder) bytes(v []byte) {
	if !c.decode {
		c.buf = append(c.buf, v...)
		return
	}
	if len(c.buf) < len(v) {
		c.bad, c.buf = true, nil
		return
	}
	c.buf = c.buf[copy(v, c.buf):]
}

func (c *coder) text(v *string) {
	n := uint64(len(*v))
	c.uint(&n)
	if !c.decode {
		c.buf = append(c.buf, *v...)
		return
	}
	if n > maxText || n > uint64(len(c.buf)) {
		c.bad, c.buf = true, nil
		return
	}
	*v, c.buf = string(c.buf[:n]), c.buf[n:]
}

// small is an int that is stored in 32 bits.
func (c *coder) small(v *int) {
	x := int64(*v)
	c.int(&x)
	if x != int64(int32(x)) {
		c.bad = true
	}
	*v = int(x)
}

// octet is a closed list of at most 256 values.
func octet[T ~uint8](c *coder, v *T) {
	x := uint64(*v)
	c.uint(&x)
	if x > math.MaxUint8 {
		c.bad = true
	}
	*v = T(x)
}

func (c *coder) bool(v *bool) {
	var x uint8
	if *v {
		x = 1
	}
	octet(c, &x)
	*v = x != 0
}

func (c *coder) float(v *float64) {
	var b [8]byte
	binary.LittleEndian.PutUint64(b[:], math.Float64bits(*v))
	c.bytes(b[:])
	*v = math.Float64frombits(binary.LittleEndian.Uint64(b[:]))
}

// noTime stands for the zero time.Time.
const noTime = math.MinInt64

func (c *coder) time(v *time.Time) {
	us := microsOf(*v)
	c.int(&us)
	if c.decode {
		*v = time.Time{}
		if us != noTime {
			*v = time.UnixMicro(us).UTC()
		}
	}
}
