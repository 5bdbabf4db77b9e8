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
	return slices.ContainsFunc(changes, func(c profile.StoreEvent) bool { return concerns(&c, of, f) })
}

// concerns reports whether a change makes the subject or the result of a read stale.
func concerns(c *profile.StoreEvent, of Subject, f Found) bool {
	key := func(key wamble.PublicKey) bool { return !key.IsZero() && (key == of.Key || key == f.Key) }
	return c.What != profile.Won && (c.Session != 0 && c.Session == f.Session || key(c.Key) || key(c.Merged))
}

// Read reads the store about a subject, for a member, when the store has all that other members know of it.
// If there were events about it meanwhile, it reads again. Deliver puts the answer into the member's mailbox
// without waiting. Down says that a member does not run whose journal may have something newer. Errors: that of
// ctx.
func (r *Registry) Read(ctx context.Context, by Member, of Subject, ask func() Found, deliver func(down bool)) error {
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
		if r.deliver(rd, of, found, func() { deliver(down) }) {
			return nil
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(againPause):
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

// againPause is the pause before a read that was too early is made again.
const againPause = 5 * time.Millisecond

// deliver delivers unless there were events about the result, or other machines have changed it and the store did
// not have that. It reports whether it has delivered.
func (r *Registry) deliver(rd *read, of Subject, found Found, deliver func()) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	stale := concern(rd.events, of, found) || r.missesRemoteEvents(time.Now(), of, found)
	rd.events = nil
	if !stale {
		deliver()
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
