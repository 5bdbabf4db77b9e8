package session

// lru is a table of at most size entries; when it is full the least recently
// used one makes room. The same calls leave the same order.
type lru[K comparable, V any] struct {
	size    int
	index   map[K]int32
	entries []lruEntry[K, V]
	newest  int32
	oldest  int32
}

type lruEntry[K comparable, V any] struct {
	key          K
	value        V
	newer, older int32
}

const none = int32(-1)

func newLRU[K comparable, V any](size int) lru[K, V] {
	return lru[K, V]{size: size, index: map[K]int32{}, newest: none, oldest: none}
}

// has reports whether k is there, without touching it.
func (l *lru[K, V]) has(k K) bool {
	_, ok := l.index[k]
	return ok
}

// use returns the value of k as the most recently used one; zero if it was not
// there. The pointer is good until the next use.
func (l *lru[K, V]) use(k K) *V {
	i, ok := l.index[k]
	switch {
	case ok:
		l.unlink(i)
	case len(l.entries) < l.size:
		i = int32(len(l.entries))
		l.entries = append(l.entries, lruEntry[K, V]{key: k})
		l.index[k] = i
	default:
		i = l.oldest
		l.unlink(i)
		delete(l.index, l.entries[i].key)
		l.entries[i] = lruEntry[K, V]{key: k}
		l.index[k] = i
	}
	l.pushNewest(i)
	return &l.entries[i].value
}

func (l *lru[K, V]) unlink(i int32) {
	e := &l.entries[i]
	if e.newer == none {
		l.newest = e.older
	} else {
		l.entries[e.newer].older = e.older
	}
	if e.older == none {
		l.oldest = e.newer
	} else {
		l.entries[e.older].newer = e.newer
	}
}

func (l *lru[K, V]) pushNewest(i int32) {
	l.entries[i].newer, l.entries[i].older = none, l.newest
	if l.newest == none {
		l.oldest = i
	} else {
		l.entries[l.newest].newer = i
	}
	l.newest = i
}

// fromOldest calls f with every entry, the least recently used one first.
func (l *lru[K, V]) fromOldest(f func(K, *V)) {
	for i := l.oldest; i != none; i = l.entries[i].newer {
		f(l.entries[i].key, &l.entries[i].value)
	}
}
