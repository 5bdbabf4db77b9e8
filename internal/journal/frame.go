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
// A record may be longer than the fields that this binary knows: newer ones may append fields.
const frameVersion = 1

// MaxIntents bounds the intents of a frame. Most requests make a handful; the end of a game with many
// contributors makes more.
const MaxIntents = 4096

// ErrFrame is returned when bytes are not a frame of intents.
var ErrFrame = errors.New("not a frame of intents")

// Begin appends the start of a frame to dst.
func Begin(dst []byte) []byte { return append(dst, frameVersion) }

// Append appends an intent to the frame at the end of dst. It allocates only if dst must grow.
func Append(dst []byte, in intent.Intent) []byte { return AppendLater(dst, in, 0) }

// AppendLater is Append with the times of the intent moved by later.
func AppendLater(dst []byte, in intent.Intent, later time.Duration) []byte {
	dst = append(dst, byte(in.Kind()), 0, 0, 0)
	start := len(dst)
	dst = intent.AppendFields(dst, in, later)
	// The length is a uvarint padded to three bytes, so that the record is
	// written in place.
	n := len(dst) - start
	dst[start-3] = byte(n) | 0x80
	dst[start-2] = byte(n>>7) | 0x80
	dst[start-1] = byte(n >> 14)
	return dst
}

// Join appends the intents of a frame to the frame at the end of dst, or copies the frame if dst is empty,
// so that several requests share one message. The caller must respect MaxIntents and the limits of the
// journal.
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

// A Visitor visits the intents of many frames. It reuses the intents: each is valid until the next of its
// kind.
type Visitor struct{ intents [256]intent.Intent }

// Visit calls visit for each readable intent of a frame, in order.
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
