package server

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"wamble/internal/admin"
	"wamble/internal/config"
	"wamble/internal/handoff"
	"wamble/internal/journal"
	"wamble/internal/store"
	"wamble/internal/transport"
)

// plan lists the changes from the running profiles to a new configuration. All that can fail
// is done while it is made: sockets are bound, stores opened and queried. Dropping a plan
// leaves the server unchanged.
type plan struct {
	config    *config.Config
	changes   []config.Change
	wanted    []*config.Profile
	unchanged []*Profile // keep their ports, perhaps with other options
	rebind    []*Profile // get another port
	newStore  []*Profile // end, and are replaced by one with another store
	failover  []*Profile // subset of newStore: the new store replaces one that is lost
	remove    []*Profile // are removed

	ports map[string]*transport.Port // new ports of those that move or begin
	start map[string]*Profile        // new profiles: added, or with another store
}

// newPlan makes a plan. Its error says why a reload cannot apply the configuration.
func (s *Server) newPlan(ctx context.Context, c *config.Config) (*plan, error) {
	p := &plan{config: c, changes: config.Diff(s.config(), c), start: map[string]*Profile{}}
	// Refuse what a reload cannot change.
	if err := refusedByReload(p.changes); err != nil {
		return nil, err
	}
	var err error
	if p.wanted, err = s.wantedProfiles(c); err != nil {
		return nil, err
	}
	if err := conflicts(p.wanted); err != nil {
		return nil, err
	}
	shards := 1
	for _, cfg := range p.wanted {
		shards = max(shards, cfg.Boards.Shards)
	}
	if err := s.checkPartitionCount(shards); err != nil {
		return nil, err
	}
	if err := s.checkStoresUnchanged(p.wanted); err != nil {
		return nil, err
	}
	// Compare the running profiles with the wanted ones, and bind new ports.
	open := newOpenPorts()
	var bound []*config.Profile
	for _, prof := range s.profiles() {
		open.add(prof.Config(), prof.Port())
		if !slices.ContainsFunc(p.wanted, func(cfg *config.Profile) bool { return cfg.Name == prof.name }) {
			p.remove = append(p.remove, prof)
		}
	}
	for _, cfg := range p.wanted {
		if !p.classify(s, cfg) {
			bound = append(bound, cfg)
		}
	}
	if p.ports, err = bindAll(bound, open, nil); err != nil {
		return nil, err
	}
	for _, cfg := range bound {
		s.certify(cfg, p.ports[cfg.Name])
	}
	// Make the new profiles, with their stores.
	if err := p.build(ctx, s); err != nil {
		p.close(s)
		return nil, err
	}
	return p, nil
}

// classify adds a wanted profile to its list, and reports whether it keeps its port.
func (p *plan) classify(s *Server, cfg *config.Profile) (keepsPort bool) {
	prof := s.profile(cfg.Name)
	if prof == nil {
		return false
	}
	effect := config.Strongest(p.changes, cfg.Name)
	switch {
	case otherStore(s, prof, cfg):
		p.newStore = append(p.newStore, prof)
	case effect >= config.NewListener:
		p.rebind = append(p.rebind, prof)
	default:
		p.unchanged = append(p.unchanged, prof)
		return true
	}
	return false
}

// build makes the profiles that begin. A new store must be usable. The old one must
// answer, unless the new one is its promoted standby.
func (p *plan) build(ctx context.Context, s *Server) error {
	for _, cfg := range p.wanted {
		old := s.profile(cfg.Name)
		if old != nil && !slices.Contains(p.newStore, old) {
			continue
		}
		prof, err := s.newProfile(cfg, p.ports[cfg.Name])
		if err != nil {
			return err
		}
		p.start[cfg.Name] = prof
		if old == nil {
			continue
		}
		if err := checkUsable(ctx, prof.store); err != nil {
			return fmt.Errorf("profile %s: the database that it is to use: %w", cfg.Name, err)
		}
		err = pingStore(ctx, old.store, s, cfg.Name)
		switch {
		case err == nil:
		case s.isPromotedStandby(ctx, prof.store, cfg.Name):
			p.failover = append(p.failover, old)
		default:
			return fmt.Errorf("profile %s: the database that it uses now must be there to take what the journal has, "+
				"unless its standby takes its place, which has this journal's cursor: %w", cfg.Name, err)
		}
	}
	return nil
}

// isPromotedStandby reports whether a store is a promoted standby of the profile's store: it was
// created at the same time, and has a cursor of this journal.
func (s *Server) isPromotedStandby(ctx context.Context, db *SharedStore, profile string) bool {
	ctx, cancel := context.WithTimeout(ctx, loadTime)
	defer cancel()
	known, found, err := journal.DatabaseOf(ctx, s.runner, profile)
	if err != nil || !found {
		return false
	}
	st, err := db.Status(ctx)
	if err != nil || !st.Made.Equal(known.Made) {
		return false
	}
	at, err := db.CursorBefore(ctx, store.JournalID(s.runner.JournalID()), profile)
	return err == nil && at > 0
}

// pingStore checks with a cheap query whether a store in use answers.
func pingStore(ctx context.Context, db *SharedStore, s *Server, profile string) error {
	ctx, cancel := context.WithTimeout(ctx, loadTime)
	defer cancel()
	_, err := db.Cursor(ctx, store.JournalID(s.runner.JournalID()), profile)
	return err
}

