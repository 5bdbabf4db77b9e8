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

// ErrDown is returned by Member.Settle if the member does not run, and its journal has unknown changes for
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
	// Settle waits until the store has all that the member has decided about a subject so far, and reports
	// whether the member knows anything of the subject. Errors: ErrDown, or that of ctx.
	Settle(ctx context.Context, of Subject) (knows bool, err error)
	// Hear takes news without waiting. If the member does not have the subject of the news in memory, it
	// reads it from the store later.
	Hear(news *profile.News)
}

// Courier is a Member that stands for the other machines of the store, and takes news to them.
type Courier interface {
	Member
	// Posted waits until all news that the member has taken so far is where the others find it, even if
	// this process dies. Errors: that of ctx.
	Posted(ctx context.Context) error
}

// Registry is the profiles of one store. It is safe for concurrent use.
type Registry struct {
	mu      sync.Mutex // guards the fields below
	members []Member
	abroad  Courier                            // to the other machines; nil on a single machine
	heard   []heard                            // from other machines, oldest first
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

// JoinAbroad adds the member that stands for the other machines. Their changes may reach the store before
// or after they are told here.
func (r *Registry) JoinAbroad(m Courier) {
	r.Join(m)
	r.mu.Lock()
	defer r.mu.Unlock()
	r.abroad = m
}

// Abroad reports whether there are other machines.
func (r *Registry) Abroad() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.abroad != nil
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

// Tell tells the other members durable changes of one member.
func (r *Registry) Tell(from Member, changes []profile.Change) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, rd := range r.reads {
		if rd.by != from {
			rd.news = append(rd.news, changes...)
		}
	}
	if r.abroad != nil && from == Member(r.abroad) {
		r.keep(time.Now(), changes)
	}
	news := &profile.News{Changes: changes}
	for _, m := range r.members {
		if m != from {
			m.Hear(news)
		}
	}
}

// Posted waits until other machines can find what was told so far. Errors: that of ctx.
func (r *Registry) Posted(ctx context.Context) error {
	r.mu.Lock()
	abroad := r.abroad
	r.mu.Unlock()
	if abroad == nil {
		return nil
	}
	return abroad.Posted(ctx)
}

// AwaitOthers waits until the store has what the other members have decided so far, including the journals
// of those that are starting. Errors: ErrDown, or that of ctx.
func (r *Registry) AwaitOthers(ctx context.Context, by Member) error {
	others := r.Others(by)
	errs := make([]error, len(others))
	var waiting sync.WaitGroup
	for i, m := range others {
		waiting.Go(func() {
			errs[i] = guard.Call("what another profile has decided", func() error { return settleAll(ctx, m) })
		})
	}
	waiting.Wait()
	return errors.Join(errs...)
}

// settleAll waits until the store has what a member has decided so far.
func settleAll(ctx context.Context, m Member) error {
	for {
		_, err := m.Settle(ctx, Subject{All: true})
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
