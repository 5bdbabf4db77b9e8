package session

import (
	"time"

	"wamble/internal/intent"

	"wamble"
)

// Erase deletes an identity and ends its sessions. Their tokens are refused from now on. Erased must
// follow. Until the store has erased the key as well, its stored rows are ignored.
func (t *Table) Erase(now time.Time, key wamble.PublicKey, player wamble.PlayerID, out intent.Intents) {
	for _, s := range t.Of(key) {
		t.Kick(now, s)
	}
	delete(t.identities, key)
	t.EraseStored(now, key, player, out)
}

// EraseStored deletes an identity in the store alone: in memory the key belongs to a new one.
func (t *Table) EraseStored(now time.Time, key wamble.PublicKey, player wamble.PlayerID, out intent.Intents) {
	out.Add(&intent.ErasePlayer{Key: key, Player: player, At: timeOf(t.tick(now))})
}

// Erased says that message seq of the journal erases a key.
func (t *Table) Erased(key wamble.PublicKey, seq uint64) {
	t.newest = max(t.newest, seq)
	if seq > t.applied {
		t.erased[key] = seq
	}
}

// Erasing reports whether a key was erased and the store may not have that yet. Meanwhile its stored rows
// are ignored.
func (t *Table) Erasing(key wamble.PublicKey) bool { return t.erased[key] != 0 }

// forgetErased drops the keys that the store has erased.
func (t *Table) forgetErased() {
	for key, seq := range t.erased {
		if seq <= t.applied {
			delete(t.erased, key)
		}
	}
}
