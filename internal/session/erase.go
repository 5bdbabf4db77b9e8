package session

import (
	"iter"
	"time"

	"wamble/internal/intent"

	"wamble"
)

// All yields every session in memory, in an order that the same calls repeat.
func (t *Table) All() iter.Seq[*Session] {
	return func(yield func(*Session) bool) {
		for _, l := range t.inOrder() {
			for s := l.last; s != nil; s = s.prev {
				if !yield(s) {
					return
				}
			}
		}
	}
}

// Of returns the sessions of a key that are in memory.
func (t *Table) Of(key wamble.PublicKey) []*Session {
	var all []*Session
	if i := t.identities[key]; i != nil && i.sessions > 0 {
		for s := range t.All() {
			if s.identity == i {
				all = append(all, s)
			}
		}
	}
	return all
}

// Kick ends a session, whosever it is. Its token is refused from now on.
func (t *Table) Kick(now time.Time, s *Session) {
	t.tick(now)
	s.pending = nil
	t.end(s)
}

// Erase deletes an identity: its sessions are anonymous from now on. Erased must
// follow. Until the store has done the same, what it says of the key is not
// believed.
func (t *Table) Erase(now time.Time, key wamble.PublicKey, out intent.Intents) {
	at := t.tick(now)
	for _, s := range t.Of(key) {
		t.untie(s)
	}
	delete(t.identities, key)
	out.Add(&intent.ErasePlayer{Key: key, At: timeOf(at)})
}

// Erased says that message seq of the journal erases a key.
func (t *Table) Erased(key wamble.PublicKey, seq uint64) {
	t.newest = max(t.newest, seq)
	if seq > t.applied {
		t.erased[key] = seq
	}
}

// Erasing reports whether a key was erased and the store may not know it yet.
// Then the key is that of nobody, whatever is stored.
func (t *Table) Erasing(key wamble.PublicKey) bool { return t.erased[key] != 0 }

// forgetErased forgets what the store knows by now.
func (t *Table) forgetErased() {
	for key, seq := range t.erased {
		if seq <= t.applied {
			delete(t.erased, key)
		}
	}
}
