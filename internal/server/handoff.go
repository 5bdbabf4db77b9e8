package server

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net"
	"net/netip"
	"os"
	"slices"
	"sync"
	"syscall"
	"time"

	"wamble/internal/admin"
	"wamble/internal/cluster"
	"wamble/internal/config"
	"wamble/internal/guard"
	"wamble/internal/handoff"
	"wamble/internal/loop"
	"wamble/internal/transport"
	"wamble/runner"
)

// HandoffOptions has the parameters of a handoff, in which this process executes a new binary.
type HandoffOptions struct {
	// Binary is the file to execute unless a command names another. Args are the
	// arguments of this process, its name first.
	Binary string
	Args   []string
	// Version is the version of this binary.
	Version string
	// Inheritance is what the process had before the exec; nil after a normal start.
	Inheritance *handoff.Inheritance
	// Listen makes this process listen to SIGHUP and SIGUSR2 again, which an exec
	// that failed has left ignored; it may be nil.
	Listen func()
}

// HandOff executes a new binary, and returns only if that fails; then the server goes on as
// before. Report is a connection that the new binary answers, or nil. Errors:
// *handoff.ExportError, or the reason why the binary refuses. The order of a handoff is in
// handoff/leave.go.
func (s *Server) HandOff(ctx context.Context, binary string, report *os.File) error {
	return s.handOff(ctx, binary, handoff.Report{File: report}, 0)
}

// handOff is HandOff. Asked is the number of requests at the admin listener that wait for it.
func (s *Server) handOff(ctx context.Context, binary string, report handoff.Report, asked int) error {
	if report.File != nil {
		defer report.File.Close()
	}
	if !s.tryBeginChange(ctx) {
		return handoff.NotReady("a reload or another handoff is under way")
	}
	defer s.endChange()
	s.extendChange(handoff.LongestTime)
	s.beatNow()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(s.serving, cancel)() // a stop cancels the handoff
	s.warn(s.history.Save())
	err := handoff.Leave(ctx, s.handoffProcess(binary, asked, report.Web), report)
	s.log.Error("the server goes on: no handoff", "err", err)
	return err
}

// partitionsTimeout is how long a handoff waits for partitions that are being claimed or released.
const partitionsTimeout = 5 * time.Second

// tryBeginChange locks running.changeMu, and reports whether it did: a reload or a handoff may be
// under way. It first waits for partitions that are being claimed or released.
func (s *Server) tryBeginChange(ctx context.Context) bool {
	for end := time.Now().Add(partitionsTimeout); ; sleep(ctx, 10*time.Millisecond) {
		begun := s.running.changeMu.TryLock()
		switch {
		case begun && !s.partitionsMoving():
			return true
		case !begun && s.changing(), ctx.Err() != nil, time.Now().After(end):
			return begun
		case begun:
			s.running.changeMu.Unlock()
		}
	}
}

// partitionsMoving reports whether a partition is being claimed or released, or has a shard that
// does not serve players yet.
func (s *Server) partitionsMoving() bool {
	return s.isPartitioned() &&
		(s.rebalancer.workerCount.Load() > 0 || slices.ContainsFunc(s.shards(), func(sh *Shard) bool {
			up, _ := sh.runtime.Stage()
			return !sh.isRemote() && !up && !sh.runtime.Stuck()
		}))
}

