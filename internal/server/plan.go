package server

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"wamble/internal/config"
	"wamble/internal/journal"
	"wamble/internal/store"
	"wamble/internal/transport"
)

// plan is how the server gets from what runs to what a new configuration wants.
// Everything that can fail is done while it is made: sockets are bound, stores
// opened and asked. A plan that is dropped has changed nothing.
type plan struct {
	config   *config.Config
	changes  []config.Change
	wanted   []*config.Profile
	stay     []*supervisor // with or without new options
	move     []*supervisor // go on with a port that is set up anew
	newStore []*supervisor // end, and begin anew with another store
	failover []*supervisor // of newStore: their old store is gone, the new one takes its place
	leave    []*supervisor // are not wanted any more

	ports map[string]*transport.Port // for those that move or begin
	begin map[string]*supervisor     // new runtimes: added, or with another store
}

// newPlan makes a plan, or says why the configuration cannot be reached from
// here.
func (s *Server) newPlan(ctx context.Context, c *config.Config) (*plan, error) {
	p := &plan{config: c, changes: config.Diff(s.config(), c), begin: map[string]*supervisor{}}
	if err := refusedByReload(p.changes); err != nil {
		return nil, err
	}
	var err error
	if p.wanted, err = s.wanted(c); err != nil {
		return nil, err
	}
	if err := conflicts(p.wanted); err != nil {
		return nil, err
	}
	shards := 1
	for _, cfg := range p.wanted {
		shards = max(shards, cfg.Boards.Shards)
	}
	if err := s.otherParts(shards); err != nil {
		return nil, err
	}
	if err := s.sameStoresPlaced(p.wanted); err != nil {
		return nil, err
	}
	open := newOpenPorts()
	var bound []*config.Profile
	for _, k := range s.supervisors() {
		open.add(k.Config(), k.Port())
		if !slices.ContainsFunc(p.wanted, func(cfg *config.Profile) bool { return cfg.Name == k.name }) {
			p.leave = append(p.leave, k)
		}
	}
	for _, cfg := range p.wanted {
		if !p.sort(s, cfg) {
			bound = append(bound, cfg)
		}
	}
	if p.ports, err = bindAll(bound, open, nil); err != nil {
		return nil, err
	}
	for _, cfg := range bound {
		s.certify(cfg, p.ports[cfg.Name])
	}
	if err := p.build(ctx, s); err != nil {
		p.drop(s)
		return nil, err
	}
	return p, nil
}

// sort puts a wanted profile into its list, and reports whether it keeps its
// port as it is.
func (p *plan) sort(s *Server, cfg *config.Profile) (keepsPort bool) {
	k := s.supervisor(cfg.Name)
	if k == nil {
		return false
	}
	effect := config.Strongest(p.changes, cfg.Name)
	switch {
	case otherStore(s, k, cfg):
		p.newStore = append(p.newStore, k)
	case effect >= config.NewListener:
		p.move = append(p.move, k)
	default:
		p.stay = append(p.stay, k)
		return true
	}
	return false
}

// build makes the runtimes that begin. A store that takes the place of another
// must answer, and so must the one that it replaces.
func (p *plan) build(ctx context.Context, s *Server) error {
	for _, cfg := range p.wanted {
		old := s.supervisor(cfg.Name)
		if old != nil && !slices.Contains(p.newStore, old) {
			continue
		}
		k, err := s.newSupervisor(cfg, p.ports[cfg.Name])
		if err != nil {
			return err
		}
		p.begin[cfg.Name] = k
		if old == nil {
			continue
		}
		if err := usable(ctx, k.store); err != nil {
			return fmt.Errorf("profile %s: the database that it is to use: %w", cfg.Name, err)
		}
		err = answers(ctx, old.store, s, cfg.Name)
		switch {
		case err == nil:
			k.Moved()
		case s.takesPlace(ctx, k.store, cfg.Name):
			p.failover = append(p.failover, old)
		default:
			return fmt.Errorf("profile %s: the database that it uses now must be there to take what the journal has, "+
				"unless its standby takes its place, which has this journal's cursor: %w", cfg.Name, err)
		}
	}
	return nil
}

// takesPlace reports whether a store is what another one was, as a standby that was
// promoted is: it was made at the same time, and has had messages of this journal.
func (s *Server) takesPlace(ctx context.Context, db *Shared, profile string) bool {
	ctx, cancel := context.WithTimeout(ctx, loadTime)
	defer cancel()
	known, found, err := journal.WorldOf(ctx, s.runner, profile)
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

// answers asks a store that is in use something cheap.
func answers(ctx context.Context, db *Shared, s *Server, profile string) error {
	ctx, cancel := context.WithTimeout(ctx, loadTime)
	defer cancel()
	_, err := db.Cursor(ctx, store.JournalID(s.runner.JournalID()), profile)
	return err
}

// usable asks a store that is new here whether it can be used.
func usable(ctx context.Context, store *Shared) error {
	ctx, cancel := context.WithTimeout(ctx, loadTime)
	defer cancel()
	st, err := store.Status(ctx)
	return cmp.Or(err, st.Refused())
}

// of returns the new options of a wanted profile.
func (p *plan) of(name string) *config.Profile {
	return p.wanted[slices.IndexFunc(p.wanted, func(cfg *config.Profile) bool { return cfg.Name == name })]
}

// drop gives back what the plan has opened.
func (p *plan) drop(s *Server) {
	closePorts(p.ports)
	for _, k := range p.begin {
		if err := s.giveStore(k); err != nil {
			s.log.Warn("a store was not closed well", "err", err)
		}
	}
}

// refusedByReload names the changes that a reload cannot make.
func refusedByReload(changes []config.Change) error { return errors.Join(refusals(changes)...) }

func refusals(changes []config.Change) []error {
	cures := map[config.Effect]string{config.NeedsHandoff: "'wamble handoff' applies it", config.NeedsRestart: "it needs a restart"}
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

// summary says what the plan changes, one line each.
func (p *plan) summary() []string {
	lines := []string{}
	for _, c := range p.changes {
		lines = append(lines, c.String())
	}
	for _, k := range p.newStore {
		if !strings.Contains(strings.Join(lines, "\n"), k.name+": db") {
			lines = append(lines, k.name+": store "+k.store.Name+" → "+p.begin[k.name].store.Name+" (store)")
		}
	}
	return lines
}

// emptyTime is how long the old store of a profile may take for what the journal
// has.
const emptyTime = time.Minute
