package logstore

import (
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"time"

	"wamble/runner"
)

const (
	recordVersion = 1
	headLen       = 1 + 8
	sumLen        = 4
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// appendHead begins a record; seal sets the time.
func appendHead(b []byte) []byte {
	return append(b, recordVersion, 0, 0, 0, 0, 0, 0, 0, 0)
}

func appendSet(b, key, value []byte) []byte {
	b = binary.AppendUvarint(b, uint64(len(key))<<1)
	b = append(b, key...)
	b = binary.AppendUvarint(b, uint64(len(value)))
	return append(b, value...)
}

func appendDelete(b, key []byte) []byte {
	b = binary.AppendUvarint(b, uint64(len(key))<<1|1)
	return append(b, key...)
}

// seal completes a record with its time and checksum.
func seal(b []byte, now time.Time) []byte {
	binary.BigEndian.PutUint64(b[1:], uint64(now.UnixMilli()))
	return binary.BigEndian.AppendUint32(b, crc32.Checksum(b, castagnoli))
}

// change is one change of a record; key and value are views into it.
type change struct {
	key, value []byte
	gone       bool
}

// openRecord checks a record, and returns its time and its encoded changes.
func openRecord(b []byte) (at time.Time, changes []byte, err error) {
	if len(b) < headLen+sumLen {
		return at, nil, fmt.Errorf("a record of %d bytes: %w", len(b), runner.ErrDamaged)
	}
	body := b[:len(b)-sumLen]
	if crc32.Checksum(body, castagnoli) != binary.BigEndian.Uint32(b[len(body):]) {
		return at, nil, fmt.Errorf("the checksum of a record: %w", runner.ErrDamaged)
	}
	if b[0] != recordVersion {
		return at, nil, fmt.Errorf("a record of version %d, this program knows %d: %w", b[0], recordVersion,
			runner.ErrSchema)
	}
	return time.UnixMilli(int64(binary.BigEndian.Uint64(b[1:]))), body[headLen:], nil
}

// nextChange decodes the first change.
func nextChange(changes []byte) (c change, rest []byte, err error) {
	n, rest, ok := cutUvarint(changes)
	if ok {
		c.gone = n&1 == 1
		c.key, rest, ok = cut(rest, n>>1)
	}
	if ok && !c.gone {
		if n, rest, ok = cutUvarint(rest); ok {
			c.value, rest, ok = cut(rest, n)
		}
	}
	if !ok {
		return change{}, nil, fmt.Errorf("a record is cut off: %w", runner.ErrDamaged)
	}
	return c, rest, nil
}

func cutUvarint(b []byte) (uint64, []byte, bool) {
	v, n := binary.Uvarint(b)
	if n <= 0 {
		return 0, nil, false
	}
	return v, b[n:], true
}

func cut(b []byte, n uint64) (first, rest []byte, ok bool) {
	if n > uint64(len(b)) {
		return nil, nil, false
	}
	return b[:n:n], b[n:], true
}