// dryRunHandoff returns what a handoff would do, or why it would fail. It changes nothing.
func (s *Server) dryRunHandoff(ctx context.Context, binary string) (handoff.Result, error) {
	if !s.tryBeginChange(ctx) {
		return handoff.Result{}, handoff.NotReady("a reload or another handoff is under way")
	}
	defer s.endChange()
	s.extendChange(handoff.LongestTime)
	l := s.handoffProcess(binary, 0, false)
	v, err := handoff.Rehearse(ctx, l)
	if err != nil {
		return handoff.Result{}, err
	}
	r := handoff.Result{At: time.Now(), PID: os.Getpid(), From: l.Version, To: v.Version, Preview: []string{}}
	if c, err := s.readConfig(); err != nil {
		r.Preview = append(r.Preview,
			"the running binary cannot read the configuration, and compares nothing: "+err.Error())
	} else {
		for _, change := range config.Diff(s.config(), c) {
			r.Preview = append(r.Preview, change.String())
		}
	}
	for _, m := range v.Migrations {
		r.Preview = append(r.Preview, m.String())
	}
	r.Preview = append(r.Preview, v.Notes...)
	for _, p := range s.profiles() {
		if up, why := p.Stage(); !up {
			r.Preview = append(r.Preview, fmt.Sprintf("profile %s does not serve players now: %s", p.name, why))
		}
	}
	return r, nil
}

// handoffProcess returns this server as package handoff needs it. Asked is the number of requests
// at the admin listener that wait for the handoff. Web says that its result is reported to
// the console.
func (s *Server) handoffProcess(binary string, asked int, web bool) *handoff.Process {
	if binary == "" {
		binary = s.o.Handoff.Binary
	}
	talks := 0 // slots of the control socket that Pause has taken
	return &handoff.Process{
		Binary: binary, Args: s.o.Handoff.Args, Version: s.o.Handoff.Version, StateDir: StateDir(s.config(), s.dir),
		Log: s.log, Runners: s.runners(), Profiles: s.runtimes(), Placed: s.isPartitioned(), Listeners: s.listeners(),
		CheckVerdict: func(v handoff.Verdict) error {
			return errors.Join(s.sameStores(v.Stores), s.sameJournal(v.Journal), s.sameShards(v.Shards), s.canListen(v))
		},
		Pause: func(ctx context.Context, reporting bool) {
			s.receivedNotes.SetPaused(true)
			others := admin.ControlConns
			if reporting && !web {
				others-- // one connection waits for this handoff
			}
			talks = s.control.Pause(ctx, others)
			s.pauseHTTP(ctx, asked)
			s.rebalancer.peers.FlushWithin(context.WithoutCancel(ctx), cluster.FlushTimeout)
		},
		Resume: func() {
			s.receivedNotes.SetPaused(false)
			s.rebalancer.peers.SetPaused(false)
			s.resumeHTTP()
			s.control.Resume(talks)
		},
		Draining: s.running.draining.Load, PeerState: s.handOverMessages, Listen: s.o.Handoff.Listen,
	}
}

// runners returns the runner of the journal, and those of the partitions on this node.
func (s *Server) runners() []*runner.Runner {
	list := []*runner.Runner{s.runner}
	s.rebalancer.mu.Lock()
	defer s.rebalancer.mu.Unlock()
	for _, p := range s.rebalancer.partitions {
		if p != nil {
			list = append(list, p.runner)
		}
	}
	return list
}

// runtimes returns the runtimes of all shards.
func (s *Server) runtimes() []*loop.Runtime {
	var list []*loop.Runtime
	for _, sh := range s.shards() {
		list = append(list, sh.runtime)
	}
	return list
}

// listeners returns the listeners that belong to no profile, by their names in a handoff.
func (s *Server) listeners() map[string]syscall.Conn {
	of := map[string]syscall.Conn{}
	if s.control != nil {
		of[handoff.Control] = s.control
	}
	if admin := s.adminListener(); admin != nil {
		of[handoff.Admin] = admin.Listener
	}
	for i, r := range s.redirectors() {
		of[redirectName(i)] = r.listener
	}
	return of
}

// pauseHTTP waits until no HTTP request is under way, except the asked ones at the admin
// listener, and holds new ones back.
func (s *Server) pauseHTTP(ctx context.Context, asked int) {
	var all sync.WaitGroup
	if admin := s.adminListener(); admin != nil {
		all.Go(func() { guard.Run("a pause", func() { admin.Pause(ctx, asked) }, s.reportPanic) })
	}
	for _, r := range s.redirectors() {
		all.Go(func() { guard.Run("a pause", func() { r.Pause(ctx, 0) }, s.reportPanic) })
	}
	for _, p := range s.profiles() {
		all.Go(func() {
			guard.Run("a pause", func() {
				p.gamesChanged.stop(true)
				p.setBots(false)    // the next process starts its own
				p.events.Stop(true) // the drain is paused: readers get all that there is
				p.Port().Pause(ctx)
			}, p.reportPanic)
		})
	}
	all.Wait()
}

