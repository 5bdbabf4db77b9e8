package runner

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"time"
)

// Every message of a named queue has a record: where it is, when it was posted, its last runs
// and their results. It changes in the commits that change the message. Records of done and
// deleted messages are kept for the last Options.KeepHistory of each queue, others as long as
// the message.
//
//	10 history    worker u64, hash of id 16   HIS0 record
//	11 finished   worker u64, number u64      hash of id 16, perhaps HIS0 record of the last run
//
// A commit reads no record of a message that succeeds: the record stays as it was when the
// message waited, and the finished row has the last run, with the message's number in the inbox
// as its seq. complete puts the two together.
//
//	 0 HIS0         4 place u8        5 runs u8          6 id length u16
//	 8 attempts u32 12 result length u32  16 seq u64     24 due i64
//	32 posted i64   40 ended i64      48 runs: ended i64, took in µs u64, length u16, error
//	then id, result
type record struct {
	place    place
	seq      uint64 // in the inbox, the timers, the dead letters or the finished messages
	due      int64  // due time of the timer
	posted   int64
	ended    int64
	attempts uint32
	runs     []recordedRun
	id       []byte
	result   []byte
}

// place is where a message is.
type place uint8

const (
	placeInbox place = iota
	placeTimer
	placeDead
	placeDone
	placeDeleted
	placeCount
)

// finished reports whether the message itself is deleted.
func (p place) finished() bool { return p >= placeDone }

type recordedRun struct {
	ended int64
	took  time.Duration
	err   string
}

const (
	recordTag    = "HIS0"
	recordFixed  = 48
	runFixed     = 18
	maxRuns      = 10
	maxRunError  = 256
	maxHistoryID = 256
	// maxResult bounds the bytes of Delivery.SetResult.
	maxResult = 4 << 10
)

func (h *record) append(dst []byte) []byte {
	le := binary.LittleEndian
	dst = append(append(dst, recordTag...), byte(h.place), byte(len(h.runs)))
	dst = le.AppendUint16(dst, uint16(len(h.id)))
	dst = le.AppendUint32(dst, h.attempts)
	dst = le.AppendUint32(dst, uint32(len(h.result)))
	for _, v := range [4]uint64{h.seq, uint64(h.due), uint64(h.posted), uint64(h.ended)} {
		dst = le.AppendUint64(dst, v)
	}
	for i := range h.runs {
		r := &h.runs[i]
		dst = le.AppendUint64(dst, uint64(r.ended))
		dst = le.AppendUint64(dst, uint64(r.took.Microseconds()))
		dst = le.AppendUint16(dst, uint16(len(r.err)))
		dst = append(dst, r.err...)
	}
	return append(append(dst, h.id...), h.result...)
}

// decodeRecord decodes a record; id and result are views into b.
func decodeRecord(b []byte) (record, error) {
	bad := func() (record, error) { return record{}, badLength("history", b) }
	if len(b) < recordFixed || string(b[:4]) != recordTag || b[4] >= byte(placeCount) {
		return bad()
	}
	le := binary.LittleEndian
	h := record{
		place: place(b[4]), attempts: le.Uint32(b[8:]), seq: le.Uint64(b[16:]), due: int64(le.Uint64(b[24:])),
		posted: int64(le.Uint64(b[32:])), ended: int64(le.Uint64(b[40:])),
	}
	rest := b[recordFixed:]
	for range b[5] {
		if len(rest) < runFixed || len(rest) < runFixed+int(le.Uint16(rest[16:])) {
			return bad()
		}
		n := runFixed + int(le.Uint16(rest[16:]))
		h.runs = append(h.runs, recordedRun{
			int64(le.Uint64(rest)), time.Duration(le.Uint64(rest[8:])) * time.Microsecond, string(rest[runFixed:n]),
		})
		rest = rest[n:]
	}
	id, result := uint64(le.Uint16(b[6:])), uint64(le.Uint32(b[12:]))
	if id+result != uint64(len(rest)) {
		return bad()
	}
	h.id, h.result = rest[:id], rest[id:]
	return h, nil
}

func historyKey(dst []byte, worker uint64, hash [dedupeHashLen]byte) []byte {
	dst = binary.BigEndian.AppendUint64(append(dst, byte(historyTable)), worker)
	return append(dst, hash[:]...)
}

// tracked reports whether messages of the inbox have records.
func (in *inbox) tracked() bool { return in.name != "" }

