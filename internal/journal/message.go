package journal

import (
	"encoding/binary"
	"fmt"
	"iter"

	"wamble/internal/intent"
)

// Message is one message of the journal, cut into records but not decoded: most records of a busy journal
// are overwritten by later ones, and never decoded.
type Message struct {
	Seq     uint64
	frame   []byte // without its version; not copied
	intents int
	bytes   int  // estimated payload of its intents for the database
	barrier bool // one of its intents has a barrier
	ends    bool // one of its intents ends a game
}

// MakeMessage cuts a frame, which is not copied, into records. It does not decode fields. Errors: ErrFrame.
func MakeMessage(seq uint64, frame []byte) (Message, error) {
	if len(frame) == 0 || frame[0] != frameVersion {
		return Message{Seq: seq}, fmt.Errorf("%w: unknown version", ErrFrame)
	}
	m := Message{Seq: seq, frame: frame[1:]}
	for rest := m.frame; len(rest) > 0; m.intents++ {
		r, after, ok := cut(rest)
		switch {
		case !ok:
			return Message{Seq: seq}, fmt.Errorf("%w: record %d is cut off", ErrFrame, m.intents)
		case m.intents == MaxIntents:
			return Message{Seq: seq}, fmt.Errorf("%w: more than %d intents", ErrFrame, MaxIntents)
		case r.row == nil:
			return Message{Seq: seq}, fmt.Errorf("%w: record %d has unknown kind %d", ErrFrame, m.intents, rest[0])
		}
		m.bytes += r.row.Size(len(r.fields))
		m.barrier = m.barrier || r.row.Barrier != intent.Joins
		m.ends = m.ends || r.endsGame()
		rest = after
	}
	return m, nil
}

// records yields the records with their places in the message.
func (m *Message) records() iter.Seq2[int, record] {
	return func(yield func(int, record) bool) {
		rest := m.frame
		for i := range m.intents {
			var r record
			if r, rest, _ = cut(rest); !yield(i, r) {
				return
			}
		}
	}
}

// record is one intent of a frame.
type record struct {
	row    *intent.Row // row of its kind; nil: unknown kind
	fields []byte
}

// cut splits off the first record.
func cut(rest []byte) (r record, after []byte, ok bool) {
	size, n := binary.Uvarint(rest[1:])
	if n <= 0 || size > uint64(len(rest)-1-n) {
		return record{}, nil, false
	}
	end := 1 + n + int(size)
	return record{intent.Kind(rest[0]).Row(), rest[1+n : end]}, rest[end:], true
}

// intent decodes the record at a place of its message.
func (r record) intent(place int) (intent.Intent, error) {
	in := r.row.New()
	if err := intent.ReadFields(r.fields, in); err != nil {
		return nil, fmt.Errorf("%w: record %d, %v, is malformed", ErrFrame, place, r.row.Kind)
	}
	return in, nil
}

// first returns the first number of the record: the board or session, for all kinds that overwrite
// something or change an identity.
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
	if r.row.Overwrites == intent.KeepsAll {
		return key{}, false
	}
	return key{r.row.Overwrites, r.first()}, true
}

// endsGame reports whether the record makes a line of the feed.
func (r record) endsGame() bool { return r.row.Kind == intent.KindRecordGameResult }
