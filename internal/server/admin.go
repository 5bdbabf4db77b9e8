package server

import (
	"context"
	"errors"
	"fmt"
	"net"
	"path/filepath"
	"time"

	"wamble"
	"wamble/internal/admin"
	"wamble/internal/config"
	"wamble/internal/handoff"
	"wamble/internal/loop"
	"wamble/internal/observe"
	"wamble/internal/store"
	"wamble/internal/transport"
	"wamble/runner"
)

// openAdmin binds the admin listener.
func (s *Server) openAdmin() error {
	a, err := s.bindAdmin(s.o.Config)
	if err != nil {
		return err
	}
	s.running.admin = a
	s.closers = append(s.closers, func() error { return s.adminListener().Close() })
	return nil
}

// bindAdmin returns the admin listener of a configuration; nil if it is off.
func (s *Server) bindAdmin(c *config.Config) (*observe.Admin, error) {
	address := c.Server.AdminListen
	if address == "" {
		return nil, nil
	}
	o, err := s.adminOptions(c)
	if err != nil {
		return nil, err
	}
	l, err := s.listenAdmin(address)
	if err != nil {
		return nil, fmt.Errorf("the admin listener: %w\nSet admin-listen to another address, or to \"\" to do without",
			err)
	}
	return observe.NewAdmin(l.(*net.TCPListener), o), nil
}

func (s *Server) adminOptions(c *config.Config) (observe.AdminOptions, error) {
	token, err := observe.Token(s.tokenFile(c))
	owner := observe.Same(token)
	who := func(given string) (admin.Actor, bool) {
		if owner(given) {
			return admin.Owner, true
		}
		return s.host.Tokens.Who(given)
	}
	o := observe.AdminOptions{
		Address: c.Server.AdminListen, Knows: func(given string) bool { _, ok := who(given); return ok },
		Operates: func(given string) bool { actor, _ := who(given); return actor.Role >= admin.Operate },
		Ready:    s.readiness, Profiles: s.runtimes, Journal: s.runner, Version: s.o.Handoff.Version, Web: s.web,
		Pprof: c.Server.AdminPprof, Console: s.host.Console(who), Panicked: s.reportPanic,
	}
	if s.isPartitioned() {
		o.Profiles, o.Parts, o.Node = s.localRuntimes, s.localJournals, nodeName(c)
	}
	return o, err
}

// localRuntimes returns the runtimes of shards on this node, whose metrics it exports.
func (s *Server) localRuntimes() (list []*loop.Runtime) {
	for _, sh := range s.shards() {
		if !sh.isRemote() {
			list = append(list, sh.runtime)
		}
	}
	return list
}

// localJournals returns the partitions of the journal on this node, by index.
func (s *Server) localJournals() map[int]*runner.Runner {
	here := map[int]*runner.Runner{}
	for i := range s.partitionCount() {
		if p := s.partitionOf(i); p != nil {
			here[i] = p.runner
		}
	}
	return here
}

// tokenFile returns the file of the admin token, and whether it is the default one.
func (s *Server) tokenFile(c *config.Config) (file string, own bool) {
	if file := c.Server.AdminTokenFile; file != "" {
		return file, false
	}
	return filepath.Join(s.dir, "admin-token"), true
}

func (s *Server) adminListener() *observe.Admin {
	s.running.mu.RLock()
	defer s.running.mu.RUnlock()
	return s.running.admin
}

// Admin returns the address of the admin listener; "" if it is off.
func (s *Server) Admin() string {
	a := s.adminListener()
	if a == nil {
		return ""
	}
	return a.Listener.Addr().String()
}

// AdminToken returns the name of the file with the admin token.
func (s *Server) AdminToken() string {
	file, _ := s.tokenFile(s.o.Config)
	return file
}

// serveAdmin serves the admin listener until it is closed.
func (s *Server) serveAdmin(a *observe.Admin) {
	if a == nil {
		return
	}
	s.runBackground("the admin listener", func() {
		if err := a.Serve(); err != nil {
			s.log.Error("the admin listener has ended", "err", err)
		}
	})
}