// frameID returns the id of a frame that checkMessage accepts.
func frameID(frame []byte) []byte {
	n := binary.LittleEndian.Uint32(frame[48:])
	return frame[messageHeader : messageHeader+n]
}

// record returns the record of a message, and false if it has none.
func (c *commit) record(in *inbox, id []byte) (record, bool, error) {
	hash := dedupeHash(id)
	value, ok, err := c.get(historyKey(nil, in.worker, hash))
	if err != nil || !ok {
		return record{}, false, err
	}
	h, err := decodeRecord(value)
	if err != nil {
		return record{}, false, nil // it is replaced
	}
	if n, finished := in.finished.numbers[hash]; finished {
		if value, _, err = c.get(finishedKey(in.worker, n)); err != nil {
			return record{}, false, err
		}
		h.complete(n, value)
	}
	return h, true, nil
}

// complete adds the last run of a message that has succeeded. value is the finished row n of its
// id, which may be of an earlier message.
func (h *record) complete(n uint64, value []byte) bool {
	last, ok := decodeFinished(value)
	if !ok || h.place != placeInbox || h.seq != last.seq {
		return false
	}
	h.place, h.seq, h.ended, h.due = placeDone, n, last.ended, 0
	h.attempts = max(h.attempts, last.attempts)
	if len(last.result) > 0 {
		h.result = last.result
	}
	for _, run := range last.runs {
		h.add(run)
	}
	return true
}

// decodeFinished returns the last run in a finished row, and false if it has none.
func decodeFinished(value []byte) (record, bool) {
	if len(value) <= dedupeHashLen {
		return record{}, false
	}
	h, err := decodeRecord(value[dedupeHashLen:])
	return h, err == nil
}

func finishedKey(worker, n uint64) []byte { return rowKey(nil, finishedTable, Row{worker, n}) }

func (c *commit) putRecord(worker uint64, hash [dedupeHashLen]byte, h *record) {
	c.stageOwn(historyKey(nil, worker, hash), h.append(nil))
}

// began creates the record of a posted message. A duplicate of a message with the flag Dedupe
// continues that message's record.
func (c *commit) began(in *inbox, frame []byte, p place, seq uint64, due int64) {
	id := frameID(frame)
	h := record{posted: c.now, id: id[:min(len(id), maxHistoryID)]}
	if Flags(frame[13])&Dedupe != 0 {
		old, ok, err := c.record(in, id)
		if done, bad := c.isDone(in.worker, id); ok && errors.Join(err, bad) == nil &&
			(done || !old.place.finished() && old.place != placeDead) {
			h = old
		}
	}
	h.place, h.seq, h.due = p, seq, due
	c.putRecord(in.worker, dedupeHash(id), &h)
}

// moved updates the place of a message. A message without a record gets one.
func (c *commit) moved(in *inbox, id []byte, p place, seq uint64, change func(h *record)) {
	hash := dedupeHash(id)
	h, ok, err := c.record(in, id)
	if err != nil || !ok {
		h = record{posted: c.now, id: id[:min(len(id), maxHistoryID)]}
	}
	h.place, h.seq, h.due = p, seq, 0
	if p == placeDone || p == placeDeleted || p == placeDead {
		h.ended = c.now
	}
	if change != nil {
		change(&h)
	}
	if p.finished() {
		if h.seq = c.finish(in, hash, id, hash[:]); len(in.finished.list) == 0 {
			c.stage(historyKey(nil, in.worker, hash), nil) // no history is kept
			return
		}
	}
	c.putRecord(in.worker, hash, &h)
}

// finishedList is the finished messages of a queue that are kept, in the order of their end.
type finishedList struct {
	next    uint64 // the next number
	list    []finished
	numbers map[[dedupeHashLen]byte]uint64 // the last number of an id
}

type finished struct {
	n    uint64
	hash [dedupeHashLen]byte
	// madeUp says that the engine has made up its id, so that no other message has it unless the
	// inbox repeats ids.
	madeUp bool
}

func (f *finishedList) add(x finished) {
	f.next = x.n + 1
	f.list = append(f.list, x)
	f.numbers[x.hash] = x.n
}

// dropFirst removes the oldest message from the list.
func (f *finishedList) dropFirst() finished {
	x := f.list[0]
	f.list = f.list[1:]
	if f.numbers[x.hash] == x.n {
		delete(f.numbers, x.hash)
	}
	return x
}

