package server

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"wamble"
	"wamble/internal/admin"
	"wamble/internal/config"
	"wamble/internal/guard"
	"wamble/internal/journal"
	"wamble/internal/observe"
	"wamble/internal/store"
	"wamble/internal/transport"
	"wamble/runner"
)

// errNoLoader is returned by Reload when Options.Load is nil.
var errNoLoader = errors.New("this server cannot read its configuration again")

// Reload reads the configuration again and applies it: profiles whose names and stores stay
// go on with their players, on a new port if that has changed; the others end or begin. A
// configuration that cannot be applied changes nothing, and the error says why.
func (s *Server) Reload(ctx context.Context) (admin.Reloaded, error) {
	s.running.changeMu.Lock()
	defer s.endChange()
	s.extendChange(changeTimeout)
	s.beatNow()
	began := time.Now()
	changes, err := s.reload(ctx)
	r := admin.Reloaded{Time: began, Took: wamble.InSeconds(time.Since(began)), Changes: changes}
	if err != nil {
		r.Error, r.Changes = err.Error(), []string{}
		s.log.Error("the reload was refused; nothing has changed", "err", err)
	} else {
		s.log.Info("reloaded", "changes", len(changes), "took", time.Since(began))
		for _, c := range changes {
			s.log.Info("reloaded", "change", c)
		}
	}
	s.running.mu.Lock()
	s.running.reloaded = &r
	s.running.mu.Unlock()
	return r, err
}

// readConfig reads the configuration again.
func (s *Server) readConfig() (*config.Config, error) {
	if s.o.Load == nil {
		return nil, errNoLoader
	}
	return s.o.Load()
}

func (s *Server) reload(ctx context.Context) ([]string, error) {
	if s.running.closed {
		return nil, errors.New("the server is stopping")
	}
	c, err := s.readConfig()
	if err != nil {
		return nil, err
	}
	if err := s.checkCertificates(c); err != nil {
		return nil, err
	}
	admin, err := s.planAdmin(c)
	if err != nil {
		return nil, err
	}
	s.extendChange(changeTimeout + time.Duration(2*len(c.Running()))*loadTime)
	p, err := s.newPlan(ctx, c)
	if err != nil {
		admin.Close()
		return nil, err
	}
	summary := p.summary()
	if err := s.apply(ctx, p); err != nil {
		admin.Close()
		p.close(s)
		return nil, err
	}
	s.setAdmin(admin)
	s.moveRedirect(c)
	s.traces.Configure(c)
	if s.o.Log != nil {
		observe.Configure(s.o.Log.Handler(), c)
	}
	return summary, nil
}

// apply carries out a plan. Only ending profiles for a new store can fail; then they are
// started again.
func (s *Server) apply(ctx context.Context, p *plan) error {
	if err := s.endForNewStore(ctx, p); err != nil {
		return err
	}
	s.extendChange(leaveTimeout + changeTimeout)
	s.endLeaving(ctx, p.remove)
	s.extendChange(changeTimeout)
	old := s.switchPorts(p)
	for name := range p.start {
		s.cancelDrain(name)
	}
	s.commitPlan(p)
	for _, prof := range p.newStore {
		prof.dropDrain() // the new profile has its own
		for _, sh := range prof.shards {
			sh.runtime.ReleaseOwnership(ctx)
		}
	}
	for _, prof := range p.start {
		s.serveWeb(prof, prof.Port())
		prof.start()
	}
	for _, prof := range slices.Concat(p.unchanged, p.rebind) {
		prof.configure(p.profile(prof.name))
	}
	for _, prof := range p.newStore {
		if err := s.releaseStore(prof); err != nil {
			prof.log.Warn("the old store was not closed well", "err", err)
		}
	}
	for _, prof := range p.remove {
		s.drainRemoved(prof)
	}
	s.retirePorts(old)
	return nil
}

