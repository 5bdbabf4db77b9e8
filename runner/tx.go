package runner

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"hash"
	"slices"
	"strings"
	"sync/atomic"
)

// Tx is a transaction over the application's state, with its effects. It reads a stable
// snapshot and collects writes in memory; the commit validates that everything it has read is
// unchanged, then applies all of it. A Tx belongs to one goroutine, and can be used until its
// handler or function returns.
type Tx struct {
	src    *txSource
	parent *Tx
	child  *Tx
	ended  bool
	over   atomic.Bool // see ErrOver; of the outermost one

	reads   map[string]txRead
	ranges  []txRange
	writes  []txWrite
	written map[string]int // index into writes
	effects []effect
}

// txSource is what a transaction and its nested ones read from.
type txSource struct {
	e    *engine
	view View
	// before has the writes of earlier deliveries of the same batch, which are committed just
	// before; nil is a deletion.
	before map[string][]byte
}

type txRead struct {
	value []byte
	ok    bool
}

type txRange struct {
	lo, hi []byte
	rows   int
	sum    [sha256.Size]byte
}

// txWrite keeps its place when it is overwritten; a nil value is a deletion.
type txWrite struct{ key, value []byte }

type effectKind uint8

const (
	effectSend effectKind = iota
	effectEmit
	effectArm
	effectCancel
)

type effect struct {
	kind  effectKind
	frame []byte
	timer TimerID // only due is set for effectArm
	to    uint64
	band  band
	// unique: see Message.Unique.
	unique bool
}

// The bounds of the application's state.
const (
	maxKey   = 4 << 10 // bytes of a key
	MaxValue = 4 << 20 // bytes of a value
	maxRange = 10_000  // rows of one Range
)

func (t *Tx) usable() error {
	for up := t; up != nil; up = up.parent {
		if up.over.Load() {
			return ErrOver
		}
	}
	return t.settled()
}

// settled returns an error if t has ended or has an open child.
func (t *Tx) settled() error {
	if t.ended || t.child != nil {
		return ErrNesting
	}
	return nil
}

func stateKey(key []byte) ([]byte, error) {
	switch {
	case len(key) == 0:
		return nil, fmt.Errorf("empty key: %w", ErrInvalid)
	case len(key) > maxKey:
		return nil, fmt.Errorf("key of %d bytes: %w", len(key), ErrTooLarge)
	case strings.HasPrefix(string(key), reservedPrefix):
		return nil, fmt.Errorf("key %q is reserved: %w", key, ErrInvalid)
	}
	return tableKey(nil, appState, key), nil
}

// Get returns the value of key, or ErrNotFound. Writes of this transaction and of the enclosing
// ones take precedence over the snapshot; all other reads are recorded and validated by the
// commit, including absence.
func (t *Tx) Get(key []byte) ([]byte, error) {
	if err := t.usable(); err != nil {
		return nil, err
	}
	k, err := stateKey(key)
	if err != nil {
		return nil, err
	}
	value, ok, err := t.read(string(k))
	if err == nil && !ok {
		err = fmt.Errorf("key %q: %w", key, ErrNotFound)
	}
	return bytes.Clone(value), err
}

func (t *Tx) read(k string) ([]byte, bool, error) {
	for up := t; up != nil; up = up.parent {
		if i, ok := up.written[k]; ok {
			return up.writes[i].value, up.writes[i].value != nil, nil
		}
	}
	for up := t; up != nil; up = up.parent {
		if r, ok := up.reads[k]; ok {
			return r.value, r.ok, nil
		}
	}
	value, ok, err := t.src.get(k)
	if err != nil {
		return nil, false, err
	}
	t.record(k, txRead{value, ok})
	return value, ok, nil
}

func (t *Tx) record(k string, r txRead) {
	if t.reads == nil {
		t.reads = map[string]txRead{}
	}
	t.reads[k] = r
}

func (s *txSource) snapshot() View {
	if s.view == nil {
		s.view = s.e.back.View()
	}
	return s.view
}

func (s *txSource) get(k string) ([]byte, bool, error) {
	if v, ok := s.before[k]; ok {
		return v, v != nil, nil
	}
	return s.snapshot().Get(nil, []byte(k))
}

// close ends the use of t, whose handler or function has returned.
func (t *Tx) close() error {
	t.over.Store(true)
	return t.src.close()
}

func (s *txSource) close() error {
	if s.view == nil {
		return nil
	}
	v := s.view
	s.view = nil
	return v.Close()
}

// Put writes key. An empty value is a value.
func (t *Tx) Put(key, value []byte) error {
	if len(value) > MaxValue {
		return fmt.Errorf("value of %d bytes: %w", len(value), ErrTooLarge)
	}
	v := make([]byte, len(value))
	copy(v, value)
	return t.write(key, v)
}

// Delete removes key; the key need not exist.
func (t *Tx) Delete(key []byte) error { return t.write(key, nil) }

func (t *Tx) write(key, value []byte) error {
	if err := t.usable(); err != nil {
		return err
	}
	k, err := stateKey(key)
	if err != nil {
		return err
	}
	t.stage(k, value)
	return nil
}

func (t *Tx) stage(k, value []byte) {
	if i, ok := t.written[string(k)]; ok {
		t.writes[i].value = value
		return
	}
	if t.written == nil {
		t.written = map[string]int{}
	}
	t.written[string(k)] = len(t.writes)
	t.writes = append(t.writes, txWrite{k, value})
}

