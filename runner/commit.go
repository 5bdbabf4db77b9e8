package runner

import (
	"encoding/binary"
	"fmt"
	"math"
	"slices"
	"time"
)

// commit is the group that the committer is building: a batch, and what later requests of the
// group must see of it. Its methods run with the index locked; each leaves batch and index
// consistent.
type commit struct {
	e       *engine
	batch   Batch
	now     int64 // ms
	noSpace error // why new messages are refused, or nil
	// staged has the state, dedupe, history and dead-letter rows, timers, and unpacked messages
	// that this group has written; nil values are deletions.
	staged map[string][]byte
	armed  []TimerID // timers armed by this group, which scans do not see yet
	sooner bool      // one of them is due before all others
	// leases are written at the end, because a memtable takes consecutive keys of one table
	// much faster than alternating tables.
	leases  []leaseWrite
	touched []*inbox // inboxes that this group has changed
	dirty   bool     // counters changed
	key     []byte
	value   []byte
}

// leaseWrite sets the lease of a row, or deletes it with the row.
type leaseWrite struct {
	row   Row
	lease lease
	gone  bool
}

func (c *commit) begin(now int64, noSpace error) {
	c.now, c.noSpace = now, noSpace
	clear(c.staged)
	c.touched = c.touched[:0]
	c.armed, c.sooner = c.armed[:0], false
	c.leases = c.leases[:0]
	c.dirty = false
}

// end writes the collected rows, leases and durable parts of the index into the batch.
func (c *commit) end() {
	for _, in := range c.touched {
		c.seal(in)
	}
	for i := range c.leases {
		w := &c.leases[i]
		c.key = rowKey(c.key[:0], leaseTable, w.row)
		if w.gone {
			c.batch.Delete(c.key)
			continue
		}
		if w.lease.Owner == 0 {
			w.lease.Deadline = c.byWall(w.lease.Deadline)
		}
		c.value = w.lease.append(c.value[:0])
		c.batch.Set(c.key, c.value)
	}
	for _, in := range c.touched {
		c.key = append(append(c.key[:0], byte(appState)), inboxStateKey...)
		c.key = binary.BigEndian.AppendUint64(c.key, in.worker)
		in.leaseHead = in.oldest()
		c.value = in.inboxState.append(c.value[:0])
		c.batch.Set(c.key, c.value)
	}
	if c.dirty {
		c.key = append(append(c.key[:0], byte(appState)), countersKey...)
		c.value = c.e.ix.counters.append(c.value[:0])
		c.batch.Set(c.key, c.value)
	}
}

// wake publishes stored rows, and wakes the workers of inboxes that have something new, or all
// of them if a timer is due before the one that they sleep for.
func (c *commit) wake() {
	c.e.ix.mu.Lock()
	defer c.e.ix.mu.Unlock()
	c.e.ix.outboxStored = c.e.ix.outboxNext
	if c.sooner {
		for _, w := range c.e.ix.owners {
			w.poke()
		}
	}
	for _, in := range c.touched {
		in.publish()
		switch {
		case in.freed:
			in.wakeAll()
		case in.posted, in.split:
			in.wakeOne()
		}
		in.dirty, in.posted, in.split, in.freed = false, false, false, false
	}
}

func (c *commit) touch(in *inbox) {
	if !in.dirty {
		in.dirty = true
		c.touched = append(c.touched, in)
	}
}

// post appends a frame to the worker's inbox and returns its number.
func (c *commit) post(worker uint64, b band, frame []byte) uint64 {
	in := c.e.ix.inbox(worker)
	seq := in.next
	in.next++
	if b == bandNormal {
		c.arrive(in, seq, b)
		c.pack(in, seq, frame)
	} else {
		c.insert(in, seq, b, frame)
	}
	switch {
	case !in.tracked():
	case b == bandFired:
		c.moved(in, frameID(frame[rowKeyLen:]), placeInbox, seq, nil)
	default:
		c.began(in, frame, placeInbox, seq, 0)
	}
	return seq
}

// postAll posts the frames of a list in order, and appends their numbers to seqs.
func (c *commit) postAll(l *frameList, seqs []uint64) []uint64 {
	for i := range l.list {
		seqs = append(seqs, c.post(l.list[i].to, l.list[i].band, l.frame(i)))
	}
	return seqs
}

// arrive counts a new message with the number seq.
func (c *commit) arrive(in *inbox, seq uint64, b band) {
	c.touch(in)
	if !in.posted {
		in.posted = true
		in.note(seq, c.now)
	}
	in.count++
	in.upper[b] = seq + 1
}

// insert stores a row that is not part of a bundle.
func (c *commit) insert(in *inbox, seq uint64, b band, frame []byte) {
	c.arrive(in, seq, b)
	c.key = rowKey(c.key[:0], bandTables[b], Row{in.worker, seq})
	c.batch.Set(c.key, frame)
}