// endForNewStore ends the profiles that get another store, and drains their journal to the
// old one. If that fails, they are started again with the old one. After a failover of the
// database the journal is drained to the new one instead.
func (s *Server) endForNewStore(ctx context.Context, p *plan) error {
	list := p.newStore
	for i, prof := range list {
		s.extendChange(emptyTime + changeTimeout)
		prof.stop()
		if slices.Contains(p.failover, prof) {
			continue
		}
		err := prof.drainWithin(ctx, emptyTime)
		if err == nil {
			for _, sh := range prof.shards {
				err = errors.Join(err, sh.runtime.ForgetDatabase(ctx))
			}
		}
		if err != nil {
			for _, again := range list[:i+1] {
				again.start()
			}
			return fmt.Errorf("profile %s: the old database did not take what the journal has; the profile goes on with it: %w", prof.name, err)
		}
	}
	return nil
}

// endLeaving ends removed profiles. If their store answers, it drains their journal, so that
// a new profile on the same store knows their players.
func (s *Server) endLeaving(ctx context.Context, list []*Profile) {
	var ending sync.WaitGroup
	for _, prof := range list {
		ending.Go(func() {
			err := guard.Call("the end of a profile", func() error {
				prof.stop()
				if db := prof.StoreState(); db.Away || db.Refuses {
					return nil
				}
				return prof.drainWithin(ctx, leaveTimeout)
			})
			if err != nil {
				prof.log.Info("the profile leaves with something in the journal", "err", err)
			}
		})
	}
	ending.Wait()
}

// leaveTimeout bounds the drain of a removed profile in endLeaving.
const leaveTimeout = 5 * time.Second

// switchPorts gives the profiles that move their new ports, and returns the ports that are
// no longer used. Meanwhile no port is read; packets wait in the sockets. A profile that
// gets another UDP address is started anew, because its clients are others, and their
// sequence numbers must not be taken for those of old clients. A profile that only listens
// on more or fewer addresses of the same port goes on.
func (s *Server) switchPorts(p *plan) (old []*transport.Port) {
	var anew []*Profile
	for _, prof := range p.rebind {
		before, _ := socketAddresses(prof.Config())
		if after, _ := socketAddresses(p.profile(prof.name)); !sameClients(before, after) && !prof.StoreState().Away {
			anew = append(anew, prof)
			prof.stop()
			continue
		}
		prof.pauseReading(true)
	}
	for _, prof := range slices.Concat(p.remove, p.newStore) {
		old = append(old, prof.Port())
	}
	for _, prof := range p.rebind {
		old = append(old, prof.Port())
		port := p.ports[prof.name]
		s.serveWeb(prof, port)
		s.router.JoinPort(prof.name, port)
		prof.moveTo(port)
	}
	for _, prof := range p.rebind {
		if slices.Contains(anew, prof) {
			prof.setOptions(p.profile(prof.name))
			prof.start()
			continue
		}
		prof.pauseReading(false)
	}
	return old
}

// sameClients reports whether clients of one socket address may go on at the other: they are
// equal, or one of them stands for all addresses of the same port.
func sameClients(a, b socketAddress) bool {
	all := func(s socketAddress) bool { return !s.address.IsValid() || s.address.IsUnspecified() }
	return a == b || a.port == b.port && a.port != 0 && (all(a) || all(b))
}

// commitPlan makes the plan's configuration and profiles the current ones.
func (s *Server) commitPlan(p *plan) {
	var profiles []*Profile
	for _, cfg := range p.wanted {
		prof := p.start[cfg.Name]
		if prof == nil {
			prof = s.profile(cfg.Name)
		}
		profiles = append(profiles, prof)
	}
	s.running.mu.Lock()
	defer s.running.mu.Unlock()
	s.running.config, s.running.profiles = p.config, profiles
}

// retirePorts closes ports that are no longer used. Their connections are closed with "going
// away", for at most retireTimeout. UDP sockets close at once, so that datagrams reach the new
// port of the same number.
func (s *Server) retirePorts(ports []*transport.Port) {
	for _, p := range ports { // sockets in use by new ports were duplicated
		for _, shard := range p.Shards() {
			shard.UDP().Close()
		}
		p.StopListening()
	}
	for _, p := range ports {
		s.runBackground("an old port", func() {
			ctx, cancel := context.WithTimeout(context.Background(), retireTimeout)
			defer cancel()
			if err := p.Shutdown(ctx, transport.CloseGoingAway); err != nil && ctx.Err() == nil {
				s.log.Warn("a port did not close well", "err", err)
			}
			closeShards(p)
		})
	}
}

