package runner

import (
	"encoding/binary"
	"encoding/json"
	"fmt"
	"time"
)

// table is the first byte of every stored key. The numbers 0 to 6 and the layout of the keys
// after them are those of the original's tables.
type table byte

// The tables.
const (
	appState    table = 0 // free key → free value; keys under "runner." belong to this package
	inboxTable  table = 1 // worker, first seq → frame or bundle
	outboxTable table = 2 // seq → frame
	leaseTable  table = 3 // worker, seq → lease
	timerTable  table = 4 // due, seq → frame
	dedupeTable table = 5 // worker, hash of id → dedupe row
	deadTable   table = 6 // worker, dead-letter seq → dead letter
	highTable   table = 7 // worker, seq → frame with high priority
	firedTable  table = 8 // worker, seq → timer key, frame
	expiryTable table = 9 // expiry, dedupe key → nothing

	historyTable  table = 10 // worker, hash of id → record
	finishedTable table = 11 // worker, number → hash of id, record of the last run
)

// Row identifies an inbox row. A worker's rows share one sequence of numbers, regardless of
// priority, and no number is used twice.
type Row struct {
	Worker uint64
	Seq    uint64
}

// Sequence numbers cannot run out: Insert accepts only the lower half, so that the upper half
// is left for posts, and a storage with a number beyond lastSeq, which only another program can
// have written, is not opened.
const (
	maxInsert = 1<<63 - 1
	lastSeq   = 3 << 62
)

func checkSeq(what string, seq uint64) error {
	if seq > lastSeq {
		return fmt.Errorf("%s has number %d, the last to be used is %d: %w", what, seq, uint64(lastSeq), ErrTooLarge)
	}
	return nil
}

// TimerID identifies an armed timer.
type TimerID struct {
	due int64 // ms since 1970; may be negative
	// Seq is the timer's number.
	Seq uint64
}

// Due returns when the timer fires, to the millisecond.
func (id TimerID) Due() time.Time { return time.UnixMilli(id.due) }

// timerName is a TimerID in JSON. JSON times end with the year 9999; timers may be later.
type timerName struct {
	Due int64  `json:"due"` // ms since 1970
	Seq uint64 `json:"seq"`
}

// MarshalJSON writes the time in milliseconds since 1970, and the number.
func (id TimerID) MarshalJSON() ([]byte, error) { return json.Marshal(timerName{id.due, id.Seq}) }

// UnmarshalJSON reads what MarshalJSON wrote.
func (id *TimerID) UnmarshalJSON(b []byte) error {
	var n timerName
	err := json.Unmarshal(b, &n)
	*id = TimerID{n.Due, n.Seq}
	return err
}

const rowKeyLen = 16

// appendRowKey appends the 16 bytes that identify a row in inbox, leases and dead letters.
func appendRowKey(dst []byte, r Row) []byte {
	dst = binary.BigEndian.AppendUint64(dst, r.Worker)
	return binary.BigEndian.AppendUint64(dst, r.Seq)
}

func decodeRowKey(b []byte) (Row, error) {
	if len(b) != rowKeyLen {
		return Row{}, fmt.Errorf("row key of %d bytes: %w", len(b), ErrFormat)
	}
	return Row{Worker: binary.BigEndian.Uint64(b), Seq: binary.BigEndian.Uint64(b[8:])}, nil
}

// appendTimerKey writes the due time in two's complement, as the original does, so that
// negative times sort after all others: a reader in time order must read the range from 80…
// first (see timerRange).
func appendTimerKey(dst []byte, id TimerID) []byte {
	dst = binary.BigEndian.AppendUint64(dst, uint64(id.due))
	return binary.BigEndian.AppendUint64(dst, id.Seq)
}

func decodeTimerKey(b []byte) (TimerID, error) {
	if len(b) != rowKeyLen {
		return TimerID{}, fmt.Errorf("timer key of %d bytes: %w", len(b), ErrFormat)
	}
	return TimerID{due: int64(binary.BigEndian.Uint64(b)), Seq: binary.BigEndian.Uint64(b[8:])}, nil
}

func appendOutboxKey(dst []byte, seq uint64) []byte {
	return binary.BigEndian.AppendUint64(dst, seq)
}

func decodeOutboxKey(b []byte) (uint64, error) {
	if len(b) != 8 {
		return 0, fmt.Errorf("outbox key of %d bytes: %w", len(b), ErrFormat)
	}
	return binary.BigEndian.Uint64(b), nil
}

// tableKey appends a complete stored key: the table's byte and the key in the table.
func tableKey(dst []byte, t table, key []byte) []byte {
	return append(append(dst, byte(t)), key...)
}

// rowKey appends the complete stored key of a row in t.
func rowKey(dst []byte, t table, r Row) []byte {
	return appendRowKey(append(dst, byte(t)), r)
}

// tableRange returns the bounds [lo, hi) of all keys of t.
func tableRange(t table) (lo, hi []byte) { return []byte{byte(t)}, []byte{byte(t) + 1} }

// The keys of this package's rows in app_state.
const (
	reservedPrefix = "runner."
	markerKey      = "runner.schema.version"
	needsKey       = "runner.schema.needs" // only if it differs from the marker
	journalKey     = "runner.journal"
	bootKey        = "runner.boot"
	countersKey    = "runner.counters"
	inboxStateKey  = "runner.inbox." // followed by the worker, u64be
)
