package registry

import (
	"time"

	"wamble/internal/profile"
)

// heard is a change from another machine, with the message that brings it to the store.
type heard struct {
	at     time.Time
	change *profile.Change
}

// mostHeard bounds the changes from other machines that are kept.
const mostHeard = 1 << 14

// Heard returns the recent changes from other machines, which the store may not have, oldest first.
func (r *Registry) Heard() (changes []profile.Change) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, h := range r.heard {
		changes = append(changes, *h.change)
	}
	return changes
}

// Recall takes over the changes that the previous image of this process had heard. The profiles know them
// already.
func (r *Registry) Recall(heard []profile.Change) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.keep(time.Now(), heard)
}

// keep keeps changes from another machine for reads of a store that does not have them.
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

// missed returns the changes from other machines that concern the subject or the result of a read, and that
// the store did not have at that time.
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
