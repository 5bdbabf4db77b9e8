package journal

import (
	"time"

	"wamble"
)

// How long a supply lasts without a store: so long at the rate at which numbers
// were taken lately, and half of that at least. It is leased in parts of the usual size,
// because PostgreSQL counts every number, 16,384 in 12 ms, while other leases wait; and
// what is not needed soon is leased part by part, so that PostgreSQL has something else to
// do, too. It is never more than maxStock.
const (
	lasts     = 8 * time.Hour
	rateEvery = 10 * time.Second
	partEvery = 50 * time.Millisecond
	maxStock  = 1 << 24
)

// A small world has small numbers: see BeginSmall. The first lease is enough for a crowd
// that comes while the next one is on its way.
const (
	firstSmall = 256
	leastSmall = 1024
	smallShare = 4
)

// Leases hands out row numbers from blocks that were leased from the store
// ahead of need, so that a row has its number before the store has the row. It
// belongs to one goroutine and is deterministic: leasing itself happens
// elsewhere, and its result comes back through Add.
type Leases struct {
	size   int // of the supply of a sequence of which little is taken
	stocks [4]stock
}

type stock struct {
	blocks []wamble.Block
	left   int64
	wanted bool // a lease is under way
	taken  int64
	since  time.Duration // when counting taken began
	rate   float64       // numbers a second, by the last counts
	part   time.Duration // when the next part may be leased
	first  int           // the first lease of a supply that begins small; 0: it does not
	last   int64         // the highest number that was leased
}

// NewLeases returns an empty supply that leases size numbers at a time, and more
// of those that are needed more.
func NewLeases(size int) *Leases { return &Leases{size: max(size, 2)} }

// BeginSmall lets a sequence begin with a lease of first numbers or a few more. When half
// of them are taken it leases a thousand, and then a quarter of the highest number that
// it has reached, until that is the usual supply: so the numbers of several profiles of a
// small world stay close together.
func (l *Leases) BeginSmall(s wamble.Sequence, first int) { l.stocks[s].first = max(first, firstSmall) }

// least is the supply of a sequence of which little is taken.
func (st *stock) least(size int) int {
	switch {
	case st.first == 0:
		return size
	case st.last == 0, st.last < leastSmall && st.left > int64(st.first/2):
		return min(st.first, size)
	}
	return int(min(max(st.last/smallShare, leastSmall), int64(size)))
}

// Next takes a number, or reports that there is none until Add is called.
func (l *Leases) Next(s wamble.Sequence) (id int64, ok bool) {
	st := &l.stocks[s]
	if st.left == 0 {
		return 0, false
	}
	b := &st.blocks[0]
	id = b.First
	b.First++
	b.Count--
	st.left--
	st.taken++
	if b.Count == 0 {
		st.blocks = st.blocks[1:]
	}
	return id, true
}

// Want returns how many numbers should be leased now, by a clock that began at
// any time: 0 while more than half of the supply is left, or a lease is under way, or was
// a moment ago and numbers are not running out.
func (l *Leases) Want(s wamble.Sequence, now time.Duration) int {
	st := &l.stocks[s]
	if passed := now - st.since; passed >= rateEvery {
		st.rate = (st.rate + float64(st.taken)/passed.Seconds()) / 2
		st.taken, st.since = 0, now
	}
	least := st.least(l.size)
	supply := max(least, int(min(st.rate*lasts.Seconds(), maxStock)))
	if st.wanted || st.left > int64(supply/2) || st.left > int64(least/2) && now < st.part {
		return 0
	}
	st.wanted, st.part = true, now+partEvery
	return min(supply, l.size)
}

// Add brings in what was leased. After a failed lease it is called with no
// blocks, so that Want asks again.
func (l *Leases) Add(s wamble.Sequence, blocks []wamble.Block) {
	st := &l.stocks[s]
	st.wanted = false
	for _, b := range blocks {
		if b.Count > 0 {
			st.blocks = append(st.blocks, b)
			st.left += b.Count
			st.last = max(st.last, b.First+b.Count-1)
		}
	}
}

// Left returns how many numbers are in stock.
func (l *Leases) Left(s wamble.Sequence) int64 { return l.stocks[s].left }

// Blocks returns the numbers in stock, for another process to Add.
func (l *Leases) Blocks(s wamble.Sequence) []wamble.Block { return l.stocks[s].blocks }

// Size returns how many numbers are leased at a time.
func (l *Leases) Size() int { return l.size }

// Skip takes a number, and all that would be given out before it, out of the stock:
// they were given out before. It reports whether the number was there.
func (l *Leases) Skip(s wamble.Sequence, id int64) bool {
	st := &l.stocks[s]
	for i, b := range st.blocks {
		if id < b.First || id >= b.First+b.Count {
			continue
		}
		for _, before := range st.blocks[:i] {
			st.left -= before.Count
		}
		taken := id - b.First + 1
		st.left -= taken
		st.blocks = st.blocks[i:]
		st.blocks[0] = wamble.Block{First: id + 1, Count: b.Count - taken}
		if st.blocks[0].Count == 0 {
			st.blocks = st.blocks[1:]
		}
		return true
	}
	return false
}