// planAdmin returns the admin listener of a new configuration; nil if it is off. If the
// address is the same, it shares the socket of the old one.
func (s *Server) planAdmin(c *config.Config) (*observe.Admin, error) {
	old := s.adminListener()
	if old == nil || old.Address != c.Server.AdminListen {
		return s.bindAdmin(c)
	}
	o, err := s.adminOptions(c)
	if err != nil {
		return nil, err
	}
	return old.Renew(o)
}

// setAdmin serves the new admin listener and retires the old one.
func (s *Server) setAdmin(a *observe.Admin) {
	s.running.mu.Lock()
	old := s.running.admin
	s.running.admin = a
	s.running.mu.Unlock()
	s.serveAdmin(a)
	if old == nil {
		return
	}
	s.runBackground("an old admin listener", func() {
		ctx, cancel := context.WithTimeout(context.Background(), retireTimeout)
		defer cancel()
		old.Retire(ctx)
	})
}

// newHost makes the admin.Host that carries out the host's commands on this server.
func (s *Server) newHost() (*admin.Host, error) {
	everywhere, err := admin.ReadRestrictions(s.runner, &s.running.draining)
	if s.isPartitioned() {
		everywhere, err = admin.OpenSharedRestrictions(sharedRestrictions{s}, &s.running.draining)
	}
	if err != nil {
		return nil, err
	}
	var parts func() []admin.Partition
	if s.isPartitioned() {
		parts = s.hostPartitions
	}
	tokens, err := admin.ReadTokens(s.dir)
	return admin.New(admin.API{
		Dir: s.dir, Log: s.log, Runner: s.runner, Partitions: parts, Draining: &s.running.draining, Global: everywhere,
		Tokens: tokens, Serving: s.serving,
		RunningProfiles: s.hostProfiles, Status: s.Status, Cluster: s.clusterStatus, Reload: s.Reload,
		DryRunReload: s.dryRunReload, Options: s.effective, HandOff: s.handOffFor, DryRunHandoff: s.dryRunHandoff,
		EarlierResult: s.earlierResult, LogTail: s.logTail, ReportPanic: s.reportPanic, PinMessages: s.pinMessages,
		History: func(days bool) any {
			if days {
				return s.history.Days()
			}
			return s.history.Hour()
		},
		Counters: func(ctx context.Context) any { return observe.LookAt(ctx, s.runtimes()) },
	}), err
}

// hostPartitions returns the partitions of the journal and their holders, for commands.
func (s *Server) hostPartitions() []admin.Partition {
	list := make([]admin.Partition, s.partitionCount())
	for i := range list {
		if p := s.partitionOf(i); p != nil {
			list[i].Runner = p.runner
		}
		list[i].Node = s.partitionOwners.Owner(i).Node
	}
	return list
}

// RunAudited records a signal in the audit log and then calls do.
func (s *Server) RunAudited(signal, what string, do func() error) error {
	return s.host.RunAudited("signal "+signal, what, do)
}

// storeTimeout bounds a command's query to the store about a player.
const storeTimeout = 2 * time.Second

// maxStoredSessions is how many sessions of a player a command reads from the store.
const maxStoredSessions = 1000

// hostProfiles returns the profiles that run, for commands.
func (s *Server) hostProfiles() []admin.RunningProfile {
	var list []admin.RunningProfile
	for _, p := range s.profiles() {
		list = append(list, admin.RunningProfile{
			Name: p.name, Restrictions: p.restrictions, Tell: p.Tell,
			Present: func(ctx context.Context) int { return p.Figures(ctx).Gauges.LivePlayers },
			Stored: func(ctx context.Context, key wamble.PublicKey) (id wamble.PlayerID, sessions []wamble.Session,
				ok bool) {
				p.awaitApplied(ctx)
				ctx, cancel := context.WithTimeout(ctx, storeTimeout)
				defer cancel()
				player, err := p.store.Player(ctx, key)
				if player.Key == key { // not the player into whom they were merged
					id = player.ID
				}
				rows, _ := p.store.Sessions(ctx, key, maxStoredSessions) // an error is the same as no sessions
				return id, rows, !errors.Is(err, store.ErrNotFound)
			},
			Database: p.store.Name, Reader: p.store,
			Seek:   p.seekInMemory,
			Find:   p.find,
			Boards: p.findBoards,
		})
	}
	return list
}

