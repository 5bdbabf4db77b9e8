package server

import (
	"cmp"
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
	"wamble/internal/config"
	"wamble/internal/guard"
	"wamble/internal/host"
	"wamble/internal/journal"
	"wamble/internal/loop"
	"wamble/internal/observe"
	"wamble/internal/profile"
	"wamble/internal/store"
	"wamble/internal/tape"
	"wamble/internal/transport"
)

// house is what runs at present.
type house struct {
	changing sync.Mutex // held while profiles come, move or go

	closed bool // guarded by changing: the server has been stopped

	patience atomic.Pointer[time.Time] // when the change that is under way should have come further; nil: there is none

	draining atomic.Bool // nobody new is taken

	mu          sync.RWMutex // guards what follows
	config      *config.Config
	supervisors []*supervisor // in the order of the configuration
	departing   []*departure
	admin       *observe.Admin // nil: it is off
	redirects   []*redirector
	reloaded    *host.Reloaded // nil: not yet

	allFailed chan struct{}
	once      sync.Once // closes allFailed
}

// supervisor returns that of a profile that runs, or nil.
func (s *Server) supervisor(name string) *supervisor {
	for _, k := range s.supervisors() {
		if k.name == name {
			return k
		}
	}
	return nil
}

// supervisors returns the profiles that run, in the order of the configuration.
func (s *Server) supervisors() []*supervisor {
	s.house.mu.RLock()
	defer s.house.mu.RUnlock()
	return slices.Clone(s.house.supervisors)
}

// config is what the server runs with now.
func (s *Server) config() *config.Config {
	s.house.mu.RLock()
	defer s.house.mu.RUnlock()
	return s.house.config
}

// wanted returns the profiles of a configuration that are to run.
func (s *Server) wanted(c *config.Config) ([]*config.Profile, error) {
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

// openProfiles binds the sockets of all profiles, and then opens their stores.
// Nothing runs yet.
func (s *Server) openProfiles() error {
	s.house.allFailed = make(chan struct{})
	s.house.mu.Lock() // after a handoff the heartbeat reads what is here
	s.house.config = s.o.Config
	s.house.mu.Unlock()
	profiles, err := s.wanted(s.o.Config)
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
		k, err := s.newSupervisor(cfg, ports[cfg.Name])
		if err != nil {
			closePorts(ports)
			return err
		}
		delete(ports, cfg.Name)
		s.house.mu.Lock()
		s.house.supervisors = append(s.house.supervisors, k)
		s.house.mu.Unlock()
	}
	s.closeUnwanted(profiles)
	return nil
}

// closeUnwanted closes inherited sockets of profiles that do not run.
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

// newSupervisor makes the runtimes of a profile, with its store, on the first of its
// ports; nil: it serves nobody.
func (s *Server) newSupervisor(cfg *config.Profile, port *transport.Port) (*supervisor, error) {
	restrictions, err := s.host.Everywhere.Of(cfg.Name)
	if err != nil {
		return nil, &StartError{StartThreadError, cfg.Name, err}
	}
	db, err := s.stores.take(cfg)
	if err != nil {
		return nil, &StartError{StartThreadError, cfg.Name, err}
	}
	s.joinPort(cfg.Name, port)
	var first *supervisor
	for i := range cfg.Boards.Shards {
		k := s.newShard(cfg, wamble.Shard{Index: i, Of: cfg.Boards.Shards}, port, db, restrictions, first)
		if first == nil {
			first = k
		} else {
			first.siblings = append(first.siblings, k)
		}
	}
	return first, nil
}

// isApart reports whether a profile, or the one of a shard, is not known to have its games
// where a store is.
func (s *Server) isApart(name string, db *Shared) bool {
	of, _ := store.SplitName(name)
	k := s.supervisor(of)
	return k != nil && k.store.Registry != db.Registry
}

