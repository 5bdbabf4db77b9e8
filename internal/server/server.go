package server

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/netip"
	"path/filepath"
	"sync"
	"time"

	"wamble/internal/config"
	"wamble/internal/persist"
	"wamble/internal/transport"
	"wamble/runner"
)

// JournalSchema is the version of what a server keeps in its journal.
var JournalSchema = persist.Schema

// Options is what a server is started with.
type Options struct {
	Config *config.Config
	// Profile names the profile to run; "" is the first that runs.
	Profile string
	// Dir is the data directory; it is made if it is missing.
	Dir string
	// Log takes what a host should know; nil is silence.
	Log *slog.Logger
	// Record is a file that does not exist yet, for a recording of everything
	// that the profile is told; "" is none.
	Record string
	// Storage replaces the journal's directory, in tests.
	Storage runner.Storage
}

// Server is a process that serves players: one journal, and the profiles that
// run over it.
type Server struct {
	o       Options
	dir     string
	log     *slog.Logger
	started time.Time
	runner  *runner.Runner
	stores  []*Shared
	runtime *runtime
	web     *http.Server // of the admin listener
	admin   net.Listener // nil if it is off
	control net.Listener
	healing sync.Mutex
	closers []func() error // in the order of opening
}

// Open makes the data directory, opens the journal in it and binds all sockets.
// The journal's lock keeps a second server out. Nobody is served before Run.
func Open(o Options) (*Server, error) {
	s := &Server{o: o, dir: o.Dir, log: o.Log, started: time.Now()}
	if s.log == nil {
		s.log = slog.New(slog.DiscardHandler)
	}
	for _, open := range []func() error{s.openJournal, s.openRuntime, s.openAdmin, s.openControl} {
		if err := open(); err != nil {
			s.Close()
			return nil, err
		}
	}
	return s, nil
}

// Close gives everything back. Run does it by itself.
func (s *Server) Close() error {
	var errs []error
	for len(s.closers) > 0 {
		last := len(s.closers) - 1
		errs = append(errs, s.closers[last]())
		s.closers = s.closers[:last]
	}
	return errors.Join(errs...)
}

// JournalDir returns the directory of the journal in a data directory.
func JournalDir(dataDir string) string { return filepath.Join(dataDir, "journal") }

func (s *Server) openJournal() error {
	if err := MakeDataDir(s.dir); err != nil {
		return err
	}
	c := &s.o.Config.Server
	o := runner.Options{Schema: JournalSchema, Create: true, MinFree: int64(c.DiskReserve) << 20, Storage: s.o.Storage}
	if c.DiskReserve == 0 {
		o.MinFree = -1
	}
	if c.Durability == "write" {
		o.Durability = runner.Write
	}
	r, err := runner.Open(JournalDir(s.dir), o)
	if errors.Is(err, runner.ErrLocked) {
		return fmt.Errorf("another server uses %s; 'wamble status --data %s' asks it", s.dir, s.dir)
	}
	if err != nil {
		return fmt.Errorf("open the journal: %w", err)
	}
	s.runner = r
	s.closers = append(s.closers, r.Close)
	return nil
}

// choose returns the profile to run.
func (s *Server) choose() (*config.Profile, error) {
	running := s.o.Config.Running()
	if s.o.Profile == "" {
		return running[0], nil
	}
	for _, p := range running {
		if p.Name == s.o.Profile {
			return p, nil
		}
	}
	if s.o.Profile == config.DefaultName {
		return s.o.Config.Default, nil
	}
	return nil, fmt.Errorf("there is no profile %q that runs; 'wamble config show' lists them", s.o.Profile)
}

func (s *Server) openRuntime() error {
	cfg, err := s.choose()
	if err != nil {
		return err
	}
	if s.stores, err = OpenStores([]*config.Profile{cfg}, s.dir); err != nil {
		return err
	}
	s.closers = append(s.closers, s.stores[0].Close)
	port, err := transport.Listen(portOptions(cfg))
	if err != nil {
		return fmt.Errorf("profile %s: %w", cfg.Name, err)
	}
	s.closers = append(s.closers, port.Close)
	s.runtime = &runtime{
		cfg: cfg, log: s.log.With("profile", cfg.Name), heal: s.heal, runner: s.runner,
		store: s.stores[0], port: port, stage: newStage(), tape: tape{file: s.o.Record},
	}
	s.runtime.watch = newStorewatch(s.runtime)
	s.runtime.pace.Store, s.runtime.pace.lag = s.stores[0], s.runtime.lag
	return nil
}

