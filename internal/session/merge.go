package session

import "wamble"

// Merge makes one identity of two in memory: into gets the sessions of from, and the mean of the ratings,
// weighted by the games of the given rows. Merged must follow.
func (t *Table) Merge(from, into *wamble.Player) {
	old, i := t.identities[from.Key], t.identities[into.Key]
	if i == nil {
		i = identityOf(into)
		t.identities[into.Key] = i
	}
	if a, b := float64(into.Stats.Games), float64(from.Stats.Games); a+b > 0 {
		i.rating = (i.rating*a + from.Stats.Rating*b) / (a + b)
	}
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