// newShard makes the runtime of one shard; first is that of the first, nil if this is
// it.
func (s *Server) newShard(cfg *config.Profile, shard wamble.Shard, port *transport.Port, db *Shared, restrictions *host.Restrictions, first *supervisor) *supervisor {
	log := s.log.With("profile", cfg.Name)
	if shard.Of > 1 {
		log = log.With("shard", shard.Index)
	}
	k := &supervisor{
		name: cfg.Name, shard: shard, log: log, store: db, dumps: &s.dumps,
		draining: &s.house.draining, restrictions: restrictions, neverUp: s.checkAllFailed, abroad: s.placing.abroad, stray: s.stray,
	}
	name := store.ShardName(cfg.Name, shard.Index)
	o := loop.Options{
		Name: name, Config: cfg, Shard: shard, Log: k.log, Runner: s.runner, Store: db, StoreName: db.Name, InProcess: db.File != "", Port: port,
		Keep: journal.KeepOptions{
			Dir: filepath.Join(s.dir, "kept"), Age: s.o.Config.Server.JournalKeep,
			Bytes: int64(s.o.Config.Server.JournalKeepSize) << 20, Needed: int64(s.o.Config.Server.RestartKeepSize) << 20,
		},
		RestartDir: s.restartDir(), Tracing: &s.traces.Tracing,
		Record: tape.Series{Name: s.tapeOf(name), Successor: s.o.Succession.Inheritance != nil},
		Clock:  s.o.Clock, Skew: s.o.Skew,
		TruePorts: s.withTruePorts, Standing: restrictions.Inputs, Reservations: s.stores.reservations,
		Registry: db.Registry, Apart: func(name string) bool { return s.isApart(name, db) },
	}
	if port != nil {
		o.Port = port.Shards()[shard.Index]
	}
	head := cmp.Or(first, k)
	head.events.Shards = shard.Of
	if o.Keep.Age == 0 {
		head.events.Expect(time.Now())
	}
	head.opening.totals.Grown = head.grown
	o.Finished = head.games.send
	o.Happened = func(after, through uint64, list []journal.Happened) { head.happened(shard.Index, after, through, list) }
	o.Observed, o.Remember = k.observing(head), s.placed()
	if shard.Of > 1 {
		o.Show = func(in *profile.Sights) { head.show(shard.Index, in) }
		o.Totals = &head.opening.totals
		o.Others = func() []*loop.Runtime { return head.others(shard.Index) }
		if s.junction != nil {
			o.Abroad = func(ctx context.Context, shards []int, in profile.Ask) (*profile.Told, error) {
				return s.junction.askBoard(ctx, cfg.Name, shards, in)
			}
		}
	}
	if p := s.partOf(shard.Index); p != nil {
		k.part.Store(p)
		j := p.journal()
		o.Runner, o.Owner, o.Shared, o.Holds, o.Ahead, o.Heal = j.Runner, j.Owner, j.Shared, j.Holds, j.Ahead, j.Heal
	}
	k.Runtime = loop.New(o)
	db.Registry.Join(k.Runtime)
	return k
}

// giveStore gives back the store of a profile that has ended.
func (s *Server) giveStore(k *supervisor) error {
	for _, l := range k.loops() {
		k.store.Registry.Leave(l.Runtime)
	}
	return s.stores.give(k.store, k.name)
}

// tapeOf is the file of a profile's recording.
func (s *Server) tapeOf(profile string) string {
	if wanted, err := s.wanted(s.o.Config); s.o.Record == "" || err == nil && len(wanted) == 1 && wanted[0].Boards.Shards == 1 {
		return s.o.Record
	}
	return s.o.Record + "-" + profile
}

// closeProfiles closes what is left of all profiles.
func (s *Server) closeProfiles() error {
	var errs []error
	for _, k := range s.supervisors() {
		for _, l := range k.loops() {
			l.absent.end()
			errs = append(errs, l.Port().Close())
		}
		errs = append(errs, s.giveStore(k))
	}
	s.house.mu.Lock()
	s.house.supervisors = nil
	s.house.mu.Unlock()
	return errors.Join(errs...)
}

// serveWeb answers HTTP and WebSocket on a port until that is shut down.
func (s *Server) serveWeb(k *supervisor, port *transport.Port) {
	port.Measure(s.web.Socket(k.name))
	s.help("HTTP", func() {
		if err := port.Serve(s.web.Measure(k.name, k.strict(s.site(k))), k.caught); err != nil {
			k.log.Error("HTTP has ended", "err", err)
		}
	})
}

// restartDir is where restart files are. A journal that moves to other machines has
// none: they would know no more than the machine that wrote them.
func (s *Server) restartDir() string {
	if s.cluster.log != nil {
		return ""
	}
	return filepath.Join(s.dir, "restart")
}

// stop ends all profiles in order, at the same time; before that the parts of a placed world
// go to other machines.
func (s *Server) stop() {
	began, patience := time.Now(), s.config().Server.ShutdownTimeout
	s.withdraw(patience)
	s.stopPlacing()
	if patience > 0 {
		patience = max(patience-time.Since(began), time.Second)
	}
	s.end(patience)
	s.stopLetters()
}

// leave ends all profiles of a server that has lost its journal: nothing is brought to
// the database, where another machine writes by now.
func (s *Server) leave() { s.end(0) }

