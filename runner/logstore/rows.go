package logstore

import (
	"bytes"
	"iter"
	"time"

	"github.com/tidwall/btree"
)

// row is a row of the map; its slices do not change.
type row struct{ key, value []byte }

// rowCost is about the memory of a row in addition to its bytes.
const rowCost = 64

// rows is the ordered map. A copy is immediate: nodes that change later are copied then. Reads
// of a copy need no lock.
type rows struct {
	tree  *btree.BTreeG[row]
	bytes int
}

func newRows() rows {
	less := func(a, b row) bool { return bytes.Compare(a.key, b.key) < 0 }
	return rows{tree: btree.NewBTreeGOptions(less, btree.Options{NoLocks: true})}
}

func (r *rows) copy() rows { return rows{r.tree.Copy(), r.bytes} }

// apply applies the changes of a record, and returns its time. A damaged record is applied in
// part.
func (r *rows) apply(record []byte) (time.Time, error) {
	at, changes, err := openRecord(record)
	for err == nil && len(changes) > 0 {
		var c change
		if c, changes, err = nextChange(changes); err == nil {
			r.change(c)
		}
	}
	return at, err
}

func (r *rows) change(c change) {
	var old row
	var was bool
	if c.gone {
		old, was = r.tree.Delete(row{key: c.key})
	} else {
		own := append(make([]byte, 0, len(c.key)+len(c.value)), c.key...)
		own = append(own, c.value...)
		n := len(c.key)
		old, was = r.tree.Set(row{own[:n:n], own[n:]})
		r.bytes += len(own) + rowCost
	}
	if was {
		r.bytes -= len(old.key) + len(old.value) + rowCost
	}
}

// stateRecord is about the size in bytes of the records of a checkpoint.
const stateRecord = 64 << 10

// records returns all rows as records with the time now; at least one, so that the time is
// stored.
func (r *rows) records(now time.Time) iter.Seq[[]byte] {
	return func(yield func([]byte) bool) {
		b := appendHead(nil)
		goes := true
		r.tree.Scan(func(x row) bool {
			if b = appendSet(b, x.key, x.value); len(b) >= stateRecord {
				goes = yield(seal(b, now))
				b = appendHead(b[:0])
			}
			return goes
		})
		if goes {
			yield(seal(b, now))
		}
	}
}

// Get implements runner.Reader.
func (r rows) Get(dst, key []byte) ([]byte, bool, error) {
	x, ok := r.tree.Get(row{key: key})
	return append(dst, x.value...), ok, nil
}

// Scan implements runner.Reader.
func (r rows) Scan(lo, hi []byte, visit func(key, value []byte) bool) error {
	r.tree.Ascend(row{key: lo}, func(x row) bool {
		return bytes.Compare(x.key, hi) < 0 && visit(x.key, x.value)
	})
	return nil
}

// Close implements runner.View.
func (rows) Close() error { return nil }
