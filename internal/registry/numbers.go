package registry

import (
	"cmp"
	"slices"

	"wamble"
)

// Take registers numbers that a member has got from the store. It reports false, and registers none, if a
// member has got one of them before: a store that went back, as a standby that was behind, issues numbers
// again.
func (r *Registry) Take(s wamble.Sequence, blocks []wamble.Block) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, b := range blocks {
		for _, n := range r.numbers[s] {
			if b.First < n.First+n.Count && n.First < b.First+b.Count {
				return false
			}
		}
	}
	all := slices.Concat(r.numbers[s], blocks)
	slices.SortFunc(all, func(a, b wamble.Block) int { return cmp.Compare(a.First, b.First) })
	merged := all[:0]
	for _, b := range all {
		if last := len(merged) - 1; last >= 0 && merged[last].First+merged[last].Count == b.First {
			merged[last].Count += b.Count
		} else if b.Count > 0 {
			merged = append(merged, b)
		}
	}
	r.numbers[s] = merged
	return true
}

// Return unregisters numbers that were given back to the store.
func (r *Registry) Return(s wamble.Sequence, blocks []wamble.Block) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, b := range blocks {
		var remaining []wamble.Block
		for _, n := range r.numbers[s] {
			end, from := n.First+n.Count, b.First+b.Count
			if before := min(end, b.First) - n.First; before > 0 {
				remaining = append(remaining, wamble.Block{First: n.First, Count: before})
			}
			if from = max(from, n.First); from < end {
				remaining = append(remaining, wamble.Block{First: from, Count: end - from})
			}
		}
		r.numbers[s] = remaining
	}
}

// Highest returns the highest registered number.
func (r *Registry) Highest(s wamble.Sequence) int64 {
	r.mu.Lock()
	defer r.mu.Unlock()
	if n := len(r.numbers[s]); n > 0 {
		return r.numbers[s][n-1].First + r.numbers[s][n-1].Count - 1
	}
	return 0
}
