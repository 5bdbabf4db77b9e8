// Package lru is an LRU cache of bounded size, for data about unknown clients: the least recently used
// entry makes room, so that no client can fill it. It has no clock and no lock, and the same calls leave
// the same order.
package lru

// Table has at most size entries. When it is full the least recently used one makes room.
type Table[K comparable, V any] struct {
	size    int
	index   map[K]int32
	entries []entry[K, V]
	newest  int32
	oldest  int32
}

type entry[K comparable, V any] struct {
	key          K
	value        V
	newer, older int32
}

const none = int32(-1)

// New returns an empty table.
func New[K comparable, V any](size int) *Table[K, V] {
	return &Table[K, V]{size: size, index: map[K]int32{}, newest: none, oldest: none}
}

// Len returns the number of entries.
func (t *Table[K, V]) Len() int { return len(t.entries) }

// Find returns the value of k without touching it, or nil.
func (t *Table[K, V]) Find(k K) *V {
	if i, ok := t.index[k]; ok {
		return &t.entries[i].value
	}
	return nil
}

// Use returns the value of k as the most recently used one; a new value is zero. The pointer is valid until
// the next Use.
func (t *Table[K, V]) Use(k K) *V {
	i, ok := t.index[k]
	switch {
	case ok && i == t.newest:
		return &t.entries[i].value
	case ok:
		t.unlink(i)
	case len(t.entries) < t.size:
		i = int32(len(t.entries))
		t.entries = append(t.entries, entry[K, V]{key: k})
		t.index[k] = i
	default:
		i = t.oldest
		t.unlink(i)
		delete(t.index, t.entries[i].key)
		t.entries[i] = entry[K, V]{key: k}
		t.index[k] = i
	}
	t.pushNewest(i)
	return &t.entries[i].value
}

func (t *Table[K, V]) unlink(i int32) {
	e := &t.entries[i]
	if e.newer == none {
		t.newest = e.older
	} else {
		t.entries[e.newer].older = e.older
	}
	if e.older == none {
		t.oldest = e.newer
	} else {
		t.entries[e.older].newer = e.newer
	}
}

func (t *Table[K, V]) pushNewest(i int32) {
	t.entries[i].newer, t.entries[i].older = none, t.newest
	if t.newest == none {
		t.oldest = i
	} else {
		t.entries[t.newest].newer = i
	}
	t.newest = i
}

// FromOldest calls f with every entry, the least recently used one first. Using them in that order rebuilds
// the table.
func (t *Table[K, V]) FromOldest(f func(K, *V)) {
	for i := t.oldest; i != none; i = t.entries[i].newer {
		f(t.entries[i].key, &t.entries[i].value)
	}
}
