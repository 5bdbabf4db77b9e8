package registry

import (
	"slices"
	"time"

	"wamble/internal/profile"
)

// remoteEvent is a change from another machine, with the message that brings it to the store.
type remoteEvent struct {
	at     time.Time
	change *profile.StoreEvent
}

// maxRemoteEvents bounds the changes from other machines that are kept.
const maxRemoteEvents = 1 << 14

// RemoteEvents returns the recent changes from other machines, which the store may not have, oldest first.
func (r *Registry) RemoteEvents() (changes []profile.StoreEvent) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, h := range r.remote {
		changes = append(changes, *h.change)
	}
	return changes
}

// RestoreRemoteEvents takes over the changes that the previous process had received. The profiles know them
// already.
func (r *Registry) RestoreRemoteEvents(events []profile.StoreEvent) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.addRemoteEvents(time.Now(), events)
}

// addRemoteEvents keeps changes from another machine for reads of a store that does not have them.
func (r *Registry) addRemoteEvents(now time.Time, changes []profile.StoreEvent) {
	old := 0
	for old < len(r.remote) && now.Sub(r.remote[old].at) > profile.PeerMessageAge {
		old++
	}
	for i := range changes {
		if changes[i].Stamp.Journal != 0 && changes[i].What != profile.Won {
			r.remote = append(r.remote, remoteEvent{now, &changes[i]})
		}
	}
	old = max(old, len(r.remote)-maxRemoteEvents)
	clear(r.remote[:old])
	r.remote = r.remote[old:]
}

// missesRemoteEvents reports whether other machines have changed the subject or the result of a read, and the store
// did not have that at its time.
func (r *Registry) missesRemoteEvents(now time.Time, of Subject, found Found) bool {
	return found.Cursors != nil && slices.ContainsFunc(r.remote, func(h remoteEvent) bool {
		return now.Sub(h.at) <= profile.PeerMessageAge && !found.Cursors.Has(h.change.Stamp) &&
			concerns(h.change, of, found)
	})
}