// resumeHTTP undoes pauseHTTP.
func (s *Server) resumeHTTP() {
	for _, p := range s.profiles() {
		p.gamesChanged.stop(false)
		p.setBots(true)
		p.events.Stop(false)
		p.Port().Resume()
	}
	if admin := s.adminListener(); admin != nil {
		admin.Resume()
	}
	for _, r := range s.redirectors() {
		r.Resume()
	}
}

// canListen refuses a handoff if the next process would need a socket that it neither
// inherits nor can bind. It is checked by trying to bind the socket now.
func (s *Server) canListen(v handoff.Verdict) error {
	for _, want := range v.Listeners {
		if s.inherits(want) {
			continue
		}
		port, err := transport.Listen(transport.Options{Address: netip.AddrPortFrom(want.Address, want.UDP),
			TCPPort: want.TCP, UDP: transport.UDPOptions{Off: want.NoUDP}})
		if err != nil {
			return handoff.NotReady("profile %s cannot be bound: %w; if another profile has the port, let 'wamble reload' do that first", want.Profile, err)
		}
		port.Close()
	}
	if admin := s.adminListener(); v.Admin == "" || admin != nil && listensAt(admin.Listener, v.Admin) {
		return nil
	}
	l, err := net.Listen("tcp", v.Admin)
	if err != nil {
		return handoff.NotReady("the admin listener cannot be bound: %w", err)
	}
	l.Close()
	return nil
}

// inherits reports whether a running profile has the sockets that a profile of the next
// process wants: the one of the same name, or any one with these ports.
func (s *Server) inherits(want handoff.Listener) bool {
	fits := func(got, wanted uint16) bool { return got == wanted || wanted == 0 }
	for _, p := range s.profiles() {
		if p.name != want.Profile && (want.UDP == 0 || want.TCP == 0) {
			continue
		}
		udp, _ := socketAddresses(p.Config())
		port := p.Port()
		if udp.address == want.Address && fits(port.Addr().Port(), want.UDP) && fits(port.TCPAddr().Port(), want.TCP) {
			return true
		}
	}
	return false
}

// listensAt reports whether a listener is bound to an address. Port 0 fits any listener.
func listensAt(l net.Listener, address string) bool {
	_, port, err := net.SplitHostPort(address)
	return l.Addr().String() == address || err == nil && port == "0"
}

// sameJournal refuses a handoff that changes where the journal is kept: its messages would
// be left behind.
func (s *Server) sameJournal(next string) error {
	if now := journalLocation(s.o.Config); next != "" && next != now {
		return handoff.NotReady("the journal would move from %s to %s: stop the server and start it for that", now,
			next)
	}
	return nil
}

// sameShards refuses a handoff that changes a profile's number of shards.
func (s *Server) sameShards(next map[string]int) error {
	for _, p := range s.profiles() {
		if n, ok := next[p.name]; max(n, 1) != p.Config().Boards.Shards && (ok || next == nil) {
			return handoff.NotReady("profile %s would have %d shards instead of %d: stop the server for that, and see 'wamble help shards'", p.name, max(n, 1), p.Config().Boards.Shards)
		}
	}
	return nil
}

// sameStores refuses a handoff that changes a profile's store: what was decided for one
// store must not be drained to another.
func (s *Server) sameStores(next map[string]string) error {
	now := map[string]string{}
	for _, p := range s.profiles() {
		now[p.name] = p.store.Name
	}
	for name, store := range maps.All(now) {
		if other, stays := next[name]; stays && other != store {
			return handoff.NotReady("profile %s would move from %s to %s: let 'wamble reload' do that first", name,
				store, other)
		}
	}
	return nil
}
