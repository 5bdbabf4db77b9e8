package server

import (
	"context"
	"fmt"
	"net"
	"path/filepath"

	"wamble/internal/config"
	"wamble/internal/host"
	"wamble/internal/loop"
	"wamble/internal/observe"
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
		return nil, fmt.Errorf("the admin listener: %w\nSet admin-listen to another address, or to \"\" to do without", err)
	}
	return observe.NewAdmin(l.(*net.TCPListener), o), nil
}

func (s *Server) adminOptions(c *config.Config) (observe.AdminOptions, error) {
	token, err := observe.Token(s.tokenFile(c))
	owner := observe.Same(token)
	who := func(given string) (host.Actor, bool) {
		if owner(given) {
			return host.Owner, true
		}
		return s.host.Tokens.Who(given)
	}
	o := observe.AdminOptions{
		Address: c.Server.AdminListen, Knows: func(given string) bool { _, ok := who(given); return ok },
		Ready: s.readiness, Profiles: s.runtimes, Journal: s.runner, Version: s.o.Handoff.Version, Web: s.web, Pprof: c.Server.AdminPprof, Console: s.host.Console(who), Panicked: s.reportPanic,
	}
	if s.isPartitioned() {
		o.Profiles, o.Parts, o.Node = s.localRuntimes, s.localJournals, nodeName(c)
	}
	return o, err
}

// localRuntimes returns the runtimes of shards on this node, whose metrics it exports.
func (s *Server) localRuntimes() (list []*loop.Runtime) {
	for _, l := range s.shards() {
		if !l.isRemote() {
			list = append(list, l.Runtime)
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