// retireTimeout bounds the orderly end of connections of an old port or admin listener.
const retireTimeout = 5 * time.Second

// configure applies new options to a profile that goes on.
func (p *Profile) configure(cfg *config.Profile) {
	p.Port().Configure(portOptions(cfg).WebSocket)
	p.Port().Trust(cfg.Network.Proxies())
	p.renewCertificate(cfg)
	p.setOptions(cfg)
}

// setOptions gives the loops of all shards their options.
func (p *Profile) setOptions(cfg *config.Profile) {
	for _, sh := range p.shards {
		sh.runtime.Configure(cfg)
	}
}

// removedProfile is a profile that was removed while its journal has messages that its store
// lacks. They are drained without a listener.
type removedProfile struct {
	profile *Profile
	cancel  context.CancelFunc
	done    chan struct{}
}

// drainRemoved drains the journal of a profile whose loop has ended, and releases its store.
func (s *Server) drainRemoved(prof *Profile) {
	ctx, cancel := context.WithCancel(context.Background())
	d := &removedProfile{profile: prof, cancel: cancel, done: make(chan struct{})}
	s.running.mu.Lock()
	s.running.removed = append(s.running.removed, d)
	s.running.mu.Unlock()
	go func() {
		defer close(d.done)
		guard.Run("a departure", func() {
			prof.eachShard("a departure", func(sh *Shard) { sh.runtime.DrainRemoved(ctx) })
		}, prof.reportPanic)
		guard.Run("a departure", prof.dropDrain, prof.reportPanic)
		if err := guard.Call("a departure", func() error { return s.releaseStore(prof) }); err != nil {
			prof.log.Warn("the store of a removed profile was not closed well", "err", err)
		}
		s.running.mu.Lock()
		defer s.running.mu.Unlock()
		s.running.removed = slices.DeleteFunc(s.running.removed, func(other *removedProfile) bool { return other == d })
	}()
}

// cancelDrain ends the departure of a profile that is added again. Its new runtime drains.
func (s *Server) cancelDrain(name string) {
	for _, d := range s.removedProfiles() {
		if d.profile.name == name {
			d.cancel()
			<-d.done
		}
	}
}

func (s *Server) removedProfiles() []*removedProfile {
	s.running.mu.RLock()
	defer s.running.mu.RUnlock()
	return slices.Clone(s.running.removed)
}

// endRemoved waits for all departures until ctx ends, and then interrupts them.
func (s *Server) endRemoved(ctx context.Context) {
	for _, d := range s.removedProfiles() {
		select {
		case <-d.done:
		case <-ctx.Done():
			d.cancel()
			<-d.done
		}
	}
}

// drainLeftovers starts departures for profiles that do not run and have messages in the
// journal. Their configuration must still name their store.
func (s *Server) drainLeftovers(ctx context.Context, r *runner.Runner) {
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	workers, err := journal.Workers(ctx, r)
	if err != nil {
		s.log.Warn("the profiles of the journal cannot be read", "err", err)
		return
	}
	depth := map[uint64]uint64{}
	for _, in := range r.Stats().Inboxes {
		depth[in.Worker] = in.Depth
	}
	undrainedOf := map[string]uint64{}
	for name, worker := range workers {
		of, _ := store.SplitName(name)
		undrainedOf[of] += depth[uint64(worker)]
	}
	for name, undrained := range undrainedOf {
		if undrained == 0 || s.profile(name) != nil {
			continue
		}
		now := s.config()
		if now == nil { // the server starts
			now = s.o.Config
		}
		cfg := now.Profile(name)
		if name == config.DefaultName {
			cfg = now.Default
		}
		if cfg == nil {
			s.log.Warn("the journal has messages of a profile that is not configured; define it, not advertised, and they are brought to its database",
				"profile", name, "messages", undrained)
			continue
		}
		prof, err := s.newProfile(cfg, nil)
		if err != nil {
			s.log.Warn("the store of a profile that left cannot be opened", "profile", name, "err", err)
			continue
		}
		s.drainRemoved(prof)
	}
}