// Range visits the keys of [lo, hi) in ascending order until visit returns false; an empty hi
// means the end. The commit validates that what was visited is unchanged and that nothing was
// added in between: up to the last key if visit has returned false, else up to hi. It returns
// ErrTooLarge when it has visited maxRange rows and there are more.
func (t *Tx) Range(lo, hi []byte, visit func(key, value []byte) bool) error {
	if err := t.usable(); err != nil {
		return err
	}
	from, to := tableKey(nil, appState, lo), []byte{byte(appState) + 1}
	if len(hi) > 0 {
		to = tableKey(nil, appState, hi)
	}
	staged := t.staged(from, to)
	read, sum := txRange{lo: from, hi: from}, sha256.New()
	defer func() { // also if visit panics
		sum.Sum(read.sum[:0])
		t.ranges = append(t.ranges, read)
	}()
	for visited := 0; ; {
		page, err := stateRows(t.src.snapshot(), t.src.before, from, to, rangePage)
		if err != nil {
			return err
		}
		end, more := to, len(page) == rangePage
		if more {
			end = after(page[rangePage-1].key)
		}
		rest := page
		for _, w := range mergeRows(page, between(staged, from, end)) {
			if visited == maxRange {
				return fmt.Errorf("range of more than %d rows: %w", maxRange, ErrTooLarge)
			}
			rest = read.extend(after(w.key), rest, sum)
			if visited++; !visit(w.key[1:], w.value) {
				return nil
			}
		}
		read.extend(end, rest, sum)
		if !more {
			return nil
		}
		from = end
	}
}

// after returns the least key that is greater.
func after(key []byte) []byte { return append(slices.Clip(key), 0) }

// extend moves the end of the range, adds the rows below it to its sum, and returns the others.
func (r *txRange) extend(hi []byte, rows []txWrite, sum hash.Hash) []txWrite {
	r.hi = hi
	for len(rows) > 0 && bytes.Compare(rows[0].key, hi) < 0 {
		hashRow(sum, rows[0])
		rows = rows[1:]
		r.rows++
	}
	return rows
}

// rangePage is how many rows Range reads at a time.
const rangePage = 64

// staged returns the writes of the transaction and its enclosing ones to [lo, hi); nil values
// are deletions.
func (t *Tx) staged(lo, hi []byte) map[string][]byte {
	var nest []*Tx
	for up := t; up != nil; up = up.parent {
		nest = append(nest, up)
	}
	staged := map[string][]byte{}
	for _, up := range slices.Backward(nest) {
		for _, w := range up.writes {
			if bytes.Compare(w.key, lo) >= 0 && bytes.Compare(w.key, hi) < 0 {
				staged[string(w.key)] = w.value
			}
		}
	}
	return staged
}

// between returns the writes of staged to [lo, hi).
func between(staged map[string][]byte, lo, hi []byte) map[string][]byte {
	part := map[string][]byte{}
	for k, v := range staged {
		if k >= string(lo) && k < string(hi) {
			part[k] = v
		}
	}
	return part
}

// mergeRows applies staged writes to sorted rows; nil values are deletions.
func mergeRows(rows []txWrite, staged map[string][]byte) []txWrite {
	if len(staged) == 0 {
		return rows
	}
	out := rows[:0:0]
	for _, r := range rows {
		if _, ok := staged[string(r.key)]; !ok {
			out = append(out, r)
		}
	}
	for k, v := range staged {
		if v != nil {
			out = append(out, txWrite{[]byte(k), v})
		}
	}
	slices.SortFunc(out, func(a, b txWrite) int { return bytes.Compare(a.key, b.key) })
	return out
}

// stateRows reads the application's first rows of [lo, hi), at most limit, with staged writes
// applied. If it returns limit rows, there may be more.
func stateRows(v Reader, staged map[string][]byte, lo, hi []byte, limit int) ([]txWrite, error) {
	var rows []txWrite
	ours := tableKey(nil, appState, []byte(reservedPrefix))
	within := between(staged, lo, hi)
	kept := 0
	err := v.Scan(lo, hi, func(k, value []byte) bool {
		if bytes.HasPrefix(k, ours) {
			return true
		}
		rows = append(rows, txWrite{bytes.Clone(k), append([]byte{}, value...)})
		if _, changed := within[string(k)]; !changed {
			kept++
		}
		return kept < limit
	})
	if err != nil {
		return nil, fmt.Errorf("read range: %w", err)
	}
	if kept == limit {
		for k := range within {
			if k > string(rows[len(rows)-1].key) {
				delete(within, k) // there may be rows before it that were not read
			}
		}
	}
	rows = mergeRows(rows, within)
	return rows[:min(len(rows), limit)], nil
}

func sumRows(rows []txWrite) (sum [sha256.Size]byte) {
	h := sha256.New()
	for _, r := range rows {
		hashRow(h, r)
	}
	h.Sum(sum[:0])
	return sum
}

func hashRow(h hash.Hash, r txWrite) {
	hashPart(h, r.key)
	hashPart(h, r.value)
}

func hashPart(h hash.Hash, b []byte) {
	var n [8]byte
	binary.LittleEndian.PutUint64(n[:], uint64(len(b)))
	h.Write(n[:])
	h.Write(b)
}

// empty reports whether a commit of t would neither check nor change anything.
func (t *Tx) empty() bool {
	return len(t.reads)+len(t.ranges)+len(t.writes)+len(t.effects) == 0
}
