package server

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/netip"
	"path/filepath"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"wamble"
	"wamble/internal/admin"
	"wamble/internal/config"
	"wamble/internal/guard"
	"wamble/internal/journal"
	"wamble/internal/loop"
	"wamble/internal/observe"
	"wamble/internal/store"
	"wamble/internal/tape"
	"wamble/internal/transport"
	"wamble/runner"
)

// running is the mutable state of a Server: configuration, profiles, listeners.
type running struct {
	// changeMu is held while profiles are added, moved or removed, as by a reload or a handoff; for
	// reading, while partitions are claimed or released.
	changeMu sync.RWMutex

	closed bool // the server has been stopped; guarded by changeMu

	changeDeadline atomic.Pointer[time.Time] // deadline of the current step of a change; nil if none is under way

	draining atomic.Bool // new players are refused

	mu        sync.RWMutex // guards what follows
	config    *config.Config
	profiles  []*Profile // in the order of the configuration
	removed   []*removedProfile
	admin     *observe.Admin // nil if it is off
	redirects []*redirector
	reloaded  *admin.Reloaded // result of the last reload; nil before the first

	allFailed chan struct{} // closed by checkAllFailed
	once      sync.Once     // closes allFailed
}

// profile returns a running profile; nil if there is none of that name.
func (s *Server) profile(name string) *Profile {
	for _, p := range s.profiles() {
		if p.name == name {
			return p
		}
	}
	return nil
}

// profiles returns the profiles that run, in the order of the configuration.
func (s *Server) profiles() []*Profile {
	s.running.mu.RLock()
	defer s.running.mu.RUnlock()
	return slices.Clone(s.running.profiles)
}

// config returns the configuration that is in effect.
func (s *Server) config() *config.Config {
	s.running.mu.RLock()
	defer s.running.mu.RUnlock()
	return s.running.config
}

// wantedProfiles returns the profiles of a configuration that this server shall run.
func (s *Server) wantedProfiles(c *config.Config) ([]*config.Profile, error) {
	running := c.Running()
	if s.o.Profile == "" {
		return running, nil
	}
	for _, p := range running {
		if p.Name == s.o.Profile {
			return []*config.Profile{p}, nil
		}
	}
	if s.o.Profile == config.DefaultName {
		return []*config.Profile{c.Default}, nil
	}
	return nil, fmt.Errorf("there is no profile %q that runs; 'wamble config show' lists them", s.o.Profile)
}

// openProfiles binds the sockets of all profiles and then opens their stores. It
// starts no loop.
func (s *Server) openProfiles() error {
	s.running.allFailed = make(chan struct{})
	s.running.mu.Lock() // after a handoff the heartbeat reads what is here
	s.running.config = s.o.Config
	s.running.mu.Unlock()
	profiles, err := s.wantedProfiles(s.o.Config)
	if err != nil {
		return err
	}
	if err := conflicts(profiles); err != nil {
		return err
	}
	ports, err := bindAll(profiles, newOpenPorts(), s.o.Inherited)
	if err != nil {
		return err
	}
	s.closers = append(s.closers, s.closeProfiles)
	for _, cfg := range profiles {
		s.certify(cfg, ports[cfg.Name])
		s.warnOf(cfg.Name, ports[cfg.Name].Certificate())
		p, err := s.newProfile(cfg, ports[cfg.Name])
		if err != nil {
			closePorts(ports)
			return err
		}
		delete(ports, cfg.Name)
		s.running.mu.Lock()
		s.running.profiles = append(s.running.profiles, p)
		s.running.mu.Unlock()
	}
	s.closeUnwanted(profiles)
	return nil
}

// closeUnwanted closes the inherited sockets of profiles that do not run.
func (s *Server) closeUnwanted(profiles []*config.Profile) {
	for name, sockets := range s.o.Inherited {
		if !slices.ContainsFunc(profiles, func(p *config.Profile) bool { return p.Name == name }) {
			s.log.Warn("an inherited socket belongs to no profile that runs", "profile", name)
			for _, udp := range append(sockets.Siblings, sockets.UDP) {
				udp.Close()
			}
			sockets.TCP.Close()
		}
	}
}