// finish adds a message to the finished ones of its queue, and deletes the oldest ones beyond
// Options.KeepHistory. value begins with the hash of id.
func (c *commit) finish(in *inbox, hash [dedupeHashLen]byte, id, value []byte) uint64 {
	f := &in.finished
	n := f.next
	f.add(finished{n, hash, c.e.madeUp(id)})
	c.stageOwn(finishedKey(in.worker, n), value)
	for len(f.list) > c.e.o.KeepHistory {
		c.forgetFinished(in, f.dropFirst())
	}
	return n
}

// forgetFinished deletes a finished message, and its record, unless that is of a later message
// with the same id.
func (c *commit) forgetFinished(in *inbox, x finished) {
	at, key := historyKey(nil, in.worker, x.hash), finishedKey(in.worker, x.n)
	if x.madeUp && !in.repeats {
		c.stage(key, nil)
		c.stage(at, nil)
		return
	}
	value, _, err := c.get(key)
	c.stage(key, nil)
	last, ran := decodeFinished(value)
	value, ok, bad := c.get(at)
	if err != nil || bad != nil || !ok {
		return
	}
	h, err := decodeRecord(value)
	if err != nil || h.place.finished() && h.seq == x.n || ran && h.place == placeInbox && h.seq == last.seq {
		c.stage(at, nil)
	}
}

// succeeded records the last run of d.
func (c *commit) succeeded(in *inbox, d *Delivery) {
	if d.frameErr != nil {
		return // its id is unknown
	}
	if d.Flags&Dedupe != 0 {
		c.ran(in, d, placeDone, 0, nil) // its record may be that of the job with its id that ran
		return
	}
	hash := dedupeHash(d.ID)
	if _, again := in.finished.numbers[hash]; again {
		// record finds the last run of an id only by its last number, which changes now.
		if h, ok, err := c.record(in, d.ID); ok && err == nil && h.place == placeDone {
			c.putRecord(in.worker, hash, &h)
		}
	}
	h := record{
		place: placeDone, seq: d.Row.Seq, ended: c.now, attempts: d.Attempts, id: d.ID[:min(len(d.ID), maxHistoryID)],
		result: d.result, runs: []recordedRun{{ended: c.now, took: d.took}},
	}
	c.finish(in, hash, d.ID, h.append(bytes.Clone(hash[:])))
}

// ran records the result of a run of d, which is at p under seq now.
func (c *commit) ran(in *inbox, d *Delivery, p place, seq uint64, err error) {
	if d.frameErr != nil {
		return // its id is unknown
	}
	c.moved(in, d.ID, p, seq, func(h *record) {
		h.attempts = max(h.attempts, d.Attempts)
		if d.skip {
			return
		}
		if d.result != nil {
			h.result = d.result
		}
		run := recordedRun{ended: c.now, took: d.took}
		if err != nil {
			run.err = err.Error()
			run.err = run.err[:min(len(run.err), maxRunError)]
		}
		h.add(run)
	})
}

// add adds a run, and drops the oldest beyond maxRuns.
func (h *record) add(run recordedRun) {
	if len(h.runs) >= maxRuns {
		h.runs = h.runs[len(h.runs)-maxRuns+1:]
	}
	h.runs = append(h.runs, run)
}

// SetResult keeps b as the result of the message, if it has a history and this run is
// committed. It returns ErrTooLarge above maxResult.
func (d *Delivery) SetResult(b []byte) error {
	if len(b) > maxResult {
		return fmt.Errorf("result of %d bytes, at most %d: %w", len(b), maxResult, ErrTooLarge)
	}
	d.result = append([]byte{}, b...)
	return nil
}

// loadFinished reads which messages of all queues are finished.
func (e *engine) loadFinished() error {
	for _, in := range e.ix.names {
		f := &in.finished
		lo, hi := inboxRange(finishedTable, in.worker, 0)
		err := e.back.Scan(lo, hi, func(key, value []byte) bool {
			row, err := decodeRowKey(key[1:])
			if err != nil || len(value) < dedupeHashLen {
				return true
			}
			f.add(finished{n: row.Seq, hash: [dedupeHashLen]byte(value)})
			return true
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// queued reports whether a message with this id waits or runs.
func (c *commit) queued(in *inbox, id []byte) (bool, error) {
	h, ok, err := c.record(in, id)
	return ok && (h.place == placeInbox || h.place == placeTimer) && bytes.HasPrefix(id, h.id), err
}
