package session

import "wamble"

// Merge makes one identity of two in memory: into gets the sessions and totals of from. Identities in
// memory take precedence over the given rows. Merged must follow.
func (t *Table) Merge(from, into *wamble.Player) {
	old, i := t.identities[from.Key], t.identities[into.Key]
	if i == nil {
		i = &Identity{id: into.ID, key: into.Key, handle: into.Handle, stats: into.Stats}
		t.identities[into.Key] = i
	}
	won := from.Stats
	if old != nil {
		won = old.stats
	}
	if games := i.stats.Games + won.Games; games > 0 {
		i.stats.Rating = (i.stats.Rating*float64(i.stats.Games) + won.Rating*float64(won.Games)) / float64(games)
	}
	count(&i.stats, won, 1)
	if old == nil {
		return
	}
	for s := range t.All() {
		if s.identity == old {
			s.identity = i
			i.sessions++
			old.sessions--
		}
	}
	delete(t.identities, from.Key)
}

// Merged says that message seq of the journal merges an identity into that of a key, which stays in memory
// until the store has that message.
func (t *Table) Merged(into wamble.PublicKey, seq uint64) {
	t.newest = max(t.newest, seq)
	for s := range t.All() {
		if s.identity != nil && s.identity.key == into {
			t.Wrote(s, seq)
		}
	}
	if i := t.identities[into]; i != nil {
		i.seq = max(i.seq, seq)
		if i.sessions == 0 {
			t.unused = append(t.unused, unusedIdentity{i, i.seq})
			t.forgetUnused()
		}
	}
}
