package readapi

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"time"

	"wamble"
	"wamble/internal/record"
	"wamble/internal/store"
)

// trailGood is the lifetime of a trail.
const trailGood = 2 * time.Second

// trail answers with what became of the reader's moves, without positions if the reader may
// not watch.
func (a *API) trail(r reader) (*answer, error) {
	if r.Token.IsZero() {
		return nil, badf("whose trail? Authorization is missing")
	}
	err := a.admit(r.Context(), r.Who, mayView)
	denied := new(wamble.Denied)
	if err != nil && !errors.As(err, &denied) {
		return nil, err
	}
	looks := err == nil
	key := fmt.Sprintf("trail %s %v %v", r.Token, looks, r.From)
	return a.ask(r, key, func(ctx context.Context) (*answer, error) {
		var t wamble.Trail
		switch s, err := a.o.Store.Session(ctx, r.Token); {
		case errors.Is(err, store.ErrNotFound):
		case err != nil:
			return nil, err
		case boundTo(s.Host, r.From):
			if t, err = a.o.Store.Trail(ctx, s.ID); err != nil {
				return nil, err
			}
		}
		body, err := record.AppendTrail(nil, &t, a.o.Profile, looks)
		if err != nil {
			return nil, err
		}
		return &answer{kind: jsonType, body: body, good: trailGood, own: true}, nil
	})
}

// boundTo reports whether a token may be used at an address. Host is the network that it is
// bound to, or "".
func boundTo(host string, from netip.Addr) bool {
	if host == "" {
		return true
	}
	network, err := netip.ParsePrefix(host)
	return err == nil && network.Contains(from)
}
