// Package share finds the host that holds most of a scarce resource: places in a table, sessions, boards.
// If all are taken, a client that needs one gets the idlest of that host, so that no host can take
// everything.
//
//   - Ranks orders holders by the number of their holdings.
//   - Table is the hosts with their holdings, idlest first.
//
// Every call but Table.Add of an unknown host takes constant time and no memory.
package share

// Ranks orders holders by the number of their holdings. The zero value is empty.
type Ranks[H any] struct {
	levels []level[H] // by Rank.n; level 0 is not used
	most   int
}

// Rank is a holder's place in Ranks. It is a field of the holder.
type Rank[H any] struct {
	n          int
	holder     *H
	prev, next *Rank[H]
}

// N returns the number of holdings.
func (r *Rank[H]) N() int { return r.n }

// level is the holders with the same number of holdings; first is the idlest.
type level[H any] struct{ first, last *Rank[H] }

// Grow adds one holding to a holder, Shrink removes one.
func (t *Ranks[H]) Grow(r *Rank[H], of *H)   { r.holder = of; t.move(r, r.n+1) }
func (t *Ranks[H]) Shrink(r *Rank[H], of *H) { r.holder = of; t.move(r, r.n-1) }

// Touch makes a holder the least idle of its level.
func (t *Ranks[H]) Touch(r *Rank[H]) {
	if r.next != nil {
		t.move(r, r.n)
	}
}

// Most returns the holder with the most holdings, of several the idlest; nil if there are no holdings.
func (t *Ranks[H]) Most() *H {
	if t.most == 0 {
		return nil
	}
	return t.levels[t.most].first.holder
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
