package journal

import (
	"time"

	"wamble"
)

// A supply lasts for lasts without a store at the recent rate of use, and for half of that at least. It is
// leased in parts of the usual size, one every partEvery, because PostgreSQL counts every number, 16,384 in
// 12 ms, and other leases wait meanwhile. It never exceeds maxStock.
const (
	lasts     = 8 * time.Hour
	rateEvery = 10 * time.Second
	partEvery = 50 * time.Millisecond
	maxStock  = 1 << 24
)

// The supplies of a small database: see BeginSmall. The first lease is enough for many players that arrive
// before the next lease.
const (
	firstSmall = 256
	leastSmall = 1024
	smallShare = 4
)

// Leases hands out row numbers from blocks that were leased from the store ahead of need, so that a row has
// its number before the store has the row. It is used by one goroutine and is deterministic: the caller
// makes the leases, and passes the results to Add.
type Leases struct {
	size   int // largest lease, and supply of a sequence that is used little
	stocks [4]stock
}

type stock struct {
	blocks    []wamble.Block
	remaining int64
	wanted    bool // a lease is under way
	taken     int64
	since     time.Duration // when counting of taken began
	rate      float64       // numbers per second, recently
	part      time.Duration // when the next part may be leased
	first     int           // size of the first lease if the supply begins small; 0: it does not
	last      int64         // the highest leased number
}

// NewLeases returns an empty supply. It leases at most size numbers at a time, and keeps more in stock of
// sequences that are used faster.
func NewLeases(size int) *Leases { return &Leases{size: max(size, 2)} }

// BeginSmall makes the first lease of a sequence first numbers, at least 256. When half of them are taken
// it leases a thousand, and then a quarter of the highest number so far, until that is the usual supply: so
// the numbers of several profiles of a small database stay close together.
func (l *Leases) BeginSmall(s wamble.Sequence, first int) { l.stocks[s].first = max(first, firstSmall) }

// least returns the supply of a sequence that is used little.
func (st *stock) least(size int) int {
	switch {
	case st.first == 0:
		return size
	case st.last == 0, st.last < leastSmall && st.remaining > int64(st.first/2):
		return min(st.first, size)
	}
	return int(min(max(st.last/smallShare, leastSmall), int64(size)))
}

// Next takes the next number. It reports false if none is left until Add is called.
func (l *Leases) Next(s wamble.Sequence) (id int64, ok bool) {
	st := &l.stocks[s]
	if st.remaining == 0 {
		return 0, false
	}
	b := &st.blocks[0]
	id = b.First
	b.First++
	b.Count--
	st.remaining--
	st.taken++
	if b.Count == 0 {
		st.blocks = st.blocks[1:]
	}
	return id, true
}

// Want returns how many numbers should be leased now; the clock may begin at any time. It returns 0 while
// more than half of the supply is left, while a lease is under way, or less than partEvery after a lease
// unless numbers run out.
func (l *Leases) Want(s wamble.Sequence, now time.Duration) int {
	st := &l.stocks[s]
	if passed := now - st.since; passed >= rateEvery {
		st.rate = (st.rate + float64(st.taken)/passed.Seconds()) / 2
		st.taken, st.since = 0, now
	}
	least := st.least(l.size)
	supply := max(least, int(min(st.rate*lasts.Seconds(), maxStock)))
	if st.wanted || st.remaining > int64(supply/2) || st.remaining > int64(least/2) && now < st.part {
		return 0
	}
	st.wanted, st.part = true, now+partEvery
	return min(supply, l.size)
}

// Add adds the blocks of a lease. After a failed lease it is called without blocks, so that Want asks
// again.
func (l *Leases) Add(s wamble.Sequence, blocks []wamble.Block) {
	st := &l.stocks[s]
	st.wanted = false
	for _, b := range blocks {
		if b.Count > 0 {
			st.blocks = append(st.blocks, b)
			st.remaining += b.Count
			st.last = max(st.last, b.First+b.Count-1)
		}
	}
}

// Remaining returns how many numbers are in stock.
func (l *Leases) Remaining(s wamble.Sequence) int64 { return l.stocks[s].remaining }

// Blocks returns the numbers in stock, for another process to Add.
func (l *Leases) Blocks(s wamble.Sequence) []wamble.Block { return l.stocks[s].blocks }

// Size returns the largest size of a lease.
func (l *Leases) Size() int { return l.size }

// Skip removes a number, and all that would be handed out before it, from the stock: they were handed out
// earlier. It reports whether the number was in stock.
func (l *Leases) Skip(s wamble.Sequence, id int64) bool {
	st := &l.stocks[s]
	for i, b := range st.blocks {
		if id < b.First || id >= b.First+b.Count {
			continue
		}
		for _, before := range st.blocks[:i] {
			st.remaining -= before.Count
		}
		taken := id - b.First + 1
		st.remaining -= taken
		st.blocks = st.blocks[i:]
		st.blocks[0] = wamble.Block{First: id + 1, Count: b.Count - taken}
		if st.blocks[0].Count == 0 {
			st.blocks = st.blocks[1:]
		}
		return true
	}
	return false
}