func (s *Server) end(patience time.Duration) {
	s.cease()
	s.house.changing.Lock()
	defer s.changed()
	s.house.closed = true
	s.expect(patience + changeTime)
	ctx, cancel := context.WithTimeout(context.Background(), max(patience, time.Second))
	defer cancel()
	var stopping sync.WaitGroup
	for _, k := range s.supervisors() {
		stopping.Go(func() {
			guard.Run("the end of a profile", func() {
				k.stop()
				for _, l := range k.loops() {
					if l.isAway() {
						l.absent.begin(l) // its players are served through this machine until the port closes
					}
				}
				k.Shut(ctx, patience > 0)
			}, k.caught)
		})
	}
	stopping.Wait()
	s.endDepartures(ctx)
}

// checkAllFailed ends Run when no profile could be started: whoever started the
// process is to know. Where machines share a world, so does one that finds it with another
// number of shards: others can serve what it has claimed.
func (s *Server) checkAllFailed() {
	for _, k := range s.loops() {
		if _, err := k.failures(); s.placed() && errors.Is(err, loop.ErrShards) {
			s.house.once.Do(func() { close(s.house.allFailed) })
			return
		}
	}
	for _, k := range s.loops() {
		select {
		case <-k.Up():
			return
		default:
		}
		if n, _ := k.failures(); n == 0 {
			return
		}
	}
	s.house.once.Do(func() { close(s.house.allFailed) })
}

func (s *Server) whyAllFailed() error {
	var errs []error
	for _, k := range s.loops() {
		if _, err := k.failures(); err != nil {
			errs = append(errs, fmt.Errorf("profile %s: %w", k.name, err))
		}
	}
	return errors.Join(errs...)
}

// Listening is where a profile is reached, and where its games are.
type Listening struct {
	Profile string
	UDP     netip.AddrPort // not valid: it is off
	HTTP    netip.AddrPort // and WebSocket
	Secure  bool           // they are encrypted
	Domain  string         // "": none
	Store   string
	Here    bool // this machine has a part of it
}

// Profiles returns the profiles that run, in the order of the configuration.
func (s *Server) Profiles() []Listening {
	var list []Listening
	for _, k := range s.supervisors() {
		p := k.Port()
		n := Listening{Profile: k.name, HTTP: p.TCPAddr(), Secure: p.Secured(), Store: k.store.Name, Here: len(k.here()) > 0}
		if _, on := k.Config().Network.UDPPort(); on {
			n.UDP = p.Addr()
		}
		if domains := k.Config().Network.Domains(); len(domains) > 0 {
			n.Domain = domains[0]
		}
		list = append(list, n)
	}
	return list
}

// JSONLog is the log if it is for machines; nil otherwise.
func (s *Server) JSONLog() *slog.Logger {
	if s.config().Server.LogFormat != "json" {
		return nil
	}
	return s.log
}

// WaitReady waits until every profile has served players for the first time, or
// ctx ends; where parts come and go, as far as it is here.
func (s *Server) WaitReady(ctx context.Context) error {
	for s.placed() && !s.places.known() && ctx.Err() == nil {
		wait(ctx, servingPause)
	}
	for _, k := range s.loops() {
		if k.isAway() {
			continue
		}
		select {
		case <-k.Up():
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	return nil
}

// servingPause is how often WaitServing looks.
const servingPause = 20 * time.Millisecond

// WaitServing waits until players are served, or ctx ends: after a handoff by all
// profiles that served them before, after a start by all but those that could not
// start, and by one at least. Nobody waits for a database that is away.
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

// serves reports whether a profile serves players and no other one is about to for
// the first time.
func (s *Server) serves() bool {
	any := false
	if s.placed() {
		if any = s.places.known(); !any {
			return false
		}
	}
	for _, k := range s.loops() {
		if k.isAway() {
			continue
		}
		select {
		case <-k.Up():
			any = true
		default:
			if !k.Stuck() {
				return false
			}
		}
	}
	return any
}

// changeTime is how long a step of a reload may take that waits for no database.
const changeTime = 30 * time.Second

// expect says how long the next step of the change that is under way may take.
// Whoever is late is not alive.
func (s *Server) expect(d time.Duration) {
	end := time.Now().Add(d)
	s.house.patience.Store(&end)
}

// changed ends a change.
func (s *Server) changed() {
	s.house.patience.Store(nil)
	s.house.changing.Unlock()
}

// late reports whether a reload or a handoff hangs.
func (s *Server) late() bool {
	end := s.house.patience.Load()
	return end != nil && time.Now().After(*end)
}

// Alive reports whether all loops turn: each must answer within the given time,
// unless it is frozen for a handoff. Nor may a reload or a handoff hang.
func (s *Server) Alive(ctx context.Context, within time.Duration) bool {
	if s.late() {
		return false
	}
	ctx, cancel := context.WithTimeout(ctx, within)
	defer cancel()
	for _, k := range s.loops() {
		if !k.Alive(ctx) {
			return false
		}
	}
	return true
}
