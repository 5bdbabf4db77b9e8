// Package share says who holds most of what is scarce: places in a table,
// sessions, boards. Whoever needs one when all are taken gets the idlest of the
// host that holds most, so that nobody can take everything.
//
//   - Ranks orders holders by how much each holds.
//   - Table is the hosts with what each holds, idlest first.
//
// Every call but Table.Add of an unknown host takes constant time and no memory.
package share

// Ranks orders holders by how much they hold. The zero value is empty.
type Ranks[H any] struct {
	levels []level[H] // by Rank.n; level 0 is not used
	most   int
}

// Rank is a holder's place in Ranks. It is part of the holder.
type Rank[H any] struct {
	n          int
	of         *H
	prev, next *Rank[H]
}

// N returns how much the holder holds.
func (r *Rank[H]) N() int { return r.n }

// level is the holders of equally much; first is the one that was idle longest.
type level[H any] struct{ first, last *Rank[H] }

// Grow says that a holder holds one more, Shrink that it holds one less.
func (t *Ranks[H]) Grow(r *Rank[H], of *H)   { r.of = of; t.move(r, r.n+1) }
func (t *Ranks[H]) Shrink(r *Rank[H], of *H) { r.of = of; t.move(r, r.n-1) }

// Touch says that a holder is not idle.
func (t *Ranks[H]) Touch(r *Rank[H]) {
	if r.next != nil {
		t.move(r, r.n)
	}
}

// Most returns the holder of most, of several the idlest; nil if nobody holds
// anything.
func (t *Ranks[H]) Most() *H {
	if t.most == 0 {
		return nil
	}
	return t.levels[t.most].first.of
}

func (t *Ranks[H]) move(r *Rank[H], n int) {
	if r.n > 0 {
		l := &t.levels[r.n]
		if r.prev == nil {
			l.first = r.next
		} else {
			r.prev.next = r.next
		}
		if r.next == nil {
			l.last = r.prev
		} else {
			r.next.prev = r.prev
		}
	}
	r.n, r.prev, r.next = n, nil, nil
	if n > 0 {
		for len(t.levels) <= n {
			t.levels = append(t.levels, level[H]{})
		}
		l := &t.levels[n]
		if r.prev = l.last; r.prev == nil {
			l.first = r
		} else {
			r.prev.next = r
		}
		l.last = r
		t.most = max(t.most, n)
	}
	for t.most > 0 && t.levels[t.most].first == nil {
		t.most-- // at most once: n changes by one
	}
}
