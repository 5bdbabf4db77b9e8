package runner

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
)

// openEngine opens the tables, checks the schema, starts a new epoch, reads the index and
// starts the committer. On an error nothing is left open.
func openEngine(o *Options, s Storage) (*engine, error) {
	e, err := newEngine(o, s.Open)
	if err != nil {
		return nil, err
	}
	e.name = "the storage"
	if n, ok := s.(fmt.Stringer); ok {
		e.name = n.String()
	}
	if err := e.start(); err != nil {
		e.tend.stop()
		return nil, errors.Join(err, e.back.Close())
	}
	return e, nil
}

// newEngine opens the backend, and returns an engine whose index is not loaded.
func newEngine(o *Options, open func(onFail func(error)) (Backend, error)) (*engine, error) {
	e := &engine{o: o, ids: rand.Text()[:8], failedCh: make(chan struct{}), replaced: make(chan struct{})}
	e.ix.inboxes, e.ix.owners = map[uint64]*inbox{}, map[uint64]*Worker{}
	e.ix.names = map[string]*inbox{}
	var err error
	if e.back, err = open(e.fail); err != nil {
		return nil, err
	}
	e.started = e.now()
	e.lastWall.Store(math.MaxInt64) // it may have gone back since the timers were armed
	return e, nil
}

func (e *engine) start() error {
	if n, durable := e.lost(); n > 0 && durable && !e.o.AcceptLoss {
		return fmt.Errorf("%s: %w", lossText(n), ErrDamaged)
	}
	from, fresh, err := e.guardSchema()
	if err != nil {
		return err
	}
	if err := e.loadIndex(); err != nil {
		return fmt.Errorf("read the index: %w", err)
	}
	if err := e.loadIdentity(); err != nil {
		return err
	}
	if err := e.loadLeases(); err != nil {
		return fmt.Errorf("read the leases: %w", err)
	}
	k := newCommitter(e)
	e.failMu.Lock()
	e.k = k
	e.failMu.Unlock()
	go k.run()
	if err := e.writeIdentity(from, fresh); err != nil {
		k.stop(ErrStopped)
		return err
	}
	return nil
}

// lost returns how many acknowledged writes were missing when the storage was opened, 0 if that
// is unknown.
func (e *engine) lost() (writes uint64, durable bool) {
	if l, ok := e.back.(Lossy); ok {
		return l.Lost()
	}
	return 0, false
}

func lossText(writes uint64) string {
	return fmt.Sprintf("%d acknowledged writes are missing", writes)
}

func (e *engine) own(key string) ([]byte, bool, error) {
	return e.back.Get(nil, tableKey(nil, appState, []byte(key)))
}

// guardSchema compares the stored marker with Options.Schema. It only reads; the marker is
// written together with the boot row.
func (e *engine) guardSchema() (from Version, fresh bool, err error) {
	want := e.o.Schema
	b, ok, err := e.own(markerKey)
	if err != nil {
		return want, false, fmt.Errorf("read the schema marker: %w", err)
	}
	if !ok {
		if !e.o.Create {
			return want, false, ErrNoSchema
		}
		return want, true, nil
	}
	have, err := decodeMarker(b)
	if err != nil {
		return want, false, err
	}
	needs, err := e.storedNeeds(have)
	switch {
	case err != nil:
		return want, false, err
	case have == want:
	case have.Major == want.Major && have.Minor < want.Minor && e.o.Migrate != nil:
	case have.Major == want.Major && have.Minor > want.Minor && needs.Major == want.Major && needs.Minor <= want.Minor:
	case needs != have:
		return want, false, fmt.Errorf("stored %s, which needs a program that serves %s, this one serves %s: %w", have,
			needs, want, ErrSchema)
	default:
		return want, false, fmt.Errorf("stored %s, this program serves %s: %w", have, want, ErrSchema)
	}
	return have, false, nil
}

// storedNeeds returns the oldest version whose programs can use a storage with a marker.
func (e *engine) storedNeeds(marker Version) (Version, error) {
	b, ok, err := e.own(needsKey)
	if err != nil {
		return marker, fmt.Errorf("read which version is needed: %w", err)
	}
	if !ok {
		return marker, nil
	}
	return decodeMarker(b)
}

