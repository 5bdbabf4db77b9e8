package runner

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"time"
)

// dedupeRow says that a message id was completed by a worker, and until when that is
// remembered. The id is hashed to bound the length of keys.
type dedupeRow struct {
	completed int64 // ms
	expires   int64 // ms
}

const (
	dedupeMagic   = "DDP0"
	dedupeLen     = 20
	dedupeHashLen = 16
	dedupeKeyLen  = 8 + dedupeHashLen
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
	hash := dedupeHash(id)
	dst = binary.BigEndian.AppendUint64(dst, worker)
	return append(dst, hash[:]...)
}

func dedupeHash(id []byte) (hash [dedupeHashLen]byte) {
	sum := sha256.Sum256(id)
	copy(hash[:], sum[:])
	return hash
}

// appendExpiryKey orders dedupe rows by expiry. The sign bit is flipped so that byte order is
// time order.
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

// isDone reports whether a message id is remembered as completed.
func (c *commit) isDone(worker uint64, id []byte) (bool, error) {
	value, ok, err := c.get(appendDedupeKey([]byte{byte(dedupeTable)}, worker, id))
	if err != nil || !ok {
		return false, err
	}
	row, err := decodeDedupe(value)
	if err != nil {
		return false, nil // a value of another program is ignored; markDone replaces it
	}
	return row.expires > c.e.steady(), nil
}

// markDone stores a message id as completed.
func (c *commit) markDone(worker uint64, id []byte, keep time.Duration) {
	row := dedupeRow{completed: c.now, expires: later(c.e.steady(), keep.Milliseconds())}
	key := appendDedupeKey([]byte{byte(dedupeTable)}, worker, id)
	c.stage(key, row.append(nil))
	c.batch.Set(appendExpiryKey([]byte{byte(expiryTable)}, row.expires, key[1:]), nil)
	c.e.ix.expiryHead = min(c.e.ix.expiryHead, row.expires)
}

// maxSweep bounds the dedupe rows that one settlement, or one round of an idle worker, deletes.
const maxSweep = 256

// sweepDedupe deletes expired ids, and returns their number.
func (e *engine) sweepDedupe(ctx context.Context, now int64) (int, error) {
	e.ix.mu.Lock()
	head := e.ix.expiryHead
	e.ix.mu.Unlock()
	if head > now {
		return 0, nil
	}
	n := 0
	err := e.do(ctx, func(c *commit) (err error) {
		n, err = c.sweep(now)
		return err
	})
	return n, err
}

func (c *commit) sweep(now int64) (int, error) {
	lo := appendExpiryKey([]byte{byte(expiryTable)}, c.e.ix.expiryHead, nil)
	head := int64(maxTime)
	var keys [][]byte
	var rows []dedupeRow
	err := c.e.back.Scan(lo, []byte{byte(expiryTable) + 1}, func(key, _ []byte) bool {
		expires, id, err := decodeExpiryKey(key[1:])
		if err != nil {
			return true
		}
		if expires > now || len(keys) == maxSweep {
			head = expires
			return false
		}
		keys = append(keys, append([]byte{byte(dedupeTable)}, id...))
		rows = append(rows, dedupeRow{expires: expires})
		return true
	})
	if err != nil {
		return 0, fmt.Errorf("read expiries: %w", err)
	}
	for i, key := range keys {
		// The id may have been completed again since, with a later expiry.
		value, ok, err := c.get(key)
		if row, bad := decodeDedupe(value); err == nil && ok && (bad != nil || row.expires <= now) {
			c.stage(key, nil)
		}
		c.batch.Delete(appendExpiryKey([]byte{byte(expiryTable)}, rows[i].expires, key[1:]))
	}
	c.e.ix.expiryHead = head
	for key, v := range c.staged {
		// The scan does not see ids that this group completes.
		if table(key[0]) == dedupeTable && v != nil {
			if row, err := decodeDedupe(v); err == nil {
				c.e.ix.expiryHead = min(c.e.ix.expiryHead, row.expires)
			}
		}
	}
	return len(keys), nil
}
