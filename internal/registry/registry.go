package registry

import (
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	"wamble"
	"wamble/internal/guard"
	"wamble/internal/profile"
)

// ErrDown is returned by Member.AwaitApplied if the member does not run, and its journal has unknown changes for
// the store.
var ErrDown = errors.New("a profile of the same database does not run, and its journal is not in the database")

// Subject is what a read is about: a token, a key, or everything.
type Subject struct {
	Token wamble.Token
	Key   wamble.PublicKey
	All   bool
}

// Member is one profile of the store.
type Member interface {
	// AwaitApplied waits until the store has all that the member has decided about a subject so far, and reports
	// whether the member knows anything of the subject. Errors: ErrDown, or that of ctx.
	AwaitApplied(ctx context.Context, of Subject) (knows bool, err error)
	// Notify takes events without waiting. If the member does not have the subject of the events in memory, it
	// reads it from the store later.
	Notify(events *profile.StoreEvents)
}

// PeerMember is a Member that stands for the other machines of the store, and takes events to them.
type PeerMember interface {
	Member
	// Flush waits until the others can find all events that the member has taken so far, even if this process
	// dies. Errors: that of ctx.
	Flush(ctx context.Context) error
}

// Registry is the profiles of one store. It is safe for concurrent use.
type Registry struct {
	mu      sync.Mutex // guards the fields below
	members []Member
	peers   PeerMember                         // to the other machines; nil on a single machine
	remote  []remoteEvent                      // from other machines, oldest first
	reads   []*read                            // under way
	keys    map[wamble.PublicKey]chan struct{} // reserved; closed on release
	numbers [4][]wamble.Block                  // registered numbers, by sequence, sorted
}

// New returns a registry without members.
func New() *Registry { return &Registry{keys: map[wamble.PublicKey]chan struct{}{}} }

// Join adds a member.
func (r *Registry) Join(m Member) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.members = append(slices.Clone(r.members), m)
}

// JoinPeers adds the member that stands for the other machines. Their changes may reach the store before or
// after their events arrive here.
func (r *Registry) JoinPeers(m PeerMember) {
	r.Join(m)
	r.mu.Lock()
	defer r.mu.Unlock()
	r.peers = m
}

// HasPeers reports whether there are other machines.
func (r *Registry) HasPeers() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.peers != nil
}

// Leave removes a member.
func (r *Registry) Leave(m Member) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.members = slices.DeleteFunc(slices.Clone(r.members), func(other Member) bool { return other == m })
}

// Others returns the members except one.
func (r *Registry) Others(but Member) []Member {
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.members) == 0 || len(r.members) == 1 && r.members[0] == but {
		return nil
	}
	return slices.DeleteFunc(slices.Clone(r.members), func(other Member) bool { return other == but })
}

// Publish notifies the other members of durable changes of one member.
func (r *Registry) Publish(from Member, changes []profile.StoreEvent) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, rd := range r.reads {
		if rd.by != from {
			rd.events = append(rd.events, changes...)
		}
	}
	if r.peers != nil && from == Member(r.peers) {
		r.addRemoteEvents(time.Now(), changes)
	}
	events := &profile.StoreEvents{Changes: changes}
	for _, m := range r.members {
		if m != from {
			m.Notify(events)
		}
	}
}

// Flush waits until other machines can find the events published so far. Errors: that of ctx.
func (r *Registry) Flush(ctx context.Context) error {
	r.mu.Lock()
	peers := r.peers
	r.mu.Unlock()
	if peers == nil {
		return nil
	}
	return peers.Flush(ctx)
}

// AwaitOthers waits until the store has what the other members have decided so far, including the journals
// of those that are starting. Errors: ErrDown, or that of ctx.
func (r *Registry) AwaitOthers(ctx context.Context, by Member) error {
	others := r.Others(by)
	errs := make([]error, len(others))
	var waiting sync.WaitGroup
	for i, m := range others {
		waiting.Go(func() {
			errs[i] = guard.Call("what another profile has decided", func() error { return awaitAllApplied(ctx, m) })
		})
	}
	waiting.Wait()
	return errors.Join(errs...)
}

// awaitAllApplied waits until the store has what a member has decided so far.
func awaitAllApplied(ctx context.Context, m Member) error {
	for {
		_, err := m.AwaitApplied(ctx, Subject{All: true})
		if !errors.Is(err, ErrDown) {
			return err
		}
		select {
		case <-ctx.Done():
			return err
		case <-time.After(downPause):
		}
	}
}

// downPause is the pause before a member that does not run is asked again.
const downPause = 5 * time.Millisecond
