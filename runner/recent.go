package runner

import "math"

// recent caches the tail of an inbox's ordinary rows as the committer wrote them, so that a
// worker that keeps up need not read them from the storage. It has all such rows from number
// from on that are not leased; a claim that begins below from reads the storage. Without it 64
// producers and a worker take 9 % more processor time per message with fsync (median of eight
// runs in turns); without fsync the medians show the opposite, within their spread.
type recent struct {
	rows  []recentRow
	from  uint64 // math.MaxUint64 if it is empty
	bytes int
	spare [][]byte // buffers of dropped rows, for reuse
	free  int      // bytes of spare
}

// recentRow is a row of n messages.
type recentRow struct {
	first uint64
	n     int
	value []byte // with a bundle header, which may not be filled in
}

// maxRecent bounds the bytes of one inbox's cache, and those of its spare buffers: four times
// the default of one claim, so that a worker that waits for a processor now and then still
// finds its rows here.
const maxRecent = 4 << 20

// recentLag is how many messages may be unclaimed when caching begins: the default batch.
const recentLag = 256

// wants reports whether to cache a row: whether the worker keeps up. In a backlog nothing is
// cached until the worker is near its end.
func (r *recent) wants(first, seen uint64, size int) bool {
	if r.from == math.MaxUint64 {
		return first <= seen+recentLag && size <= maxRecent
	}
	return r.bytes+size <= maxRecent
}

// keep takes the buffer of a row that was just written, and returns another buffer for the next
// row, nil if there is none.
func (r *recent) keep(first uint64, n uint32, value []byte) []byte {
	r.from = min(r.from, first)
	r.rows = append(r.rows, recentRow{first, int(n), value})
	r.bytes += len(value)
	if k := len(r.spare); k > 0 {
		value, r.spare = r.spare[k-1], r.spare[:k-1]
		r.free -= cap(value)
		return value[:0]
	}
	return nil
}

// drop empties the cache: the next claim reads the storage.
func (r *recent) drop() {
	r.forget(len(r.rows))
	r.from = math.MaxUint64
}

// pass removes the rows below seen, which are claimed.
func (r *recent) pass(seen uint64) {
	n := 0
	for n < len(r.rows) && r.rows[n].first < seen {
		n++
	}
	r.forget(n)
}

func (r *recent) forget(n int) {
	for _, row := range r.rows[:n] {
		r.bytes -= len(row.value)
		if size := cap(row.value); size <= maxBundleMemory && r.free+size <= maxRecent {
			r.spare = append(r.spare, row.value)
			r.free += size
		}
	}
	left := copy(r.rows, r.rows[n:])
	clear(r.rows[left:])
	r.rows = r.rows[:left]
}

// readRecent is readBand from the cache. ok is false if the storage must be read.
func (b *batch) readRecent(e *engine, worker, from, upper uint64, rows int, l limits) (next uint64, ok bool) {
	e.ix.mu.Lock()
	defer e.ix.mu.Unlock()
	in := e.ix.inboxes[worker]
	if in == nil || from < in.recent.from {
		return 0, false
	}
	had := len(b.list)
	for _, row := range in.recent.rows {
		if row.first >= upper {
			break
		}
		if rows <= 0 || b.full(l) {
			return row.first, true
		}
		before, over := len(b.list), len(b.over)
		more := true
		if at := (Row{worker, row.first}); row.n == 1 {
			b.add(at, bandNormal, row.value[bundleHeader:])
		} else {
			more = b.takeBundle(at, row.value, row.n, rows, l, before == had)
		}
		rows -= len(b.list) - before
		if !more {
			return row.first + uint64(len(b.list)-before+len(b.over)-over), true
		}
	}
	return upper, true
}
