package runner

import (
	"fmt"
	"math"
	"sync/atomic"
	"time"
)

// batch has the deliveries that a worker has claimed, with the bytes of their frames. A worker
// uses two batches in turn: one runs while the next is claimed.
type batch struct {
	arena []byte
	list  []Delivery
	// over is the end of the last bundle, if the claim had no room for it; its messages get
	// overLease, which makes them free at once.
	over      []Delivery
	overLease lease
	outs      []outcome
	txs       []*Tx // nil entries have nothing to commit
	slots     []Tx  // memory of txs, new for every batch
	span      *claimSpan
	kept      keptRows
	plain     []bool        // by the first delivery of a bundle, see findPlain
	claimed   time.Duration // time of the claim, by o.elapsed
	// held is those of list that the worker holds, since the claim is stored, and begun is how many of
	// them have been given to the handler. The index lock guards held.
	held  []Delivery
	begun atomic.Int32
	// pos is the index of the first delivery that is not settled.
	pos int
	// singles says that the worker is locating a failure of a batch handler.
	singles bool
}

func (b *batch) reset() {
	b.arena, b.list, b.over, b.outs, b.txs = b.arena[:0], b.list[:0], b.over[:0], b.outs[:0], b.txs[:0]
	b.span, b.pos, b.singles, b.slots = nil, 0, false, nil
	clear(b.txs[:cap(b.txs)])
}

func (b *batch) rest() []Delivery { return b.list[b.pos:] }

// limits bound one claim. An ordered worker reads more than it takes (the full limit of each
// band, and whole bundles), because it first merges all rows by number.
type limits struct {
	rows, bytes int
	whole       bool
}

func (l limits) wide() limits { return limits{l.rows, math.MaxInt, true} }

func (b *batch) full(l limits) bool {
	return len(b.list) >= l.rows || len(b.list) > 0 && len(b.arena) >= l.bytes
}

// add copies a row into the batch; value is as stored.
func (b *batch) add(row Row, at band, value []byte) {
	b.arena = append(b.arena, value...)
	v := b.arena[len(b.arena)-len(value):]
	d := Delivery{Row: row, Frame: v, custody: custody{queue: at}}
	if at == bandFired {
		if len(v) < rowKeyLen {
			d.frameErr = badLength("fired timer", v)
		} else {
			d.Timer, _ = decodeTimerKey(v[:rowKeyLen])
			d.FromTimer, d.Frame = true, v[rowKeyLen:]
		}
	}
	b.list = append(b.list, d)
}

// readReady reads the rows of w.seqs, which are to be taken over, with a scan for each run of them.
func (b *batch) readReady(e *engine, w *Worker, l limits) error {
	for from, to := 0, 0; from < len(w.seqs); from = to {
		at := w.bands[from]
		for to = from + 1; to < len(w.seqs) && w.bands[to] == at && w.seqs[to]-w.seqs[to-1] <= maxGap; {
			to++
		}
		run, going := w.seqs[from:to], true
		lo := rowKey(nil, bandTables[at], Row{w.id, run[0]})
		hi := rowKey(nil, bandTables[at], Row{w.id, run[len(run)-1] + 1})
		err := e.back.Scan(lo, hi, func(key, value []byte) bool {
			row, err := decodeRowKey(key[1:])
			for err == nil && len(run) > 0 && run[0] < row.Seq {
				run = run[1:] // it is gone
			}
			if err != nil || len(run) == 0 || run[0] != row.Seq {
				return true
			}
			run = run[1:]
			going = !b.full(l) && b.take(row, at, value, l.rows-len(b.list), l, len(b.list) == 0)
			return going
		})
		if err != nil {
			return fmt.Errorf("read rows of worker %d: %w", w.id, err)
		}
		if !going {
			return nil
		}
	}
	return nil
}

