package readapi

import (
	"context"
	"errors"
	"net/netip"
	"sync"
	"time"

	"wamble"
	"wamble/internal/store"
)

// permits caches decisions of the policy for permitGood, so that not every request asks the
// profile.
type permits struct {
	mu     sync.Mutex
	cached map[permit]decision
}

// permit is a cache key: a reader and the last of the rights, which identifies the others.
type permit struct {
	token wamble.Token
	from  netip.Addr
	about wamble.PlayerID
	right Right
}

type decision struct {
	denied *wamble.Denied // nil if admitted
	until  time.Time
}

const (
	permitGood = time.Second
	maxPermits = 4096
)

// admit returns a *wamble.Denied unless the reader has these rights, from the cache or by
// asking the profile.
func (a *API) admit(ctx context.Context, who Who, rights []Right) error {
	key := permit{token: who.Token, from: who.From, right: rights[len(rights)-1]}
	if who.About != nil {
		key.about = who.About.ID
	}
	now := a.o.Now()
	a.permits.mu.Lock()
	v, known := a.permits.cached[key]
	a.permits.mu.Unlock()
	if !known || !now.Before(v.until) {
		err := a.o.Admit(ctx, who, rights)
		if errors.Is(err, ErrNotInMemory) {
			if who.Stored, err = a.storedSession(who); err != nil {
				return err
			}
			err = a.o.Admit(ctx, who, rights)
		}
		var denied *wamble.Denied
		if err != nil && !errors.As(err, &denied) {
			return err
		}
		v = decision{denied, now.Add(permitGood)}
		a.permits.keep(key, v)
	}
	if v.denied != nil {
		return v.denied
	}
	return nil
}

// storedSession returns the reader's session from the store, without an ID if there is none or its token is bound to
// another network.
func (a *API) storedSession(who Who) (*wamble.Session, error) {
	got, err := a.cache.get(a.cache.asks, wamble.HostOf(who.From), "session "+who.Token.String(),
		func(ctx context.Context) (*answer, error) {
			s, err := a.o.Store.Session(ctx, who.Token)
			if errors.Is(err, store.ErrNotFound) {
				s, err = wamble.Session{}, nil
			}
			return &answer{session: &s, good: permitGood}, err
		})
	if err != nil {
		return nil, err
	}
	if !boundTo(got.session.Host, who.From) {
		return &wamble.Session{}, nil
	}
	return got.session, nil
}

func (p *permits) keep(key permit, v decision) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.cached == nil || len(p.cached) >= maxPermits {
		p.cached = map[permit]decision{}
	}
	p.cached[key] = v
}
