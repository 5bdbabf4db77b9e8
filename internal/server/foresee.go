package server

import (
	"context"
	"fmt"

	"wamble/internal/config"
	"wamble/internal/handoff"
	"wamble/internal/host"
)

// foresee returns what a reload would change or refuse. With ports it also tries to bind
// new listeners and to query new PostgreSQL databases. It changes nothing. Errors are those
// of reading the configuration.
func (s *Server) foresee(ctx context.Context, ports bool) (host.Foreseen, error) {
	f := host.Foreseen{Changes: []config.Change{}, Profiles: []string{}, Refused: []string{}}
	c, err := s.read()
	if err != nil {
		return f, err
	}
	refuse := func(err error) {
		if err != nil {
			f.Refused = append(f.Refused, err.Error())
		}
	}
	p := &plan{config: c, changes: config.Diff(s.config(), c)}
	f.Changes = append(f.Changes, p.changes...)
	for _, no := range refusals(p.changes) {
		refuse(no)
	}
	refuse(s.checkCertificates(c))
	if p.wanted, err = s.wanted(c); err == nil {
		err = conflicts(p.wanted)
	}
	refuse(err)
	unbound := s.foreseeProfiles(p, &f)
	if len(f.Refused) > 0 || !ports {
		return f, nil
	}
	refuse(s.tryPorts(unbound))
	for _, cfg := range unbound {
		if k := s.supervisor(cfg.Name); cfg.Postgres() && (k == nil || otherStore(s, k, cfg)) {
			refuse(s.tryStore(ctx, cfg))
		}
	}
	return f, nil
}

// foreseeProfiles adds what a reload would do with each profile to f, and returns the
// profiles that get a new port.
func (s *Server) foreseeProfiles(p *plan, f *host.Foreseen) (unbound []*config.Profile) {
	say := func(name, what string) { f.Profiles = append(f.Profiles, "profile "+name+" "+what) }
	wanted := map[string]bool{}
	for _, cfg := range p.wanted {
		wanted[cfg.Name] = true
		if _, err := placeOf(cfg, s.dir, s.stores.moves); err != nil {
			f.Refused = append(f.Refused, "profile "+cfg.Name+": "+err.Error())
		}
		switch k := s.supervisor(cfg.Name); {
		case k == nil:
			say(cfg.Name, "begins")
		case otherStore(s, k, cfg):
			say(cfg.Name, "begins anew with another database")
		case config.Strongest(p.changes, cfg.Name) >= config.NewListener:
			say(cfg.Name, "gets its listener anew")
		default:
			continue
		}
		unbound = append(unbound, cfg)
	}
	for _, k := range s.supervisors() {
		if !wanted[k.name] {
			say(k.name, "ends")
		}
	}
	return unbound
}

// otherStore reports whether a configuration changes a profile's store.
func otherStore(s *Server, k *supervisor, cfg *config.Profile) bool {
	place, err := placeOf(cfg, s.dir, s.stores.moves)
	return err != nil || place.settings != k.store.settings
}

// tryPorts binds the ports of profiles and closes them again.
func (s *Server) tryPorts(profiles []*config.Profile) error {
	if !s.house.changing.TryLock() {
		return handoff.NotReady("a reload or a handoff is under way")
	}
	defer s.changed()
	open := newOpenPorts()
	for _, k := range s.supervisors() {
		open.add(k.Config(), k.Port())
	}
	bound, err := bindAll(profiles, open, nil)
	closePorts(bound)
	return err
}

// tryStore checks whether the new database of a profile is usable.
func (s *Server) tryStore(ctx context.Context, cfg *config.Profile) error {
	stores, err := OpenStores([]*config.Profile{cfg}, s.dir)
	for _, db := range stores {
		if err == nil {
			err = usable(ctx, db)
		}
		db.Close()
	}
	if err != nil {
		return fmt.Errorf("profile %s: the database that it is to use: %w", cfg.Name, err)
	}
	return nil
}

// effective returns the options that are in effect.
func (s *Server) effective() host.Effective {
	c := s.config()
	e := host.Effective{File: c.File, Server: c.Settings(), Profiles: []host.EffectiveProfile{}}
	for _, k := range s.supervisors() {
		cfg := k.Config()
		e.Profiles = append(e.Profiles, host.EffectiveProfile{Name: cfg.Name, Base: cfg.Base, Store: cfg.Storage(), Options: cfg.Settings()})
	}
	return e
}
