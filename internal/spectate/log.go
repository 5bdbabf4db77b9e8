package spectate

import "sort"

// log is the order in which boards have changed.
type log struct {
	last        uint64    // number of the newest change
	slots       []slot    // by number; stale if the entry has changed again
	dirty       []*entry  // changed, and not numbered yet
	removals    []removal // oldest first
	live        int       // boards that can be watched
	lastRemoval uint64    // the newest change by which a board went
}

// slot is one change. It is stale if its entry has changed again.
type slot struct {
	change uint64
	e      *entry
}

func (s *slot) stale() bool { return s.e.change != s.change }

// removal is when a board went.
type removal struct {
	e      *entry
	change uint64
	at     int64
}

// below returns the index after the newest slot that is not newer than a change.
func (l *log) below(change uint64) int {
	return sort.Search(len(l.slots), func(i int) bool { return l.slots[i].change > change })
}

// compact drops stale slots when they are more than half.
func (l *log) compact() {
	if len(l.slots) < 2*(l.live+len(l.removals))+1024 {
		return
	}
	kept := l.slots[:0]
	for i := range l.slots {
		if !l.slots[i].stale() {
			kept = append(kept, l.slots[i])
		}
	}
	clear(l.slots[len(kept):])
	l.slots = kept
}
