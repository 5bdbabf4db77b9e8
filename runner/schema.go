package runner

import (
	"encoding/binary"
	"encoding/hex"
	"fmt"
)

// Version is the version of an application's data in a runner: the layout of its state and the
// meaning of its messages.
type Version struct{ Major, Minor uint16 }

func (v Version) String() string { return fmt.Sprintf("%d.%d", v.Major, v.Minor) }

const markerMagic = "RSV0"

func (v Version) appendMarker(dst []byte) []byte {
	dst = append(dst, markerMagic...)
	dst = binary.LittleEndian.AppendUint16(dst, v.Major)
	return binary.LittleEndian.AppendUint16(dst, v.Minor)
}

func decodeMarker(b []byte) (Version, error) {
	if len(b) != 8 || string(b[:4]) != markerMagic {
		return Version{}, fmt.Errorf("marker of %d bytes: %w", len(b), ErrSchema)
	}
	return Version{binary.LittleEndian.Uint16(b[4:]), binary.LittleEndian.Uint16(b[6:])}, nil
}

// JournalID identifies one history of messages. It is random, created with the storage and
// renewed by a restore, so that sequence numbers of two histories are never confused.
type JournalID [16]byte

func (id JournalID) String() string { return hex.EncodeToString(id[:]) }

const journalMagic = "JID0"

func (id JournalID) append(dst []byte) []byte { return append(append(dst, journalMagic...), id[:]...) }

func decodeJournal(b []byte) (JournalID, error) {
	if len(b) != 20 || string(b[:4]) != journalMagic {
		return JournalID{}, fmt.Errorf("journal id of %d bytes: %w", len(b), ErrFormat)
	}
	return JournalID(b[4:]), nil
}

// boot counts the starts of a storage. Leases of an epoch from floor up to the previous one
// belong to ended processes, because the storage is locked by one process at a time: they are
// released at once. Leases from below floor were copied by a restore; their owner may still run
// elsewhere, and they are valid until their deadline. With Options.EndLeases floor is 0.
type boot struct{ epoch, floor uint32 }

const bootMagic = "BOO0"

func (b boot) append(dst []byte) []byte {
	dst = append(dst, bootMagic...)
	dst = binary.LittleEndian.AppendUint32(dst, b.epoch)
	return binary.LittleEndian.AppendUint32(dst, b.floor)
}

func decodeBoot(b []byte) (boot, error) {
	if len(b) != 12 || string(b[:4]) != bootMagic {
		return boot{}, fmt.Errorf("boot row of %d bytes: %w", len(b), ErrFormat)
	}
	return boot{binary.LittleEndian.Uint32(b[4:]), binary.LittleEndian.Uint32(b[8:])}, nil
}

// counters has the next sequence numbers that do not belong to a worker, and the row counts of
// their tables.
type counters struct {
	outboxNext, timerNext, deadNext    uint64
	outboxCount, timerCount, deadCount uint64
	// outboxHead is the lowest outbox number that may exist, so that a start need not seek
	// through deleted rows.
	outboxHead uint64
}

const (
	countersMagic = "CNT0"
	countersLen   = 4 + 7*8
)

func (c counters) append(dst []byte) []byte {
	dst = append(dst, countersMagic...)
	for _, v := range [7]uint64{c.outboxNext, c.timerNext, c.deadNext, c.outboxCount, c.timerCount, c.deadCount,
		c.outboxHead} {
		dst = binary.LittleEndian.AppendUint64(dst, v)
	}
	return dst
}

func decodeCounters(b []byte) (counters, error) {
	if len(b) != countersLen || string(b[:4]) != countersMagic {
		return counters{}, fmt.Errorf("counters of %d bytes: %w", len(b), ErrFormat)
	}
	at := func(i int) uint64 { return binary.LittleEndian.Uint64(b[4+8*i:]) }
	return counters{at(0), at(1), at(2), at(3), at(4), at(5), at(6)}, nil
}

// badLength is the error for an invalid stored value.
func badLength(what string, b []byte) error {
	return fmt.Errorf("%s of %d bytes: %w", what, len(b), ErrFormat)
}
