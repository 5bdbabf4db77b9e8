package server

import (
	"context"
	"errors"
	"fmt"
	"maps"

	"wamble/internal/handoff"
	"wamble/internal/store"
)

// Check says whether a server with these options could take over from one that
// runs: its configuration is good, and its stores are of a schema that it knows
// or can be brought there by additive migrations, which it does. A store that is
// away is no obstacle: the server that runs is without it too. Whether it could
// listen the server that runs finds out (canListen): it has the sockets.
func Check(ctx context.Context, o Options) (handoff.Verdict, error) {
	v := handoff.Verdict{Version: o.Succession.Version, Stores: map[string]string{}}
	s := &Server{o: o}
	profiles, err := s.wanted(o.Config)
	if err == nil {
		err = conflicts(profiles)
	}
	if err == nil {
		err = s.checkCertificates(o.Config)
	}
	if err != nil {
		return v, err
	}
	for _, cfg := range profiles {
		udp, tcp := socketAddresses(cfg)
		v.Listeners = append(v.Listeners, handoff.Listener{Profile: cfg.Name, Address: udp.address, UDP: udp.port, TCP: tcp.port})
	}
	v.Admin = o.Config.Server.AdminListen
	stores, err := OpenStores(profiles, o.Dir)
	if err != nil {
		return v, err
	}
	defer CloseStores(stores)
	for _, db := range stores {
		for _, name := range db.Profiles {
			v.Stores[name] = db.Name
		}
		switch err := db.Migrate(ctx, nil); {
		case errors.Is(err, store.ErrTransient):
			v.Notes = append(v.Notes, fmt.Sprintf("%s is away: its schema was not checked: %v", db.Name, err))
		case err != nil:
			return v, err
		}
	}
	return v, nil
}

// sameStores finds a profile whose games would be in another store after a
// handoff: what was decided for one store must not go into another.
func (s *Server) sameStores(next map[string]string) error {
	now := map[string]string{}
	for _, k := range s.keepers() {
		now[k.name] = k.store.Name
	}
	for name, store := range maps.All(now) {
		if other, stays := next[name]; stays && other != store {
			return handoff.NotReady("profile %s would move from %s to %s: let 'wamble reload' do that first", name, store, other)
		}
	}
	return nil
}
