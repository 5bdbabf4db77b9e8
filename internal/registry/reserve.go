package registry

import (
	"context"

	"wamble"
)

// Reserve lets nobody else reserve a key until release is called: who holds it may
// look for the identity of the key, and make it. Error: that of ctx.
func (r *Registry) Reserve(ctx context.Context, key wamble.PublicKey) (release func(), err error) {
	for {
		taken, mine := r.reserve(key)
		if taken == nil {
			return func() {
				r.mu.Lock()
				defer r.mu.Unlock()
				delete(r.keys, key)
				close(mine)
			}, nil
		}
		select {
		case <-taken:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}

// reserve returns the reservation that is in the way, or a new one.
func (r *Registry) reserve(key wamble.PublicKey) (taken, mine chan struct{}) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if taken = r.keys[key]; taken != nil {
		return taken, nil
	}
	mine = make(chan struct{})
	r.keys[key] = mine
	return nil, mine
}
