package intent

import (
	"encoding/binary"
	"math"
	"time"

	"wamble"
)

// coder writes the fields of an intent to buf, or reads them from it: one description of each kind serves
// both directions. It is passed by value, because an interface method with a pointer would move it to the
// heap.
//
// Integers are varints (zigzag if they may be negative), texts are a uvarint length and bytes, times are
// microseconds since 1970 as varints, floats are 8 bytes.
type coder struct {
	buf   []byte
	later time.Duration // added to times when they are written
	read  bool
	bad   bool // the input is malformed
}

// maxText bounds a text that is read.
const maxText = 1 << 20

func (c coder) fail() coder { return coder{read: true, bad: true} }

func (c coder) uint(v *uint64) coder {
	if !c.read {
		c.buf = binary.AppendUvarint(c.buf, *v)
		return c
	}
	x, n := binary.Uvarint(c.buf)
	if n <= 0 {
		return c.fail()
	}
	*v, c.buf = x, c.buf[n:]
	return c
}

func (c coder) int(v *int64) coder {
	if !c.read {
		c.buf = binary.AppendVarint(c.buf, *v)
		return c
	}
	x, n := binary.Varint(c.buf)
	if n <= 0 {
		return c.fail()
	}
	*v, c.buf = x, c.buf[n:]
	return c
}

func (c coder) bytes(v []byte) coder {
	if !c.read {
		c.buf = append(c.buf, v...)
		return c
	}
	if len(c.buf) < len(v) {
		return c.fail()
	}
	c.buf = c.buf[copy(v, c.buf):]
	return c
}

// hashed writes the mark behind the fields of an intent that says that its token is a hash. An intent
// without the mark is from an older binary, which wrote the token itself: it is hashed when it is read.
func (c coder) hashed(token *wamble.TokenHash) coder {
	switch {
	case !c.read:
		c.buf = append(c.buf, 1)
	case c.bad || token.IsZero():
	case len(c.buf) == 0:
		*token = wamble.Token(*token).Hash()
	default:
		c.buf = c.buf[1:]
	}
	return c
}

func (c coder) text(v *string) coder {
	if !c.read {
		c.buf = append(binary.AppendUvarint(c.buf, uint64(len(*v))), *v...)
		return c
	}
	n := uint64(0)
	c = c.uint(&n)
	if n > maxText || n > uint64(len(c.buf)) {
		return c.fail()
	}
	*v, c.buf = string(c.buf[:n]), c.buf[n:]
	return c
}

// small codes an int of 32 bits.
func (c coder) small(v *int) coder {
	x := int64(*v)
	c = c.int(&x)
	if c.read {
		*v, c.bad = int(x), c.bad || x != int64(int32(x))
	}
	return c
}

func (c coder) variant(v *int16) coder {
	x := int64(*v)
	c = c.int(&x)
	if c.read {
		*v, c.bad = int16(x), c.bad || x != int64(int16(x))
	}
	return c
}

// octet codes a member of a closed list of at most 256.
func (c coder) octet(v *uint8) coder {
	x := uint64(*v)
	c = c.uint(&x)
	if c.read {
		*v, c.bad = uint8(x), c.bad || x > math.MaxUint8
	}
	return c
}

// added codes an octet that was added behind the fields of older binaries; 0 is not written.
func (c coder) added(v *uint8) coder {
	if c.read && len(c.buf) == 0 || !c.read && *v == 0 {
		*v = 0
		return c
	}
	return c.octet(v)
}

// addedPlayer codes a player that was added behind the fields of older binaries; 0 is not written.
func (c coder) addedPlayer(v *wamble.PlayerID) coder {
	if c.read && len(c.buf) == 0 || !c.read && *v == 0 {
		*v = 0
		return c
	}
	return c.player(v)
}

func (c coder) bool(v *bool) coder {
	if !c.read {
		x := byte(0)
		if *v {
			x = 1
		}
		c.buf = append(c.buf, x)
		return c
	}
	var x uint8
	c = c.octet(&x)
	*v = x != 0
	return c
}

func (c coder) float(v *float64) coder {
	if !c.read {
		c.buf = binary.LittleEndian.AppendUint64(c.buf, math.Float64bits(*v))
		return c
	}
	if len(c.buf) < 8 {
		return c.fail()
	}
	*v, c.buf = math.Float64frombits(binary.LittleEndian.Uint64(c.buf)), c.buf[8:]
	return c
}

// noTime stands for the zero time.Time.
const noTime = math.MinInt64

func (c coder) time(v *time.Time) coder {
	if !c.read {
		micros := int64(noTime)
		if !v.IsZero() {
			micros = v.Add(c.later).UnixMicro()
		}
		c.buf = binary.AppendVarint(c.buf, micros)
		return c
	}
	micros := int64(noTime)
	c = c.int(&micros)
	*v = time.Time{}
	if micros != noTime {
		*v = time.UnixMicro(micros).UTC()
	}
	return c
}

func (c coder) board(v *wamble.BoardID) coder           { return c.uint((*uint64)(v)) }
func (c coder) session(v *wamble.SessionID) coder       { return c.int((*int64)(v)) }
func (c coder) player(v *wamble.PlayerID) coder         { return c.int((*int64)(v)) }
func (c coder) prediction(v *wamble.PredictionID) coder { return c.int((*int64)(v)) }
