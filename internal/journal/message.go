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
		case rank[r.kind] == 0:
			return Message{Seq: seq}, fmt.Errorf("%w: record %d has unknown kind %d", ErrFrame, m.intents, uint8(r.kind))
		}
		m.bytes += r.estimate()
		m.ends = m.ends || r.kind == intent.KindRecordGameResult
		m.barrier = m.barrier || r.keepsAlone() || r.changesIdentity()
		rest = after
	}
	return m, nil
}

// record is one intent of a frame.
type record struct {
	kind intent.Kind
	body []byte
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

// decode reads the fields of an intent of the record's kind.
func (r record) decode(in intent.Intent) error {
	c := coder{buf: r.body, decode: true}
	c.intent(in)
	if c.bad {
		return ErrFrame
	}
	return nil
}

// estimate is how many bytes an intent will bring to the database, as the
// original counted them.
func (r record) estimate() int {
	switch r.kind {
	case intent.KindCreateBoard, intent.KindUpdateBoard:
		return 119
	case intent.KindRecordTermsAcceptance:
		return 160 + len(r.body)
	case intent.KindLinkSession, intent.KindRecordPrediction, intent.KindResolvePrediction, intent.KindRecordGameResult:
		return 50
	}
	return 34
}

// first is the number that the record begins with: in all kinds that overwrite
// something, that of what they overwrite.
func (r record) first() uint64 {
	id, _ := binary.Uvarint(r.body)
	return id
}

// A key names what an intent overwrites. Creating and removing a reservation
// have the same key: who holds a board is decided by the last of either.
type key struct {
	kind intent.Kind
	id   uint64
}

func (r record) key() (k key, overwrites bool) {
	switch r.kind {
	case intent.KindUpdateBoard, intent.KindUpdateBoardAssignmentTime, intent.KindUpdateSessionLastSeen, intent.KindRemoveReservation:
		return key{r.kind, r.first()}, true
	case intent.KindCreateReservation:
		return key{intent.KindRemoveReservation, r.first()}, true
	}
	return key{}, false
}

// keepsAlone reports whether the order of kinds is wrong for an intent.
func (r record) keepsAlone() bool {
	return r.kind == intent.KindErasePlayer || r.kind == intent.KindPurgeSessions
}

// changesIdentity reports whether an intent gives the session that it begins
// with an identity, or takes it.
func (r record) changesIdentity() bool {
	return r.kind == intent.KindLinkSession || r.kind == intent.KindUnlinkSession
}
