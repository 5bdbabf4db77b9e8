package runner

import (
	"crypto/sha256"
	"encoding/binary"
	"fmt"
)

// A dedupe row says that a message with this id was completed by this worker,
// and until when that is remembered. The id is hashed, so that long ids do not
// make long keys.
type dedupeRow struct {
	completed int64 // ms
	expires   int64 // ms
}

const (
	dedupeMagic  = "DDP0"
	dedupeLen    = 20
	dedupeKeyLen = 24
)

func (d dedupeRow) append(dst []byte) []byte {
	dst = append(dst, dedupeMagic...)
	dst = binary.LittleEndian.AppendUint64(dst, uint64(d.completed))
	return binary.LittleEndian.AppendUint64(dst, uint64(d.expires))
}

func decodeDedupe(b []byte) (dedupeRow, error) {
	if len(b) != dedupeLen || string(b[:4]) != dedupeMagic {
		return dedupeRow{}, fmt.Errorf("dedupe row of %d bytes: %w", len(b), ErrFormat)
	}
	return dedupeRow{
		completed: int64(binary.LittleEndian.Uint64(b[4:])),
		expires:   int64(binary.LittleEndian.Uint64(b[12:])),
	}, nil
}

// appendDedupeKey appends worker and hashed id.
func appendDedupeKey(dst []byte, worker uint64, id []byte) []byte {
	sum := sha256.Sum256(id)
	dst = binary.BigEndian.AppendUint64(dst, worker)
	return append(dst, sum[:16]...)
}

// appendExpiryKey orders dedupe rows by the time they may be forgotten. The
// sign bit is flipped so that byte order is time order.
func appendExpiryKey(dst []byte, expires int64, key []byte) []byte {
	dst = binary.BigEndian.AppendUint64(dst, uint64(expires)^1<<63)
	return append(dst, key...)
}

func decodeExpiryKey(b []byte) (expires int64, key []byte, err error) {
	if len(b) != 8+dedupeKeyLen {
		return 0, nil, fmt.Errorf("expiry key of %d bytes: %w", len(b), ErrFormat)
	}
	return int64(binary.BigEndian.Uint64(b) ^ 1<<63), b[8:], nil
}