// loadIdentity counts the boot, and reads the journal id or creates one: a new storage has
// none, and a restored one has lost it (see disown).
func (e *engine) loadIdentity() error {
	b, ok, err := e.own(bootKey)
	if err == nil && ok {
		e.boot, err = decodeBoot(b)
	}
	if err != nil {
		return err
	}
	if e.boot.epoch == math.MaxUint32 {
		return fmt.Errorf("boot epochs are used up: %w", ErrTooLarge)
	}
	e.boot.epoch++
	b, ok, err = e.own(journalKey)
	if err != nil {
		return err
	}
	if ok {
		e.journal, err = decodeJournal(b)
		return err
	}
	e.boot.floor = e.boot.epoch
	if e.o.EndLeases {
		e.boot.floor = 0
	}
	_, err = rand.Read(e.journal[:])
	return err
}

// writeIdentity makes the boot row, the journal id, the marker and the writes of Migrate
// durable in one commit.
func (e *engine) writeIdentity(from Version, fresh bool) error {
	e.schema = e.o.Schema
	if from.Minor > e.schema.Minor {
		e.schema = from // the marker of a newer program is kept
	}
	tx := &Tx{src: &txSource{e: e}}
	if from != e.schema && !fresh {
		if err := guard(func() error { return e.o.Migrate(tx, from) }); err != nil {
			return errors.Join(fmt.Errorf("migrate %s to %s: %w", from, e.schema, err), tx.close())
		}
	}
	if err := tx.close(); err != nil {
		return err
	}
	return e.do(context.Background(), func(c *commit) error {
		if err := c.commitTx(tx); err != nil {
			return err
		}
		put := func(key string, value []byte) { c.batch.Set(tableKey(nil, appState, []byte(key)), value) }
		put(markerKey, e.schema.appendMarker(nil))
		switch needs := cmp.Or(e.o.Needs, e.o.Schema); {
		case e.schema != e.o.Schema:
		case needs != e.schema:
			put(needsKey, needs.appendMarker(nil))
		case !fresh:
			c.batch.Delete(tableKey(nil, appState, []byte(needsKey)))
		}
		put(journalKey, e.journal.append(nil))
		put(bootKey, e.boot.append(nil))
		c.dirty = true
		return nil
	})
}

// loadIndex reads counters and inbox states, and computes those that are missing because
// another program wrote the rows.
func (e *engine) loadIndex() error {
	e.ix.timers.reset()
	e.ix.expiryHead = math.MinInt64
	b, ok, err := e.own(countersKey)
	if err != nil {
		return err
	}
	if ok {
		if e.ix.counters, err = decodeCounters(b); err != nil {
			return err
		}
	} else if err := e.countRows(); err != nil {
		return err
	}
	e.ix.outboxStored = e.ix.outboxNext
	lo := tableKey(nil, appState, []byte(inboxStateKey))
	hi := tableKey(nil, appState, []byte(inboxStateKey))
	hi[len(hi)-1]++
	var bad error
	err = e.back.Scan(lo, hi, func(key, value []byte) bool {
		s, err := decodeInboxState(value)
		if err == nil {
			err = checkSeq("an inbox", s.next-1)
		}
		if err != nil || len(key) != len(lo)+8 {
			bad = errors.Join(badLength("inbox state key", key), err)
			return false
		}
		in := newInbox(binary.BigEndian.Uint64(key[len(lo):]))
		in.inboxState = s
		e.ix.inboxes[in.worker] = in
		return true
	})
	if err := errors.Join(err, bad); err != nil {
		return err
	}
	if err := e.adoptInboxes(); err != nil {
		return err
	}
	if err := errors.Join(e.loadQueues(), e.loadFinished(), e.loadSchedules()); err != nil {
		return err
	}
	return e.findTimers()
}

// adoptInboxes finds workers that have rows but no state, with one seek per existing worker.
func (e *engine) adoptInboxes() error {
	for _, t := range bandTables {
		lo, hi := tableRange(t)
		for {
			var next *inbox
			worker, more := uint64(0), false
			var bad error
			err := e.back.Scan(lo, hi, func(key, _ []byte) bool {
				row, err := decodeRowKey(key[1:])
				worker, more, bad = row.Worker, err == nil, err
				return false
			})
			if err := errors.Join(err, bad); err != nil {
				return err
			}
			if !more {
				break
			}
			if e.ix.inboxes[worker] == nil {
				next = newInbox(worker)
				if err := e.countInbox(next); err != nil {
					return err
				}
				e.ix.inboxes[worker] = next
			}
			if worker == math.MaxUint64 {
				break
			}
			lo = rowKey(nil, t, Row{Worker: worker + 1})
		}
	}
	return nil
}

