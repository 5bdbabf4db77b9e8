package server

import (
	"context"
	"fmt"

	"wamble/internal/config"
	"wamble/internal/handoff"
	"wamble/internal/host"
)

// dryRunReload returns what a reload would change or refuse. With ports it also tries to bind
// new listeners and to query new PostgreSQL databases. It changes nothing. Errors are those
// of reading the configuration.
func (s *Server) dryRunReload(ctx context.Context, ports bool) (host.DryRun, error) {
	f := host.DryRun{Changes: []config.Change{}, Profiles: []string{}, Refused: []string{}}
	c, err := s.readConfig()
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
	if p.wanted, err = s.wantedProfiles(c); err == nil {
		err = conflicts(p.wanted)
	}
	refuse(err)
	unbound := s.dryRunProfiles(p, &f)
	if len(f.Refused) > 0 || !ports {
		return f, nil
	}
	refuse(s.probePorts(unbound))
	for _, cfg := range unbound {
		if sup := s.supervisor(cfg.Name); cfg.Postgres() && (sup == nil || otherStore(s, sup, cfg)) {
			refuse(s.probeStore(ctx, cfg))
		}
	}
	return f, nil
}

// dryRunProfiles adds what a reload would do with each profile to f, and returns the
// profiles that get a new port.
func (s *Server) dryRunProfiles(p *plan, f *host.DryRun) (unbound []*config.Profile) {
	say := func(name, what string) { f.Profiles = append(f.Profiles, "profile "+name+" "+what) }
	wanted := map[string]bool{}
	for _, cfg := range p.wanted {
		wanted[cfg.Name] = true
		if _, err := locationOf(cfg, s.dir, s.stores.failover); err != nil {
			f.Refused = append(f.Refused, "profile "+cfg.Name+": "+err.Error())
		}
		switch sup := s.supervisor(cfg.Name); {
		case sup == nil:
			say(cfg.Name, "begins")
		case otherStore(s, sup, cfg):
			say(cfg.Name, "begins anew with another database")
		case config.Strongest(p.changes, cfg.Name) >= config.NewListener:
			say(cfg.Name, "gets its listener anew")
		default:
			continue
		}
		unbound = append(unbound, cfg)
	}
	for _, sup := range s.supervisors() {
		if !wanted[sup.name] {
			say(sup.name, "ends")
		}
	}
	return unbound
}

// otherStore reports whether a configuration changes a profile's store.
func otherStore(s *Server, sup *supervisor, cfg *config.Profile) bool {
	place, err := locationOf(cfg, s.dir, s.stores.failover)
	return err != nil || place.settings != sup.store.settings
}

// probePorts binds the ports of profiles and closes them again.
func (s *Server) probePorts(profiles []*config.Profile) error {
	if !s.running.changeMu.TryLock() {
		return handoff.NotReady("a reload or a handoff is under way")
	}
	defer s.endChange()
	open := newOpenPorts()
	for _, sup := range s.supervisors() {
		open.add(sup.Config(), sup.Port())
	}
	bound, err := bindAll(profiles, open, nil)
	closePorts(bound)
	return err
}

// probeStore checks whether the new database of a profile is usable.
func (s *Server) probeStore(ctx context.Context, cfg *config.Profile) error {
	stores, err := OpenStores([]*config.Profile{cfg}, s.dir)
	for _, db := range stores {
		if err == nil {
			err = checkUsable(ctx, db)
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
	for _, sup := range s.supervisors() {
		cfg := sup.Config()
		e.Profiles = append(e.Profiles, host.EffectiveProfile{Name: cfg.Name, Base: cfg.Base, Store: cfg.Storage(), Options: cfg.Settings()})
	}
	return e
}