// newProfile makes a profile and its shards. Port is that of the first shard; nil for a
// profile that only drains its journal.
func (s *Server) newProfile(cfg *config.Profile, port *transport.Port) (*Profile, error) {
	restrictions, err := s.host.Global.Of(cfg.Name)
	if err != nil {
		return nil, &StartError{StartThreadError, cfg.Name, err}
	}
	db, err := s.stores.acquire(cfg)
	if err != nil {
		return nil, &StartError{StartThreadError, cfg.Name, err}
	}
	s.router.JoinPort(cfg.Name, port)
	p := &Profile{
		server: s, name: cfg.Name, log: s.log.With("profile", cfg.Name), store: db, restrictions: restrictions,
		peers: s.rebalancer.peers, shards: make([]*Shard, cfg.Boards.Shards),
	}
	p.events.Shards = len(p.shards)
	if s.o.Config.Server.JournalKeep == 0 {
		p.events.Expect(time.Now())
	}
	p.openShards.totals.OnGrowth = p.onGrowth
	for i := range p.shards {
		p.shards[i] = s.newShard(p, i, cfg, port)
	}
	return p, nil
}

// newShard makes a shard of a profile.
func (s *Server) newShard(p *Profile, index int, cfg *config.Profile, port *transport.Port) *Shard {
	sh := &Shard{profile: p, index: index, log: p.log}
	if len(p.shards) > 1 {
		sh.log = sh.log.With("shard", index)
	}
	db, name, kept := p.store, store.ShardName(cfg.Name, index), &s.o.Config.Server
	o := loop.Options{
		Name: name, Config: cfg, Shard: wamble.Shard{Index: index, Of: len(p.shards)}, Log: sh.log, Port: port,
		Server:   p,
		Database: loop.Database{Store: db, Name: db.Name, InProcess: db.File != "", Registry: db.Registry},
		Journal:  loop.Journal{Runner: s.runner},
		Retain: journal.RetainOptions{
			Dir: filepath.Join(s.dir, "kept"), Age: kept.JournalKeep,
			Bytes: int64(kept.JournalKeepSize) << 20, Needed: int64(kept.RestartKeepSize) << 20,
		},
		Observer: sh, RememberEvents: s.isPartitioned(),
		RestartDir: s.restartDir(),
		Record:     tape.Series{Name: s.recordingFile(name), Successor: s.o.Handoff.Inheritance != nil},
		Tracing:    &s.traces.Tracing,
		Clock:      loop.TestClock{Now: s.o.Clock, Skew: s.o.Skew},
	}
	if port != nil {
		o.Port = port.Shards()[index]
	}
	if len(p.shards) > 1 {
		o.OtherShards = sh
	}
	if part := s.partitionOf(index); part != nil {
		sh.partition.Store(part)
		o.Journal = part.journal()
	}
	sh.runtime = loop.New(o)
	db.Registry.Join(sh.runtime)
	return sh
}

// releaseStore releases the store of a profile that has ended.
func (s *Server) releaseStore(p *Profile) error {
	for _, sh := range p.shards {
		p.store.Registry.Leave(sh.runtime)
	}
	return s.stores.release(p.store, p.name)
}

// recordingFile returns the file of a profile's recording: the file of Options.Record if one
// profile of one shard runs, otherwise one with the profile's name appended.
func (s *Server) recordingFile(profile string) string {
	if wanted, err := s.wantedProfiles(s.o.Config); s.o.Record == "" || err == nil && len(wanted) == 1 &&
		wanted[0].Boards.Shards == 1 {
		return s.o.Record
	}
	return s.o.Record + "-" + profile
}

