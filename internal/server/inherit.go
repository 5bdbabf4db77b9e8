package server

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"slices"
	"time"

	"wamble/internal/handoff"
	"wamble/internal/host"
	"wamble/internal/store"
)

// Inherited reports whether this process was started by a handoff.
func (s *Server) Inherited() bool { return s.o.Handoff.Inheritance != nil }

// Serve opens a server and runs it until it stops or hands over by exec. A server that lost
// its journal to another node is opened again, as a standby. Load returns the options of the
// server, and run calls Run on it.
func Serve(load func() (Options, error), run func(s *Server) error) error {
	return handoff.Serve(handoff.Program{
		Check: func() (handoff.Verdict, error) {
			o, err := load()
			if err != nil {
				return handoff.Verdict{}, err
			}
			return Check(context.Background(), o)
		},
		Open: func(h *handoff.Inheritance) (func() error, error) {
			s, err := openProcess(load, h)
			return func() error {
				for {
					err := run(s)
					if !errors.Is(err, ErrDeposed) {
						return err
					}
					if s, err = openProcess(load, nil); err != nil { // waits as a standby
						return err
					}
				}
			}, err
		},
	})
}

// openProcess loads the options and opens a server with an inheritance, or nil.
func openProcess(load func() (Options, error), h *handoff.Inheritance) (*Server, error) {
	began := time.Now()
	o, err := load()
	if err != nil {
		return nil, err
	}
	o.Handoff.Args, o.Handoff.Inheritance, o.Instance = os.Args, h, instance()
	if o.Handoff.Binary == "" {
		if o.Handoff.Binary, err = os.Executable(); err != nil {
			return nil, fmt.Errorf("find the binary of this process: %w", err)
		}
	}
	h.Lap("config", began)
	return Open(o)
}

// beginInheriting takes over the sockets of the process before a handoff, and begins to
// read its states while the journal is opened. After a normal start it removes state files
// of an interrupted handoff.
func (s *Server) beginInheriting() error {
	h := s.o.Handoff.Inheritance
	if h == nil {
		s.successor = handoff.Begin(nil, nil)
		if n, err := handoff.Sweep(StateDir(s.o.Config, s.dir)); n > 0 || err != nil {
			s.log.Warn("state files of an interrupted handoff were removed", "files", n, "err", err)
		}
		return nil
	}
	profiles, err := s.wantedProfiles(s.o.Config)
	if err != nil {
		return err
	}
	s.running.draining.Store(h.Note.Draining)
	s.successor = handoff.Begin(h, profiles)
	s.o.Inherited = map[string]Sockets{}
	for _, cfg := range profiles {
		udp, tcp := socketAddresses(cfg)
		if u, t := h.Pair(cfg.Name, udp.port, tcp.port); u != nil {
			s.o.Inherited[cfg.Name] = Sockets{UDP: u, TCP: t, Siblings: h.Siblings(cfg.Name, cfg.Boards.Shards)}
		}
	}
	return nil
}

// endInheriting gives the inherited states to the shards.
func (s *Server) endInheriting() error { return s.successor.Adopt(s.runtimes()) }

// inheritedControl returns the inherited control socket; nil if there is none, or it is at
// another path.
func (s *Server) inheritedControl() *net.UnixListener {
	l := s.o.Handoff.Inheritance.Listener(handoff.Control)
	if l == nil {
		return nil
	}
	unix, ok := l.(*net.UnixListener)
	if !ok || unix.Addr().String() != host.ControlPath(s.dir) {
		l.Close()
		return nil
	}
	return unix // an inherited socket is not unlinked when it is closed
}

// listenAdmin returns the inherited admin listener if it has the address, otherwise binds
// one.
func (s *Server) listenAdmin(address string) (net.Listener, error) {
	if l := s.o.Handoff.Inheritance.Listener(handoff.Admin); l != nil {
		if listensAt(l, address) {
			return l, nil
		}
		l.Close()
	}
	return net.Listen("tcp", address)
}

// answerHandoff writes the result of a handoff to the client that asked for it: at the
// console if web is set, otherwise at the control socket.
func answerHandoff(to io.Writer, web bool, r *handoff.Result) {
	var err error
	if r.Failure != "" {
		err = errors.New("the new image could not take over, the old one serves again: " + r.Failure)
	}
	if web {
		host.AnswerWeb(to, r, err)
		return
	}
	host.Answer(to, r, err)
}

// Check reports whether a server with these options could take over from the running one:
// its configuration is valid, and it knows or can migrate the schemas of its stores. It only
// reads. A store that does not answer is noted, and is no error. Whether the listeners can
// be bound is checked by the running server, which has the sockets (canListen).
func Check(ctx context.Context, o Options) (handoff.Verdict, error) {
	v := handoff.Verdict{Version: o.Handoff.Version, Stores: map[string]string{}, Shards: map[string]int{}}
	s := &Server{o: o}
	profiles, err := s.wantedProfiles(o.Config)
	if err == nil {
		err = conflicts(profiles)
	}
	if err == nil {
		err = s.checkCertificates(o.Config)
	}
	if err != nil {
		return v, err
	}
	for _, cfg := range profiles {
		v.Shards[cfg.Name] = cfg.Boards.Shards
		udp, tcp := socketAddresses(cfg)
		v.Listeners = append(v.Listeners, handoff.Listener{Profile: cfg.Name, Address: udp.address, UDP: udp.port, NoUDP: !cfg.Network.UDPEnabled, TCP: tcp.port})
	}
	v.Admin, v.Journal = o.Config.Server.AdminListen, journalLocation(o.Config)
	stores, err := OpenStores(profiles, o.Dir)
	if err != nil {
		return v, err
	}
	defer CloseStores(stores)
	for _, db := range stores {
		for _, name := range db.Profiles {
			v.Stores[name] = db.Name
		}
		if err := db.addMigrations(ctx, &v); err != nil {
			return v, err
		}
	}
	return v, nil
}

// addMigrations adds the pending migrations of a store to a verdict.
func (s *SharedStore) addMigrations(ctx context.Context, v *handoff.Verdict) error {
	if s.File != "" {
		if _, err := os.Stat(s.File); errors.Is(err, os.ErrNotExist) {
			v.Notes = append(v.Notes, s.Name+" is made")
			return nil
		}
	}
	ctx, cancel := context.WithTimeout(ctx, loadTime)
	defer cancel()
	st, err := s.Status(ctx)
	switch {
	case errors.Is(err, store.ErrTransient):
		v.Notes = append(v.Notes, fmt.Sprintf("%s is away: its schema was not checked: %v", s.Name, err))
		return nil
	case err != nil:
		return err
	case st.Refused() != nil:
		return fmt.Errorf("%s: %w", s.Name, st.Refused())
	}
	for _, name := range st.Pending {
		v.Migrations = append(v.Migrations, handoff.Migration{Store: s.Name, Name: name, Additive: !slices.Contains(st.Breaks, name)})
	}
	return nil
}
