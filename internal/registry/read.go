package registry

import (
	"context"
	"errors"
	"slices"
	"time"

	"wamble"
	"wamble/internal/profile"
)

// read is a read of the store that is under way.
type read struct {
	by     Member
	events []profile.StoreEvent // since it began; guarded by Registry.mu
}

// Found is the result of a read: the session and the key that the rows are about, zero if none.
type Found struct {
	Session wamble.SessionID
	Key     wamble.PublicKey
	// Cursors is how far the store was, nil if only this process writes to it.
	Cursors profile.Cursors
}

// concern reports whether any of the changes is about the subject or the result of a read.
func concern(changes []profile.StoreEvent, of Subject, f Found) bool {
	hash := of.Token.Hash()
	return slices.ContainsFunc(changes, func(c profile.StoreEvent) bool { return concerns(&c, of, hash, f) })
}

// concerns reports whether a change is about the subject, whose token has a hash, or about the result.
func concerns(c *profile.StoreEvent, of Subject, hash wamble.TokenHash, f Found) bool {
	switch {
	case c.Session != 0 && c.Session == f.Session,
		!of.Token.IsZero() && c.Concerns(of.Token, hash),
		!c.Key.IsZero() && (c.Key == of.Key || c.Key == f.Key):
		return true
	}
	return c.Merge != nil && (c.Merge.From.Key == of.Key || c.Merge.From.Key == f.Key)
}

// Read reads the store about a subject, for a member, when the store has all that other members know of it.
// If there were events about it meanwhile, it reads again. Deliver puts the answer into the member's mailbox
// without waiting. Down says that a member does not run whose journal may have something newer; missed is
// the changes from other machines that the store did not have. Errors: that of ctx.
func (r *Registry) Read(ctx context.Context, by Member, of Subject, ask func() Found,
	deliver func(down bool, missed []profile.StoreEvent)) error {
	rd := r.begin(by)
	defer r.end(rd)
	_, down, err := r.awaitApplied(ctx, by, of)
	for err == nil {
		found := ask()
		if !found.Key.IsZero() && found.Key != of.Key {
			of.Key = found.Key
			var known bool
			if known, down, err = r.awaitApplied(ctx, by, of); known || err != nil {
				continue // what was read of the identity may be old
			}
		}
		if r.deliver(rd, of, found, func(missed []profile.StoreEvent) { deliver(down, missed) }) {
			return nil
		}
		_, down, err = r.awaitApplied(ctx, by, of)
	}
	return err
}

func (r *Registry) begin(by Member) *read {
	rd := &read{by: by}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.reads = append(r.reads, rd)
	return rd
}

func (r *Registry) end(rd *read) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.reads = slices.DeleteFunc(r.reads, func(other *read) bool { return other == rd })
}

// deliver delivers unless there was events about the result, and reports whether it has.
func (r *Registry) deliver(rd *read, of Subject, found Found, deliver func(missed []profile.StoreEvent)) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	stale := concern(rd.events, of, found)
	rd.events = nil
	if !stale {
		deliver(r.missedRemoteEvents(time.Now(), of, found))
	}
	return !stale
}

// awaitApplied waits until the store has what other members know of a subject. Known says that one of them knew
// something, down that one does not run.
func (r *Registry) awaitApplied(ctx context.Context, by Member, of Subject) (known, down bool, err error) {
	for _, m := range r.Others(by) {
		knows, err := m.AwaitApplied(ctx, of)
		switch {
		case errors.Is(err, ErrDown):
			down = true
		case err != nil:
			return known, down, err
		}
		known = known || knows
	}
	return known, down, nil
}