// setLease stores a lease that the caller has put into the index.
func (c *commit) setLease(r Row, l lease) {
	c.leases = append(c.leases, leaseWrite{row: r, lease: l})
}

// remove deletes a leased row, which may be a bundle, and its lease.
func (c *commit) remove(in *inbox, seq uint64, b band) {
	r := Row{in.worker, seq}
	c.key = rowKey(c.key[:0], bandTables[b], r)
	c.batch.Delete(c.key)
	c.leases = append(c.leases, leaseWrite{row: r, gone: true})
	in.count -= uint64(in.leases[seq].n)
	in.release(seq)
	c.touch(in)
}

// removed reports whether this group removes r, which scans still see.
func (c *commit) removed(r Row) bool {
	return slices.ContainsFunc(c.leases, func(w leaseWrite) bool { return w.gone && w.row == r })
}

// requeue moves a leased row to the tail of the inbox, parked until a time. value is the row's
// stored value.
func (c *commit) requeue(in *inbox, seq uint64, h holding, until int64, value []byte) uint64 {
	c.remove(in, seq, h.band)
	to := in.next
	in.next++
	c.insert(in, to, h.band, value)
	h.Owner, h.Deadline = 0, until
	in.park(to, h)
	c.setLease(Row{in.worker, to}, h.lease)
	in.freed = true
	return to
}

// bury adds a dead letter and returns its row.
func (c *commit) bury(worker uint64, d *DeadLetter) Row {
	ix := &c.e.ix
	r := Row{worker, ix.deadNext}
	ix.deadNext++
	ix.deadCount++
	c.dirty = true
	d.Time = time.UnixMilli(c.now)
	c.key = rowKey(c.key[:0], deadTable, r)
	c.value = d.append(c.value[:0])
	c.batch.Set(c.key, c.value)
	return r
}

// emit appends to the outbox.
func (c *commit) emit(frame []byte) uint64 {
	ix := &c.e.ix
	seq := ix.outboxNext
	ix.outboxNext++
	ix.outboxCount++
	ix.outboxMarks.note(seq, ix.outboxHead, c.now)
	c.dirty = true
	c.key = appendOutboxKey(append(c.key[:0], byte(outboxTable)), seq)
	c.batch.Set(c.key, frame)
	return seq
}

// arm adds a timer.
func (c *commit) arm(due int64, frame []byte) TimerID {
	ix := &c.e.ix
	id := TimerID{due, ix.timerNext}
	ix.timerNext++
	ix.timerCount++
	c.dirty = true
	if first, ok := ix.timers.next(); !ok || due < first {
		c.sooner = true
	}
	ix.timers.armed(id)
	c.armed = append(c.armed, id)
	if h, err := checkMessage(frame); err == nil && h.to >= 0 {
		if in := ix.inboxes[uint64(h.to)]; in != nil && in.tracked() {
			c.began(in, frame, placeTimer, id.Seq, due)
		}
	}
	c.key = appendTimerKey(append(c.key[:0], byte(timerTable)), id)
	c.batch.Set(c.key, frame)
	return id
}

// disarm removes an armed timer.
func (c *commit) disarm(id TimerID) {
	c.e.ix.timerCount--
	c.dirty = true
	c.key = appendTimerKey(append(c.key[:0], byte(timerTable)), id)
	c.stage(c.key, nil)
}

// stage writes a row that get must see within this group; nil deletes it.
func (c *commit) stage(key, value []byte) {
	if c.staged == nil {
		c.staged = map[string][]byte{}
	}
	if value == nil {
		c.batch.Delete(key)
		c.staged[string(key)] = nil
		return
	}
	c.stageOwn(key, append([]byte{}, value...))
}

// stageOwn is stage for a value that nobody else changes, and that is not nil.
func (c *commit) stageOwn(key, value []byte) {
	if c.staged == nil {
		c.staged = map[string][]byte{}
	}
	c.batch.Set(key, value)
	c.staged[string(key)] = value
}

// get reads a row of a kind that this group writes only through stage.
func (c *commit) get(key []byte) (value []byte, ok bool, err error) {
	if v, here := c.staged[string(key)]; here {
		return v, v != nil, nil
	}
	return c.e.back.Get(nil, key)
}

// held returns the holding of r if l is its lease, perhaps renewed since.
func (c *commit) held(r Row, l lease) (*inbox, holding, error) {
	if in := c.e.ix.inboxes[r.Worker]; in != nil {
		if h, ok := in.leases[r.Seq]; ok && h.same(l) {
			return in, h, nil
		}
	}
	return nil, holding{}, fmt.Errorf("row %d of worker %d: %w", r.Seq, r.Worker, ErrLeaseLost)
}

const maxTime = math.MaxInt64

// later returns now + ms without overflow.
func later(now, ms int64) int64 {
	if ms > 0 && now > math.MaxInt64-ms {
		return maxTime
	}
	return now + ms
}