// checkUsable checks whether a new store answers, with a schema of this version or an older one.
func checkUsable(ctx context.Context, store *SharedStore) error {
	ctx, cancel := context.WithTimeout(ctx, loadTime)
	defer cancel()
	st, err := store.Status(ctx)
	return cmp.Or(err, st.Refused())
}

// profile returns the new configuration of a wanted profile.
func (p *plan) profile(name string) *config.Profile {
	return p.wanted[slices.IndexFunc(p.wanted, func(cfg *config.Profile) bool { return cfg.Name == name })]
}

// close closes the ports and stores that the plan has opened.
func (p *plan) close(s *Server) {
	closePorts(p.ports)
	for _, prof := range p.start {
		if err := s.releaseStore(prof); err != nil {
			s.log.Warn("a store was not closed well", "err", err)
		}
	}
}

// refusedByReload returns an error that names the changes that need a handoff or a restart.
func refusedByReload(changes []config.Change) error { return errors.Join(refusals(changes)...) }

func refusals(changes []config.Change) []error {
	cures := map[config.Effect]string{config.NeedsHandoff: "'wamble handoff' applies it",
		config.NeedsRestart: "it needs a restart"}
	var no []error
	for _, c := range changes {
		if cure, ok := cures[c.Effect]; ok {
			if n, _, _ := strings.Cut(c.New, " "); c.What == "shards" { // "4 loops"
				cure = fmt.Sprintf("stop the server, on all machines if there are several, then run 'wamble shards %s --profile %s'", n, c.Profile)
			}
			no = append(no, fmt.Errorf("%s from %s to %s: %s", c.What, c.Old, c.New, cure))
		}
	}
	return no
}

// summary describes each change of the plan in one line.
func (p *plan) summary() []string {
	lines := []string{}
	for _, c := range p.changes {
		lines = append(lines, c.String())
	}
	for _, prof := range p.newStore {
		if !strings.Contains(strings.Join(lines, "\n"), prof.name+": db") {
			lines = append(lines, prof.name+": store "+prof.store.Name+" → "+p.start[prof.name].store.Name+" (store)")
		}
	}
	return lines
}

// emptyTime bounds the drain of the journal to the old store of a profile.
const emptyTime = time.Minute

// dryRunReload returns what a reload would change or refuse. With ports it also tries to bind
// new listeners and to query new PostgreSQL databases. It changes nothing. Errors are those
// of reading the configuration.
func (s *Server) dryRunReload(ctx context.Context, ports bool) (admin.DryRun, error) {
	f := admin.DryRun{Changes: []config.Change{}, Profiles: []string{}, Refused: []string{}}
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
	refuse(s.probePorts(ctx, unbound))
	for _, cfg := range unbound {
		if prof := s.profile(cfg.Name); cfg.Postgres() && (prof == nil || otherStore(s, prof, cfg)) {
			refuse(s.probeStore(ctx, cfg))
		}
	}
	return f, nil
}

// dryRunProfiles adds what a reload would do with each profile to f, and returns the
// profiles that get a new port.
func (s *Server) dryRunProfiles(p *plan, f *admin.DryRun) (unbound []*config.Profile) {
	say := func(name, what string) { f.Profiles = append(f.Profiles, "profile "+name+" "+what) }
	wanted := map[string]bool{}
	for _, cfg := range p.wanted {
		wanted[cfg.Name] = true
		if _, err := locationOf(cfg, s.dir, s.stores.failover); err != nil {
			f.Refused = append(f.Refused, "profile "+cfg.Name+": "+err.Error())
		}
		switch prof := s.profile(cfg.Name); {
		case prof == nil:
			say(cfg.Name, "begins")
		case otherStore(s, prof, cfg):
			say(cfg.Name, "begins anew with another database")
		case config.Strongest(p.changes, cfg.Name) >= config.NewListener:
			say(cfg.Name, "gets its listener anew")
		default:
			continue
		}
		unbound = append(unbound, cfg)
	}
	for _, prof := range s.profiles() {
		if !wanted[prof.name] {
			say(prof.name, "ends")
		}
	}
	return unbound
}

// otherStore reports whether a configuration changes a profile's store.
func otherStore(s *Server, prof *Profile, cfg *config.Profile) bool {
	place, err := locationOf(cfg, s.dir, s.stores.failover)
	return err != nil || place.settings != prof.store.settings
}

// probePorts binds the ports of profiles and closes them again.
func (s *Server) probePorts(ctx context.Context, profiles []*config.Profile) error {
	if !s.tryBeginChange(ctx) {
		return handoff.NotReady("a reload or a handoff is under way")
	}
	defer s.endChange()
	open := newOpenPorts()
	for _, prof := range s.profiles() {
		open.add(prof.Config(), prof.Port())
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
func (s *Server) effective() admin.Effective {
	c := s.config()
	e := admin.Effective{File: c.File, Server: c.Settings(), Profiles: []admin.EffectiveProfile{}}
	for _, prof := range s.profiles() {
		cfg := prof.Config()
		e.Profiles = append(e.Profiles,
			admin.EffectiveProfile{Name: cfg.Name, Base: cfg.Base, Store: cfg.Storage(), Options: cfg.Settings()})
	}
	return e
}
