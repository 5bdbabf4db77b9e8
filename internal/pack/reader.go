package pack

import (
	"encoding/binary"
	"math"
)

// Reader decodes bytes.
type Reader struct {
	unread []byte
	bad    bool
}

// NewReader returns a reader of b, which it does not copy.
func NewReader(b []byte) Reader { return Reader{unread: b} }

// Fail makes the reader bad.
func (r *Reader) Fail() { r.bad, r.unread = true, nil }

// Must makes the reader bad unless ok.
func (r *Reader) Must(ok bool) {
	if !ok {
		r.Fail()
	}
}

// Bad reports whether there was a fault.
func (r *Reader) Bad() bool { return r.bad }

// Remaining returns the number of unread bytes.
func (r *Reader) Remaining() int { return len(r.unread) }

// Ended reports whether everything was read without a fault.
func (r *Reader) Ended() bool { return !r.bad && len(r.unread) == 0 }

// Take returns the next n bytes, uncopied; nil if there are fewer.
func (r *Reader) Take(n int) []byte {
	if n < 0 || n > len(r.unread) {
		r.Fail()
		return nil
	}
	b := r.unread[:n:n]
	r.unread = r.unread[n:]
	return b
}

// Octet reads one byte.
func (r *Reader) Octet() byte {
	if len(r.unread) == 0 {
		r.Fail()
		return 0
	}
	b := r.unread[0]
	r.unread = r.unread[1:]
	return b
}

// Uint reads what Writer.Uint wrote. Numbers of more than 64 bits, or not in the shortest form, are faults.
func (r *Reader) Uint() uint64 {
	n, size := binary.Uvarint(r.unread)
	if size <= 0 || size > 1 && r.unread[size-1] == 0 {
		r.Fail()
		return 0
	}
	r.unread = r.unread[size:]
	return n
}

// Int reads what Writer.Int wrote.
func (r *Reader) Int() int64 {
	n := r.Uint()
	return int64(n>>1) ^ -int64(n&1)
}

// Uint32 reads a number; one that does not fit is a fault.
func (r *Reader) Uint32() uint32 {
	n := r.Uint()
	r.Must(n <= math.MaxUint32)
	return uint32(n)
}

// Int32 reads a number; one that does not fit is a fault.
func (r *Reader) Int32() int32 {
	n := r.Int()
	r.Must(n == int64(int32(n)))
	return int32(n)
}

// Float reads what Writer.Float wrote.
func (r *Reader) Float() float64 {
	if b := r.Take(8); b != nil {
		return math.Float64frombits(binary.LittleEndian.Uint64(b))
	}
	return 0
}

// Count reads the length of a list whose entries have at least one byte each. More entries than bytes left
// are a fault.
func (r *Reader) Count() int {
	n := r.Uint()
	if n > uint64(len(r.unread)) {
		r.Fail()
		return 0
	}
	return int(n)
}

// Bytes reads what Writer.Bytes or Writer.Text wrote.
func (r *Reader) Bytes() []byte { return r.Take(r.Count()) }
