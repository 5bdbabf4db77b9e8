package journal

import (
	"encoding/binary"
	"fmt"

	"wamble/internal/intent"
)

// Message is one message of the journal, looked through but not decoded: most
// of what a busy journal holds is overtaken by what follows, and never needed.
type Message struct {
	Seq     uint64
	records []byte // the frame without its version; views into it
	intents int
	bytes   int  // that its intents will bring to the database, estimated
	barrier bool // it holds what a barrier must look at
	ends    bool // it ends a game
}

// MakeMessage looks a frame through, which is not copied. Fields of intents are
// not looked at. Errors: ErrFrame.
func MakeMessage(seq uint64, frame []byte) (Message, error) {
	if len(frame) == 0 || frame[0] != frameVersion {
		return Message{Seq: seq}, fmt.Errorf("%w: unknown version", ErrFrame)
	}
	m := Message{Seq: seq, records: frame[1:]}
	for rest := m.records; len(rest) > 0; m.intents++ {
		r, after, ok := cut(rest)
		switch {
		case !ok:
			return Message{Seq: seq}, fmt.Errorf("%w: record %d is cut off", ErrFrame, m.intents)
		case m.intents == MaxIntents:
			return Message{Seq: seq}, fmt.Errorf("%w: more than %d intents", ErrFrame, MaxIntents)
		}
		row := r.kind.Row()
		if row == nil {
			return Message{Seq: seq}, fmt.Errorf("%w: record %d has unknown kind %d", ErrFrame, m.intents, uint8(r.kind))
		}
		m.bytes += row.Size(len(r.fields))
		m.ends = m.ends || r.endsGame()
		m.barrier = m.barrier || row.Barrier != intent.Joins
		rest = after
	}
	return m, nil
}

// record is one intent of a frame.
type record struct {
	kind   intent.Kind
	fields []byte
}

// cut takes the first record off.
func cut(rest []byte) (r record, after []byte, ok bool) {
	size, n := binary.Uvarint(rest[1:])
	if n <= 0 || size > uint64(len(rest)-1-n) {
		return record{}, nil, false
	}
	end := 1 + n + int(size)
	return record{intent.Kind(rest[0]), rest[1+n : end]}, rest[end:], true
}

// intent decodes the record, which stands at a place of its frame.
func (r record) intent(place int) (intent.Intent, error) {
	in := r.kind.New()
	if err := intent.ReadFields(r.fields, in); err != nil {
		return nil, fmt.Errorf("%w: record %d, %v, is malformed", ErrFrame, place, r.kind)
	}
	return in, nil
}

// first is the number that the record begins with: in all kinds that overwrite
// something, or change an identity, that of the board or session.
func (r record) first() uint64 {
	id, _ := binary.Uvarint(r.fields)
	return id
}

// A key names what an intent overwrites.
type key struct {
	column intent.Column
	id     uint64
}

func (r record) key() (k key, overwrites bool) {
	column := r.kind.Row().Overwrites
	if column == intent.KeepsAll {
		return key{}, false
	}
	return key{column, r.first()}, true
}

// endsGame reports whether the feed has a line for the record.
func (r record) endsGame() bool { return r.kind == intent.KindRecordGameResult }