// closeProfiles closes the ports of all profiles and releases their stores.
func (s *Server) closeProfiles() error {
	var errs []error
	for _, p := range s.profiles() {
		for _, sh := range p.shards {
			sh.remotePort.End()
			errs = append(errs, sh.runtime.Port().Close())
		}
		errs = append(errs, s.releaseStore(p))
	}
	s.running.mu.Lock()
	s.running.profiles = nil
	s.running.mu.Unlock()
	return errors.Join(errs...)
}

// serveWeb serves HTTP and WebSocket on a port until the port is shut down.
func (s *Server) serveWeb(p *Profile, port *transport.Port) {
	port.Measure(s.web.Socket(p.name))
	s.runBackground("HTTP", func() {
		if err := port.Serve(s.web.Measure(p.name, p.withHSTS(s.site(p))), p.reportPanic); err != nil {
			p.log.Error("HTTP has ended", "err", err)
		}
	})
}

// restartDir returns the directory of restart files. It is "" if the journal is in
// PostgreSQL: a local file would be out of date after another node has held the journal.
func (s *Server) restartDir() string {
	if s.sharedJournal.log != nil {
		return ""
	}
	return filepath.Join(s.dir, "restart")
}

// stop moves the partitions of a cluster to other nodes, and then ends all profiles
// concurrently and in order.
func (s *Server) stop() {
	began, patience := time.Now(), s.config().Server.ShutdownTimeout
	s.drainNode(patience)
	s.stopRebalancer()
	if patience > 0 {
		patience = max(patience-time.Since(began), time.Second)
	}
	s.shutDown(patience)
	s.stopOutbox()
}

// shutDown ends all profiles concurrently, and drains their journal for at most patience; 0
// drains nothing.
func (s *Server) shutDown(patience time.Duration) {
	s.stopServing()
	s.running.changeMu.Lock()
	defer s.endChange()
	s.running.closed = true
	s.extendChange(patience + changeTimeout)
	ctx, cancel := context.WithTimeout(context.Background(), max(patience, time.Second))
	defer cancel()
	var stopping sync.WaitGroup
	for _, p := range s.profiles() {
		stopping.Go(func() {
			guard.Run("the end of a profile", func() {
				p.stop()
				for _, sh := range p.shards {
					if sh.isRemote() {
						sh.forwardPackets() // forwards packets until the port closes
					}
				}
				p.eachShard("the end of a profile", func(sh *Shard) { sh.runtime.Shut(ctx, patience > 0) })
			}, p.reportPanic)
		})
	}
	stopping.Wait()
	s.endRemoved(ctx)
}

// checkAllFailed ends Run with an error when no profile could be started. One that found no room on
// the disk does not count: it is started again when there is room. A node of a
// cluster also ends if its number of shards differs from the cluster's: other nodes can
// serve the partitions that it has claimed. It reports whether Run ends.
func (s *Server) checkAllFailed() bool {
	for _, sh := range s.shards() {
		if _, err := sh.failures(); s.isPartitioned() && errors.Is(err, loop.ErrShards) {
			s.running.once.Do(func() { close(s.running.allFailed) })
			return true
		}
	}
	for _, sh := range s.shards() {
		select {
		case <-sh.runtime.Up():
			return false
		default:
		}
		if n, err := sh.failures(); n == 0 || errors.Is(err, runner.ErrNoSpace) {
			return false
		}
	}
	s.running.once.Do(func() { close(s.running.allFailed) })
	return true
}

// whyAllFailed joins the last errors of all shards.
func (s *Server) whyAllFailed() error {
	if err := s.rebalancer.unusable.Load(); err != nil {
		return *err
	}
	var errs []error
	for _, sh := range s.shards() {
		_, err := sh.failures()
		if wrong, ok := errors.AsType[*store.Unusable](err); ok {
			err = wrong // what a store says beside that is for errors that pass
		}
		if err != nil {
			errs = append(errs, fmt.Errorf("profile %s: %w", sh.profile.name, err))
		}
	}
	return errors.Join(errs...)
}

