package server

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"wamble"

	"wamble/internal/config"
	"wamble/internal/guard"
	"wamble/internal/host"
	"wamble/internal/observe"
	"wamble/internal/transport"
)

// errNoLoader is returned by Reload when Options.Load is nil.
var errNoLoader = errors.New("this server cannot read its configuration again")

// Reload reads the configuration again and applies it: profiles whose names and stores stay
// go on with their players, on a new port if that has changed; the others end or begin. A
// configuration that cannot be applied changes nothing, and the error says why.
func (s *Server) Reload(ctx context.Context) (host.Reloaded, error) {
	s.house.changing.Lock()
	defer s.changed()
	s.expect(changeTime)
	began := time.Now()
	changes, err := s.reload(ctx)
	r := host.Reloaded{Time: began, Took: wamble.InSeconds(time.Since(began)), Changes: changes}
	if err != nil {
		r.Error, r.Changes = err.Error(), []string{}
		s.log.Error("the reload was refused; nothing has changed", "err", err)
	} else {
		s.log.Info("reloaded", "changes", len(changes), "took", time.Since(began))
		for _, c := range changes {
			s.log.Info("reloaded", "change", c)
		}
	}
	s.house.mu.Lock()
	s.house.reloaded = &r
	s.house.mu.Unlock()
	return r, err
}

// read reads the configuration again.
func (s *Server) read() (*config.Config, error) {
	if s.o.Load == nil {
		return nil, errNoLoader
	}
	return s.o.Load()
}

func (s *Server) reload(ctx context.Context) ([]string, error) {
	if s.house.closed {
		return nil, errors.New("the server is stopping")
	}
	c, err := s.read()
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
	s.expect(changeTime + time.Duration(2*len(c.Running()))*loadTime)
	p, err := s.newPlan(ctx, c)
	if err != nil {
		admin.Close()
		return nil, err
	}
	summary := p.summary()
	if err := s.apply(ctx, p); err != nil {
		admin.Close()
		p.drop(s)
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
	s.expect(leaveTime + changeTime)
	s.endLeaving(ctx, p.leave)
	s.expect(changeTime)
	old := s.switchPorts(p)
	for name := range p.begin {
		s.recall(name)
	}
	s.settle(p)
	for _, k := range p.newStore {
		k.DropDrain() // the new supervisor has its own
		k.Disown(ctx)
	}
	for _, k := range p.begin {
		s.serveWeb(k, k.Port())
		k.start()
	}
	for _, k := range slices.Concat(p.stay, p.move) {
		k.configure(p.of(k.name))
	}
	for _, k := range p.newStore {
		if err := s.giveStore(k); err != nil {
			k.log.Warn("the old store was not closed well", "err", err)
		}
	}
	for _, k := range p.leave {
		s.depart(k)
	}
	s.retire(old)
	return nil
}

// endForNewStore ends the profiles that get another store, and drains their journal to the
// old one. If that fails, they are started again with the old one. After a failover of the
// database the journal is drained to the new one instead.
func (s *Server) endForNewStore(ctx context.Context, p *plan) error {
	list := p.newStore
	for i, k := range list {
		s.expect(emptyTime + changeTime)
		k.stop()
		if slices.Contains(p.failover, k) {
			continue
		}
		if err := k.emptyWithin(ctx, emptyTime); err != nil {
			for _, again := range list[:i+1] {
				again.start()
			}
			return fmt.Errorf("profile %s: the old database did not take what the journal has; the profile goes on with it: %w", k.name, err)
		}
	}
	return nil
}

// endLeaving ends removed profiles. If their store answers, it drains their journal, so that
// a new profile on the same store knows their players.
func (s *Server) endLeaving(ctx context.Context, list []*supervisor) {
	var ending sync.WaitGroup
	for _, k := range list {
		ending.Go(func() {
			err := guard.Call("the end of a profile", func() error {
				k.stop()
				if db := k.StoreState(); db.Away || db.Refuses {
					return nil
				}
				return k.emptyWithin(ctx, leaveTime)
			})
			if err != nil {
				k.log.Info("the profile leaves with something in the journal", "err", err)
			}
		})
	}
	ending.Wait()
}

// leaveTime bounds the drain of a removed profile in endLeaving.
const leaveTime = 5 * time.Second

// emptyWithin drains the journal of a stopped profile to its store.
func (k *supervisor) emptyWithin(ctx context.Context, patience time.Duration) error {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	return k.Empty(ctx)
}

// switchPorts gives the profiles that move their new ports, and returns the ports that are
// no longer used. Meanwhile no port is read; packets wait in the sockets. A profile that
// gets another UDP address is started anew, because its clients are others, and their
// sequence numbers must not be taken for those of old clients. A profile that only listens
// on more or fewer addresses of the same port goes on.
func (s *Server) switchPorts(p *plan) (old []*transport.Port) {
	var anew []*supervisor
	for _, k := range p.move {
		before, _ := socketAddresses(k.Config())
		if after, _ := socketAddresses(p.of(k.name)); !sameClients(before, after) && !k.StoreState().Away {
			anew = append(anew, k)
			k.stop()
			continue
		}
		k.Hold(true)
	}
	for _, k := range slices.Concat(p.leave, p.newStore) {
		old = append(old, k.Port())
	}
	for _, k := range p.move {
		old = append(old, k.Port())
		port := p.ports[k.name]
		s.serveWeb(k, port)
		s.joinPort(k.name, port)
		k.MoveTo(port)
	}
	for _, k := range p.move {
		if slices.Contains(anew, k) {
			k.Configure(p.of(k.name))
			k.start()
			continue
		}
		k.Hold(false)
	}
	return old
}

// sameClients reports whether clients of one socket address may go on at the other: they are
// equal, or one of them stands for all addresses of the same port.
func sameClients(a, b socketAddress) bool {
	all := func(s socketAddress) bool { return !s.address.IsValid() || s.address.IsUnspecified() }
	return a == b || a.port == b.port && a.port != 0 && (all(a) || all(b))
}

// settle makes the plan's configuration and supervisors the current ones.
func (s *Server) settle(p *plan) {
	var supervisors []*supervisor
	for _, cfg := range p.wanted {
		k := p.begin[cfg.Name]
		if k == nil {
			k = s.supervisor(cfg.Name)
		}
		supervisors = append(supervisors, k)
	}
	s.house.mu.Lock()
	defer s.house.mu.Unlock()
	s.house.config, s.house.supervisors = p.config, supervisors
}

// retire closes ports that are no longer used. Their connections are closed with "going
// away", for at most retireTime. UDP sockets close at once, so that datagrams reach the new
// port of the same number.
func (s *Server) retire(ports []*transport.Port) {
	for _, p := range ports { // sockets in use by new ports were duplicated
		for _, shard := range p.Shards() {
			shard.UDP().Close()
		}
		p.StopListening()
	}
	for _, p := range ports {
		s.help("an old port", func() {
			ctx, cancel := context.WithTimeout(context.Background(), retireTime)
			defer cancel()
			if err := p.Shutdown(ctx, transport.CloseGoingAway); err != nil && ctx.Err() == nil {
				s.log.Warn("a port did not close well", "err", err)
			}
			closeShards(p)
		})
	}
}

// retireTime bounds the orderly end of connections of an old port or admin listener.
const retireTime = 5 * time.Second

// configure applies new options to a profile that goes on.
func (k *supervisor) configure(cfg *config.Profile) {
	k.Port().Configure(portOptions(cfg).WebSocket)
	k.Port().Trust(cfg.Network.Proxies())
	k.renewCertificate(cfg)
	k.Configure(cfg)
}