// awaitApplied waits at most storeTimeout until the store has all that the profiles and shards that
// use it have decided.
func (p *Profile) awaitApplied(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, storeTimeout)
	defer cancel()
	_ = p.store.Registry.AwaitOthers(ctx, nil) // without the store the command goes on
}

// find looks for a player in memory and then in the store. It returns a zero Found if there
// is none.
func (p *Profile) find(ctx context.Context, n admin.Named) (found admin.Found, err error) {
	found = p.findInMemory(ctx, n)
	ctx, cancel := context.WithTimeout(ctx, storeTimeout)
	defer cancel()
	if found == (admin.Found{}) && !n.Key.IsZero() {
		player, err := p.store.Player(ctx, n.Key)
		return admin.Found{Key: player.Key}, ignoreNotFound(err)
	}
	var session wamble.Session
	if found == (admin.Found{}) && !n.Token.IsZero() {
		session, err = p.store.Session(ctx, n.Token)
		found.Session = session.ID
	}
	if found == (admin.Found{}) && n.Session != 0 {
		session, err = p.store.SessionByID(ctx, n.Session)
		found.Session = session.ID
	}
	if found == (admin.Found{}) && n.Handle != "" {
		session, err = p.store.SessionByHandle(ctx, n.Handle)
		found.Key = session.Key
	}
	return found, ignoreNotFound(err)
}

// ignoreNotFound returns err unless it is store.ErrNotFound.
func ignoreNotFound(err error) error {
	if errors.Is(err, store.ErrNotFound) {
		return nil
	}
	return err
}

// handOffFor hands over. The client that waits at the control socket or the console gets
// its answer from the next process.
func (s *Server) handOffFor(ctx context.Context, binary string, w admin.HandoffCaller) error {
	if w.Conn == nil {
		return s.handOff(ctx, binary, handoff.Report{Key: w.Key}, 1) // a request at the console whose connection HTTP keeps
	}
	report, err := transport.Duplicate(w.Conn)
	if err != nil {
		return err
	}
	return s.handOff(ctx, binary, handoff.Report{File: report, Web: w.Web, Key: w.Key}, 0)
}

// earlierResult returns the result of the handoff that started this process, if it was requested
// with that key; otherwise nil.
func (s *Server) earlierResult(ctx context.Context, key string) *handoff.Result {
	return s.successor.Repeated(ctx, key)
}

// openControl opens the control socket, or takes over the inherited one.
func (s *Server) openControl() error {
	c, err := s.host.OpenControl(s.inheritedControl())
	if err != nil {
		return err
	}
	s.control = c
	s.closers = append(s.closers, c.Close)
	return nil
}

// Examine checks for the doctor command whether a server could run well with a configuration
// and a data directory.
func Examine(ctx context.Context, c *config.Config, dir string) []admin.Finding {
	who := admin.DoctorOptions{Config: c, Dir: dir, Port: portOptions, Databases: databases}
	if usesSharedJournal(c) {
		who.Journal = func(ctx context.Context) (string, bool, error) { return DescribeJournal(ctx, c) }
	}
	return admin.Examine(ctx, who)
}

// databases opens the stores of profiles, for the doctor command.
func databases(profiles []*config.Profile, dir string) ([]admin.Database, error) {
	stores, err := OpenStores(profiles, dir)
	var list []admin.Database
	for _, s := range stores {
		list = append(list, admin.Database{Name: s.Name, File: s.File, Store: s})
	}
	return list, err
}
