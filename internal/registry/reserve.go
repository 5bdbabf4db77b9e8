package registry

import (
	"context"

	"wamble"
)

// Reserve reserves a key until release is called. The caller may then look up the identity of the key, and
// make it. Reserve waits while the key is reserved. Errors: that of ctx.
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

// reserve returns the present reservation of the key, or else a new one.
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
