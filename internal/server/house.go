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

// house is the mutable state of a Server: configuration, profiles, listeners.
type house struct {
	changing sync.Mutex // held while profiles are added, moved or removed

	closed bool // the server has been stopped; guarded by changing

	patience atomic.Pointer[time.Time] // deadline of the current step of a change; nil if none is under way

	draining atomic.Bool // new players are refused

	mu          sync.RWMutex // guards what follows
	config      *config.Config
	supervisors []*supervisor // in the order of the configuration
	departing   []*departure
	admin       *observe.Admin // nil if it is off
	redirects   []*redirector
	reloaded    *host.Reloaded // result of the last reload; nil before the first

	allFailed chan struct{} // closed by checkAllFailed
	once      sync.Once     // closes allFailed
}

// supervisor returns the supervisor of a running profile, or nil.
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

// config returns the configuration that is in effect.
func (s *Server) config() *config.Config {
	s.house.mu.RLock()
	defer s.house.mu.RUnlock()
	return s.house.config
}

// wanted returns the profiles of a configuration that this server shall run.
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

// openProfiles binds the sockets of all profiles and then opens their stores. It
// starts no loop.
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

// newSupervisor makes a supervisor for each shard of a profile and returns the first.
// Port is that of the first shard; nil for a profile that only drains its journal.
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

// isApart reports whether a profile runs on another database than db. Name may be
// that of a shard.
func (s *Server) isApart(name string, db *Shared) bool {
	of, _ := store.SplitName(name)
	k := s.supervisor(of)
	return k != nil && k.store.Registry != db.Registry
}

// newShard makes the supervisor of one shard. First is the supervisor of the first
// shard; nil if this is the first.
func (s *Server) newShard(cfg *config.Profile, shard wamble.Shard, port *transport.Port, db *Shared, restrictions *host.Restrictions, first *supervisor) *supervisor {
	log := s.log.With("profile", cfg.Name)
	if shard.Of > 1 {
		log = log.With("shard", shard.Index)
	}
	k := &supervisor{
		name: cfg.Name, shard: shard, log: log, store: db, dumps: &s.dumps,
		draining: &s.house.draining, restrictions: restrictions, neverUp: s.checkAllFailed, abroad: s.placing.abroad, stray: s.stray,
	}
	// The options of the shard's loop.
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
	// What the loop reports to the profile, whose supervisor is that of the first shard.
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
	// The journal, if this node holds the shard's partition.
	if p := s.partOf(shard.Index); p != nil {
		k.part.Store(p)
		j := p.journal()
		o.Runner, o.Owner, o.Shared, o.Holds, o.Ahead, o.Heal = j.Runner, j.Owner, j.Shared, j.Holds, j.Ahead, j.Heal
	}
	k.Runtime = loop.New(o)
	db.Registry.Join(k.Runtime)
	return k
}

// giveStore releases the store of a profile that has ended.
func (s *Server) giveStore(k *supervisor) error {
	for _, l := range k.loops() {
		k.store.Registry.Leave(l.Runtime)
	}
	return s.stores.give(k.store, k.name)
}

// tapeOf returns the file of a profile's recording: the file of Options.Record if one
// profile of one shard runs, otherwise one with the profile's name appended.
func (s *Server) tapeOf(profile string) string {
	if wanted, err := s.wanted(s.o.Config); s.o.Record == "" || err == nil && len(wanted) == 1 && wanted[0].Boards.Shards == 1 {
		return s.o.Record
	}
	return s.o.Record + "-" + profile
}

// closeProfiles closes the ports of all profiles and releases their stores.
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

// serveWeb serves HTTP and WebSocket on a port until the port is shut down.
func (s *Server) serveWeb(k *supervisor, port *transport.Port) {
	port.Measure(s.web.Socket(k.name))
	s.help("HTTP", func() {
		if err := port.Serve(s.web.Measure(k.name, k.strict(s.site(k))), k.caught); err != nil {
			k.log.Error("HTTP has ended", "err", err)
		}
	})
}

// restartDir returns the directory of restart files. It is "" if the journal is in
// PostgreSQL: a local file would be out of date after another node has held the journal.
func (s *Server) restartDir() string {
	if s.cluster.log != nil {
		return ""
	}
	return filepath.Join(s.dir, "restart")
}

// stop moves the partitions of a cluster to other nodes, and then ends all profiles
// concurrently and in order.
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

// leave ends all profiles of a server that has lost its journal. It does not drain to
// the database, because another node writes there by now.
func (s *Server) leave() { s.end(0) }

// end ends all profiles concurrently, and drains their journal for at most patience; 0
// drains nothing.
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
						l.absent.begin(l) // forwards packets until the port closes
					}
				}
				k.Shut(ctx, patience > 0)
			}, k.caught)
		})
	}
	stopping.Wait()
	s.endDepartures(ctx)
}

// checkAllFailed ends Run with an error when no profile could be started. A node of a
// cluster also ends if its number of shards differs from the cluster's: other nodes can
// serve the partitions that it has claimed.
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

// whyAllFailed joins the last errors of all shards.
func (s *Server) whyAllFailed() error {
	var errs []error
	for _, k := range s.loops() {
		if _, err := k.failures(); err != nil {
			errs = append(errs, fmt.Errorf("profile %s: %w", k.name, err))
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
	Here    bool // this node has at least one of its shards
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

// serves reports whether a shard serves players and each other one does too, or is stuck.
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

// changeTime is the longest time of a reload step that waits for no database.
const changeTime = 30 * time.Second

// expect sets the deadline of the next step of the change that is under way. Past it
// the server counts as not alive.
func (s *Server) expect(d time.Duration) {
	end := time.Now().Add(d)
	s.house.patience.Store(&end)
}

// changed ends a change and unlocks house.changing.
func (s *Server) changed() {
	s.house.patience.Store(nil)
	s.house.changing.Unlock()
}

// late reports whether a change has passed its deadline.
func (s *Server) late() bool {
	end := s.house.patience.Load()
	return end != nil && time.Now().After(*end)
}

// Alive reports whether every loop answers within the given time, or is frozen for a
// handoff, and no reload or handoff hangs.
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