// portOptions says where a profile listens, and with which limits. HTTP and
// WebSocket share one listener; config has seen to it that they name one port.
func portOptions(cfg *config.Profile) transport.Options {
	n := &cfg.Network
	o := transport.Options{
		Address: n.Address(n.Port),
		UDP:     transport.UDPOptions{Buffer: n.BufferSize},
		HTTP:    transport.HTTPOptions{Max: n.HTTPMaxConnections, MaxHost: n.HTTPMaxPerIP},
		WebSocket: transport.GatewayOptions{
			Path: n.WebSocketPath, Origins: n.Origins(), Max: n.HTTPMaxConnections, MaxHost: n.HTTPMaxPerIP,
		},
	}
	web, hasWeb := n.HTTP()
	socket, hasSocket := n.WebSocket()
	o.WebSocket.Off = !hasSocket
	switch {
	case hasWeb:
		o.TCPPort = uint16(web)
	case hasSocket:
		o.TCPPort = uint16(socket)
	}
	return o
}

// Addresses are where a server listens.
type Addresses struct {
	UDP   netip.AddrPort
	HTTP  netip.AddrPort // and WebSocket
	Admin string         // "" if it is off
}

// Addresses returns where the server listens.
func (s *Server) Addresses() Addresses {
	a := Addresses{UDP: s.runtime.port.Addr(), HTTP: s.runtime.port.TCPAddr()}
	if s.admin != nil {
		a.Admin = s.admin.Addr().String()
	}
	return a
}

// Store names the database, for people.
func (s *Server) Store() string { return s.stores[0].Name }

// Profile returns the name of the profile that runs.
func (s *Server) Profile() string { return s.runtime.cfg.Name }

// Ready is closed when the server has served players for the first time.
func (s *Server) Ready() <-chan struct{} { return s.runtime.stage.upped }

// Run serves until ctx ends, then stops in order and returns nil; or until it
// cannot go on, and returns why. The server is closed afterwards.
func (s *Server) Run(ctx context.Context) error {
	var helpers sync.WaitGroup
	helpers.Go(func() {
		if err := s.runtime.port.Serve(s.site()); err != nil {
			s.log.Error("HTTP has ended", "err", err)
		}
	})
	if s.admin != nil {
		helpers.Go(func() { s.web.Serve(s.admin) })
	}
	helpers.Go(s.serveControl)
	err := s.runtime.run(ctx, s.o.Config.Server.ShutdownTimeout)
	err = errors.Join(err, s.Close())
	helpers.Wait()
	return err
}

// heal makes the journal work again after a failure, or says why it does not.
func (s *Server) heal(ctx context.Context) error {
	s.healing.Lock()
	defer s.healing.Unlock()
	if s.runner.State() == runner.Failed {
		if err := s.runner.Reopen(); err != nil {
			return err
		}
	}
	// Only a write tells whether there is room.
	_, err := s.runner.Update(ctx, runner.AttemptPolicy{}, func(tx *runner.Tx) error {
		return tx.Put([]byte("server/alive"), []byte{1})
	})
	return err
}

// NewLog returns a log in the format and at the level of a configuration.
func NewLog(w io.Writer, c *config.Config, profile *config.Profile) *slog.Logger {
	o := &slog.HandlerOptions{Level: levels[profile.Standing.LogLevel]}
	if c.Server.LogFormat == "json" {
		return slog.New(slog.NewJSONHandler(w, o))
	}
	return slog.New(slog.NewTextHandler(w, o))
}

// levels are the words of log-level. Nothing is logged above error, so fatal is
// silence.
var levels = map[string]slog.Level{
	"fatal": slog.LevelError + 1, "error": slog.LevelError, "warn": slog.LevelWarn,
	"info": slog.LevelInfo, "debug": slog.LevelDebug,
}