// inboxRange returns the bounds of a worker's rows in t from number seq on.
func inboxRange(t table, worker, seq uint64) (lo, hi []byte) {
	lo = rowKey(nil, t, Row{worker, seq})
	if worker == math.MaxUint64 {
		return lo, []byte{byte(t) + 1}
	}
	return lo, rowKey(nil, t, Row{Worker: worker + 1})
}

func (e *engine) countInbox(in *inbox) error {
	for _, t := range bandTables {
		lo, hi := inboxRange(t, in.worker, 0)
		var bad error
		err := e.back.Scan(lo, hi, func(key, value []byte) bool {
			if row, err := decodeRowKey(key[1:]); err == nil {
				if bad = checkSeq(fmt.Sprintf("a row of worker %d", row.Worker), row.Seq); bad != nil {
					return false
				}
				n := uint64(1)
				if t == inboxTable {
					n = uint64(max(1, bundled(value)))
				}
				in.count += n
				in.next = max(in.next, row.Seq+n)
			}
			return true
		})
		if err := errors.Join(err, bad); err != nil {
			return err
		}
	}
	return nil
}

func (e *engine) countRows() error {
	c := &e.ix.counters
	*c = counters{outboxNext: 1, timerNext: 1, deadNext: 1}
	for _, x := range []struct {
		t           table
		count, next *uint64
		seqAt       int
	}{{outboxTable, &c.outboxCount, &c.outboxNext, 0}, {timerTable, &c.timerCount, &c.timerNext, 8},
		{deadTable, &c.deadCount, &c.deadNext, 8}} {
		lo, hi := tableRange(x.t)
		var bad error
		err := e.back.Scan(lo, hi, func(key, _ []byte) bool {
			if len(key) == 1+x.seqAt+8 {
				seq := binary.BigEndian.Uint64(key[1+x.seqAt:])
				bad = checkSeq("a row", seq)
				*x.count++
				*x.next = max(*x.next, seq+1)
			}
			return bad == nil
		})
		if err := errors.Join(err, bad); err != nil {
			return err
		}
	}
	return nil
}

// findTimers sets the first timers of the two timer ranges.
func (e *engine) findTimers() error {
	t := &e.ix.timers
	for i := range t.heads {
		lo, hi := t.bounds(i)
		t.none[i] = true
		err := e.back.Scan(lo, hi, func(key, _ []byte) bool {
			id, err := decodeTimerKey(key[1:])
			if err != nil {
				return true
			}
			t.heads[i], t.none[i] = id, false
			return false
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// loadLeases reads the stored leases. Those of ended processes of this journal are expired; a
// lease that does not decode counts as expired.
func (e *engine) loadLeases() error {
	for _, in := range e.ix.inboxes {
		in.seen = in.frontier
		in.upper = [bandCount]uint64{in.next, in.next, in.next}
		in.publish()
		lo, hi := inboxRange(leaseTable, in.worker, in.leaseHead)
		err := e.back.Scan(lo, hi, func(key, value []byte) bool {
			row, err := decodeRowKey(key[1:])
			if err != nil {
				return true
			}
			l, err := decodeLease(value)
			if err != nil {
				l = lease{Deadline: math.MinInt64, Attempts: 1}
			}
			if l.Owner != 0 && l.epoch() >= e.boot.floor {
				l.Deadline = math.MinInt64
			}
			in.park(row.Seq, holding{lease: l, n: 1})
			return true
		})
		if err != nil {
			return err
		}
		if err := e.findBands(in); err != nil {
			return err
		}
	}
	return nil
}

// findBands finds the table of every leased row. A lease without a row was left by another
// program; it is dropped.
func (e *engine) findBands(in *inbox) error {
	var key, buf []byte
	for seq, h := range in.leases {
		found := false
		for b, t := range bandTables {
			key = rowKey(key[:0], t, Row{in.worker, seq})
			var err error
			if buf, found, err = e.back.Get(buf[:0], key); err != nil {
				return err
			}
			if found {
				h.band = band(b)
				if h.band == bandNormal {
					h.n = uint32(max(1, bundled(buf)))
				}
				in.hold(seq, h)
				break
			}
		}
		if !found {
			in.release(seq)
		}
	}
	return nil
}
