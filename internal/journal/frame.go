package journal

import (
	"errors"
	"time"

	"wamble/internal/intent"
)

// A frame is a version byte and then one record per intent:
//
//	kind u8, length uvarint, fields
//
// A record may be longer than the fields this binary knows: a newer one may
// have added some at the end.
const frameVersion = 1

// MaxIntents bounds what a frame may hold. A request has a handful of intents;
// only the end of a game with many contributors has more.
const MaxIntents = 4096

// ErrFrame is returned when bytes are not a frame of intents.
var ErrFrame = errors.New("not a frame of intents")

// Begin starts a frame at the end of dst.
func Begin(dst []byte) []byte { return append(dst, frameVersion) }

// Append adds one intent to the frame at the end of dst. It allocates nothing
// but what dst needs to grow.
func Append(dst []byte, in intent.Intent) []byte { return AppendLater(dst, in, 0) }

// AppendLater is Append of an intent whose times are moved by later.
func AppendLater(dst []byte, in intent.Intent, later time.Duration) []byte {
	dst = append(dst, byte(in.Kind()), 0, 0, 0)
	start := len(dst)
	dst = intent.AppendFieldsLater(dst, in, later)
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
	for i, r := range m.records() {
		in, err := r.intent(i)
		if err != nil {
			return nil, err
		}
		intents = append(intents, in)
	}
	return intents, nil
}

// A Visitor shows the intents of many frames, each until the next of its kind.
type Visitor struct{ intents [256]intent.Intent }

// Visit shows the intents of a frame that can be read, in order.
func (v *Visitor) Visit(frame []byte, visit func(intent.Intent)) {
	m, err := MakeMessage(0, frame)
	if err != nil {
		return
	}
	for _, r := range m.records() {
		in := v.intents[r.row.Kind]
		if in == nil {
			in = r.row.New()
			v.intents[r.row.Kind] = in
		}
		if intent.ReadFields(r.fields, in) == nil {
			visit(in)
		}
	}
}
