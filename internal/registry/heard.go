package registry

import (
	"time"

	"wamble/internal/profile"
)

// heard is what another machine has told, with the message that brings it to the store.
type heard struct {
	at     time.Time
	change *profile.Change
}

// mostHeard bounds the memory of what other machines have told.
const mostHeard = 1 << 14

// Heard returns what other machines have told of late, and the store may not have: the
// oldest first.
func (r *Registry) Heard() (changes []profile.Change) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, h := range r.heard {
		changes = append(changes, *h.change)
	}
	return changes
}

// Recall takes what other machines have told an image of this process before this one: the
// profiles know it.
func (r *Registry) Recall(heard []profile.Change) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.keep(time.Now(), heard)
}

// keep keeps what another machine tells, for who reads the store before that has it.
func (r *Registry) keep(now time.Time, changes []profile.Change) {
	old := 0
	for old < len(r.heard) && now.Sub(r.heard[old].at) > profile.LetterAge {
		old++
	}
	for i := range changes {
		if changes[i].Stamp.Journal != 0 {
			r.heard = append(r.heard, heard{now, &changes[i]})
		}
	}
	old = max(old, len(r.heard)-mostHeard)
	clear(r.heard[:old])
	r.heard = r.heard[old:]
}

// missed returns what other machines have told about what was asked for or found, and the
// store did not have when it was read.
func (r *Registry) missed(now time.Time, of Subject, found Found) (all []profile.Change) {
	if found.Cursors == nil {
		return nil
	}
	for _, h := range r.heard {
		if now.Sub(h.at) <= profile.LetterAge && !found.Cursors.Has(h.change.Stamp) && concerns(h.change, of, found) {
			all = append(all, *h.change)
		}
	}
	return all
}
