package mesh

import (
	"encoding/binary"
	"errors"
	"fmt"

	"wamble"
)

// Frame is a message from one node to another. The bytes of a received frame are valid until
// Receive returns.
type Frame struct {
	Kind Kind
	Name []byte // of a profile, an event or a request
	Part uint8  // the shard
	// Client is the client that a packet is from or to. Its Node, the node to which it is
	// connected, is not written: it is one of the two ends.
	Client wamble.Peer
	ID     uint64
	Data   []byte
}

// ErrFrame is returned for invalid frames.
var ErrFrame = errors.New("not a frame")

// frameHeader is the size of the kind and the length of a frame.
const frameHeader = 4

// maxFrame bounds a frame with all fields, in bytes.
const maxFrame = frameHeader + 1 + MaxName + 1 + 1 + maxAddress + 4 + 8 + MaxData

// maxAddress bounds an encoded address with its zone, in bytes.
const maxAddress = 64

// Append appends an encoded frame. Errors: ErrFrame if a field is too long or the kind is
// unknown; then dst is returned unchanged.
func (f *Frame) Append(dst []byte) ([]byte, error) {
	info := f.Kind.info()
	if info == nil || len(f.Name) > MaxName || len(f.Data) > info.data {
		return dst, fmt.Errorf("%w: %v of %d and %d bytes", ErrFrame, f.Kind, len(f.Name), len(f.Data))
	}
	start := len(dst)
	b := append(dst, byte(f.Kind), 0, 0, 0)
	if info.fields&hasName != 0 {
		b = append(b, byte(len(f.Name)))
		b = append(b, f.Name...)
	}
	if info.fields&hasPart != 0 {
		b = append(b, f.Part)
	}
	if info.fields&hasClient != 0 {
		at := len(b)
		var err error
		b, err = f.Client.Addr.AppendBinary(append(b, 0))
		if err != nil || !f.Client.Addr.IsValid() || len(b)-at-1 > maxAddress {
			return dst, fmt.Errorf("%w: the address %v", ErrFrame, f.Client.Addr)
		}
		b[at] = byte(len(b) - at - 1)
		b = binary.BigEndian.AppendUint32(b, f.Client.Route)
	}
	if info.fields&hasID != 0 {
		b = binary.BigEndian.AppendUint64(b, f.ID)
	}
	if info.fields&hasData != 0 {
		b = append(b, f.Data...)
	}
	n := len(b) - start - frameHeader
	b[start+1], b[start+2], b[start+3] = byte(n>>16), byte(n>>8), byte(n)
	return b, nil
}

// next splits off the first frame of b. Errors: ErrFrame.
func next(b []byte) (frame, rest []byte, err error) {
	if len(b) < frameHeader {
		return nil, nil, fmt.Errorf("%w: %d bytes", ErrFrame, len(b))
	}
	n := frameHeader + int(b[1])<<16 + int(b[2])<<8 + int(b[3])
	if n > maxFrame || n > len(b) {
		return nil, nil, fmt.Errorf("%w: it says that it has %d bytes of %d", ErrFrame, n, len(b))
	}
	return b[:n], b[n:], nil
}

// Decode decodes one complete frame, whose bytes it retains. It reports false for an unknown
// kind, which a newer version may send. Errors: ErrFrame.
func (f *Frame) Decode(frame []byte) (known bool, err error) {
	*f = Frame{}
	whole, rest, err := next(frame)
	if err != nil || len(rest) > 0 {
		return false, fmt.Errorf("%w: %d bytes too many", ErrFrame, len(rest))
	}
	f.Kind = Kind(whole[0])
	info := f.Kind.info()
	if info == nil {
		return false, nil
	}
	r := fields{b: whole[frameHeader:]}
	if info.fields&hasName != 0 {
		f.Name = r.bytes(MaxName)
	}
	if info.fields&hasPart != 0 {
		f.Part = r.take(1)[0]
	}
	if info.fields&hasClient != 0 {
		if f.Client.Addr.UnmarshalBinary(r.bytes(maxAddress)) != nil || !f.Client.Addr.IsValid() ||
			f.Client.Addr.Addr().Is4In6() {
			r.bad = true
		}
		f.Client.Route = binary.BigEndian.Uint32(r.take(4))
	}
	if info.fields&hasID != 0 {
		f.ID = binary.BigEndian.Uint64(r.take(8))
	}
	if info.fields&hasData != 0 {
		f.Data, r.b = r.b, nil
	}
	if r.bad || len(r.b) > 0 || len(f.Data) > info.data {
		return false, fmt.Errorf("%w: %v of %d bytes", ErrFrame, f.Kind, len(whole))
	}
	return true, nil
}

// fields reads the fields of a frame.
type fields struct {
	b   []byte
	bad bool
}

var zeros [8]byte

// take returns the next n bytes, at most eight. If there are fewer, it sets bad and returns
// zeros.
func (r *fields) take(n int) []byte {
	if len(r.b) < n {
		r.bad = true
		return zeros[:n]
	}
	taken := r.b[:n]
	r.b = r.b[n:]
	return taken
}

// bytes returns a field that is preceded by its length. If it is longer than most, it sets
// bad and returns nil.
func (r *fields) bytes(most int) []byte {
	n := int(r.take(1)[0])
	if n > most || n > len(r.b) {
		r.bad = true
		return nil
	}
	taken := r.b[:n:n]
	r.b = r.b[n:]
	return taken
}