// take copies a stored row into the batch and reports whether more may be added. A bundle for
// which the remaining room is too small is not taken, unless it is the first of its band in the
// batch: then as many of its messages are taken as fit.
func (b *batch) take(row Row, k band, value []byte, rows int, l limits, first bool) bool {
	n := 0
	if k == bandNormal {
		n = bundled(value)
	}
	if n == 0 {
		b.add(row, k, value)
		return true
	}
	if l.whole || n <= rows && len(b.arena)+len(value) <= l.bytes {
		b.addBundle(row, value, n, n)
		return true
	}
	if first && len(b.over) == 0 {
		b.addBundle(row, value, n, b.room(value, min(n, rows), l))
	}
	return false
}

// room returns how many messages of a bundle the batch takes: between one and n, and no more
// once the batch is full.
func (b *batch) room(value []byte, n int, l limits) int {
	rest := value[bundleHeader:]
	for i, size := 0, len(b.arena); i < n; i++ {
		if i > 0 && size >= l.bytes {
			return i
		}
		k := frameSize(rest)
		size, rest = size+k, rest[k:]
	}
	return n
}

// readFresh reads rows that were never claimed. High priority is first, but fired timers and
// ordinary rows each have a quarter of a batch reserved; if the batch is too small for that,
// the bands take turns.
func (b *batch) readFresh(e *engine, w *Worker, worker uint64, seen, upper [bandCount]uint64, turn uint,
	l limits) ([bandCount]uint64, error) {
	at := seen
	read := func(k band, rows int) error {
		if at[k] >= upper[k] || b.full(l) || rows <= 0 {
			return nil
		}
		next, err := b.readBand(e, worker, k, at[k], upper[k], rows, l)
		at[k] = next
		return err
	}
	room := l.rows - len(b.list)
	quarter := room / 4
	order := [bandCount]band{bandHigh, bandNormal, bandFired}
	switch {
	case w.o.Ordered:
		// The merge by number needs up to room rows of each band, and at least one, which may
		// precede all rows that are taken over.
		for _, k := range order {
			if at[k] >= upper[k] {
				continue
			}
			rows := max(room, 1)
			each := limits{len(b.list) + rows, len(b.arena) + l.bytes, true}
			next, err := b.readBand(e, worker, k, at[k], upper[k], rows, each)
			if err != nil {
				return at, err
			}
			at[k] = next
		}
		return at, nil
	case quarter > 0:
		if err := read(bandFired, quarter); err != nil {
			return at, err
		}
		keep := 0
		if at[bandNormal] < upper[bandNormal] {
			keep = quarter
		}
		if err := read(bandHigh, l.rows-len(b.list)-keep); err != nil {
			return at, err
		}
		order = [bandCount]band{bandNormal, bandHigh, bandFired}
	case turn%4 == 1:
		order = [bandCount]band{bandNormal, bandHigh, bandFired}
	case turn%4 == 2:
		order = [bandCount]band{bandFired, bandHigh, bandNormal}
	}
	for _, k := range order {
		if err := read(k, l.rows-len(b.list)); err != nil {
			return at, err
		}
	}
	return at, nil
}

// readBand appends rows of one band and returns where the next scan begins.
func (b *batch) readBand(e *engine, worker uint64, k band, from, upper uint64, rows int, l limits) (uint64, error) {
	lo, hi := rowKey(nil, bandTables[k], Row{worker, from}), rowKey(nil, bandTables[k], Row{worker, upper})
	next, had := upper, len(b.list)
	err := e.back.Scan(lo, hi, func(key, value []byte) bool {
		row, err := decodeRowKey(key[1:])
		if err != nil {
			return true
		}
		if rows <= 0 || b.full(l) {
			next = row.Seq
			return false
		}
		before, over := len(b.list), len(b.over)
		more := b.take(row, k, value, rows, l, before == had)
		rows -= len(b.list) - before
		if !more {
			next = row.Seq + uint64(len(b.list)-before+len(b.over)-over)
		}
		return more
	})
	if err != nil {
		return from, fmt.Errorf("read inbox of worker %d: %w", worker, err)
	}
	return next, nil
}