// Listening is the addresses of a profile, and its store.
type Listening struct {
	Profile string
	UDP     netip.AddrPort // invalid if UDP is off
	HTTP    netip.AddrPort // also of WebSocket
	Secure  bool           // HTTP and WebSocket use TLS
	Domain  string         // the first domain; "" if none is configured
	Store   string
	Local   bool // this node has at least one of its shards
}

// Profiles returns the profiles that run, in the order of the configuration.
func (s *Server) Profiles() []Listening {
	var list []Listening
	for _, p := range s.profiles() {
		port := p.Port()
		n := Listening{
			Profile: p.name, HTTP: port.TCPAddr(), Secure: port.Secured(), Store: p.store.Name,
			Local: len(p.localShards()) > 0,
		}
		if _, on := p.Config().Network.UDPPort(); on {
			n.UDP = port.Addr()
		}
		if domains := p.Config().Network.Domains(); len(domains) > 0 {
			n.Domain = domains[0]
		}
		list = append(list, n)
	}
	return list
}

// JSONLog returns the log if its format is JSON, otherwise nil.
func (s *Server) JSONLog() *slog.Logger {
	if s.config().Server.LogFormat != "json" {
		return nil
	}
	return s.log
}

// WaitReady waits until every shard on this node has served players for the first time.
// In a cluster it first waits until every partition has a holder. Error: that of ctx.
func (s *Server) WaitReady(ctx context.Context) error {
	for s.isPartitioned() && !s.partitionOwners.AllOwned() && ctx.Err() == nil {
		sleep(ctx, servingPause)
	}
	for _, sh := range s.shards() {
		if sh.isRemote() {
			continue
		}
		select {
		case <-sh.runtime.Up():
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	return nil
}

// servingPause is the polling interval of WaitReady and WaitServing.
const servingPause = 20 * time.Millisecond

// WaitServing waits until players are served: after a handoff by all profiles that
// served them before it, after a start by at least one profile, while no other one is
// about to. A profile that cannot start, as without its database, is not waited for.
// Error: that of ctx.
func (s *Server) WaitServing(ctx context.Context) error {
	if s.Inherited() {
		return s.successor.AwaitServed(ctx, s.runtimes())
	}
	for tick := time.NewTicker(servingPause); ; {
		if s.serves() {
			tick.Stop()
			return nil
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			tick.Stop()
			return ctx.Err()
		}
	}
}

// serves reports whether a shard serves players and each other one does too, or is stuck. A node
// without a partition serves if the others have them all, and is stuck without the journal's database.
func (s *Server) serves() bool {
	any := false
	if s.isPartitioned() {
		if any = s.partitionOwners.AllOwned() || s.isStandby() && s.journalAway(); !any {
			return false
		}
	}
	for _, sh := range s.shards() {
		if sh.isRemote() {
			continue
		}
		select {
		case <-sh.runtime.Up():
			any = true
		default:
			if !sh.runtime.Stuck() {
				return false
			}
		}
	}
	return any
}

// changeTimeout is the longest time of a reload step that waits for no database.
const changeTimeout = 30 * time.Second

// extendChange sets the deadline of the next step of the change that is under way. Past it
// the server counts as not alive.
func (s *Server) extendChange(d time.Duration) {
	end := time.Now().Add(d)
	s.running.changeDeadline.Store(&end)
}

// endChange ends a change and unlocks running.changeMu.
func (s *Server) endChange() {
	s.running.changeDeadline.Store(nil)
	s.running.changeMu.Unlock()
	s.beatNow()
}

// changeHangs reports whether a change has passed its deadline.
func (s *Server) changeHangs() bool {
	end := s.running.changeDeadline.Load()
	return end != nil && time.Now().After(*end)
}

// Alive reports whether every loop answers within the given time, or is frozen for a
// handoff, and no reload or handoff hangs.
func (s *Server) Alive(ctx context.Context, within time.Duration) bool {
	if s.changeHangs() {
		return false
	}
	ctx, cancel := context.WithTimeout(ctx, within)
	defer cancel()
	for _, sh := range s.shards() {
		if !sh.runtime.Alive(ctx) {
			return false
		}
	}
	return true
}
