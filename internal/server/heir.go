package server

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"net"
	"os"
	"sync"
	"syscall"
	"time"

	"wamble"

	"wamble/internal/handoff"
	"wamble/internal/host"
	"wamble/internal/profile"
)

// heir is the two ends of handoffs in a server: what it took over, and what it
// leaves.
type heir struct {
	serving context.Context // ends when the server is to stop: it leaves no more
	cease   context.CancelFunc

	estates map[string]*estate // by profile; until its runtime has taken it
	mu      sync.Mutex         // guards last
	last    *handoff.Result
	opened  time.Time // when everything was there but the loops
	tidy    func()    // collects garbage again; nil: it is collected
}

// socket is a connection or listener whose descriptor can be had.
type socket = syscall.Conn

// estate is a profile that was adopted, before its journal is there.
type estate struct {
	options profile.Options
	profile *profile.Profile
	state   []byte
	forget  func() // gives the memory of the state back
	now     time.Time
	out     profile.Output
	err     error
	done    chan struct{}
}

// beginInheriting loads the states that an image before this one left, beside
// the opening of the journal.
func (s *Server) beginInheriting() error {
	h := s.o.Succession.Inheritance
	if h == nil {
		if n, err := handoff.Sweep(s.sweepDir()); n > 0 || err != nil {
			s.log.Warn("state files of an interrupted handoff were removed", "files", n, "err", err)
		}
		return nil
	}
	profiles, err := s.wanted(s.o.Config)
	if err != nil {
		return err
	}
	s.house.draining.Store(h.Note.Draining)
	s.heir.estates = map[string]*estate{}
	sockets := map[string]Sockets{}
	for _, cfg := range profiles {
		if path, ok := h.States[cfg.Name]; ok {
			e := &estate{options: profile.Options{Config: cfg, Now: time.Now()}, done: make(chan struct{})}
			s.heir.estates[cfg.Name] = e
			go e.load(path)
		}
		if pair, ok := inheritedSockets(h, cfg); ok {
			sockets[cfg.Name] = pair
		}
	}
	s.o.Inherited = sockets
	return nil
}

func (s *Server) sweepDir() string {
	if dir := s.o.Config.Server.StateDir; dir != "" {
		return dir
	}
	return s.dir
}

// load makes a profile of a state file. A panic is an error too: there is a way
// back.
func (e *estate) load(path string) {
	defer close(e.done)
	defer func() {
		if v := recover(); v != nil {
			e.err = newPanic("the adoption of a state", v)
		}
	}()
	if _, e.err = rand.Read(e.options.Seed[:]); e.err != nil {
		return
	}
	if e.state, e.forget, e.err = handoff.Read(path, e.options.Config.Name); e.err != nil {
		return
	}
	e.profile, e.now = profile.New(e.options), time.Now()
	e.profile.Step(e.now, []profile.Input{{Kind: profile.Adopt, Data: e.state}}, &e.out)
	e.err = errors.Join(e.out.Troubles...)
}

// endInheriting waits for the states. What cannot be adopted is an error: the
// image before this one takes over again.
func (s *Server) endInheriting() error {
	for name, e := range s.heir.estates {
		if <-e.done; e.err != nil {
			return fmt.Errorf("adopt profile %s: %w", name, e.err)
		}
	}
	for _, k := range s.keepers() {
		k.help.estate = s.heir.estates[k.name]
	}
	s.heir.estates = nil
	return nil
}

// inheritedControl returns the control socket of the image before this one, nil
// if there is none that can be used.
func (s *Server) inheritedControl() *net.UnixListener {
	h := s.o.Succession.Inheritance
	if h == nil {
		return nil
	}
	f, err := handoff.Duplicate(h.Listeners, handoff.Control)
	if err != nil || f == nil {
		return nil
	}
	defer f.Close()
	l, err := net.FileListener(f)
	if err != nil {
		return nil
	}
	unix, ok := l.(*net.UnixListener)
	if !ok || unix.Addr().String() != host.ControlPath(s.dir) {
		l.Close()
		return nil
	}
	return unix // which is not unlinked when it is closed
}

// listenAdmin binds the admin listener, or takes over that of the image before
// this one if it is where it is wanted.
func (s *Server) listenAdmin(address string) (net.Listener, error) {
	h := s.o.Succession.Inheritance
	if h == nil {
		return net.Listen("tcp", address)
	}
	f, err := handoff.Duplicate(h.Listeners, handoff.Admin)
	if err != nil || f == nil {
		return net.Listen("tcp", address)
	}
	defer f.Close()
	l, err := net.FileListener(f)
	if err != nil {
		return net.Listen("tcp", address)
	}
	if serves(l.Addr().String(), address) {
		return l, nil
	}
	l.Close()
	return net.Listen("tcp", address)
}

// takeOver makes the estate of a runtime its life. The journal is there; the
// store is not asked.
func (rt *runtime) takeOver(ctx context.Context) (*life, error) {
	e := rt.help.estate
	rt.help.estate = nil
	if err := rt.makeDrain(ctx); err != nil {
		return nil, err
	}
	l, err := rt.lifeOf(e.options, e.profile)
	if err != nil {
		return nil, err
	}
	l.out = e.out
	l.record.step(e.now, []profile.Input{{Kind: profile.Adopt, Data: e.state}}, &l.out)
	e.forget()
	l.commit.begin()
	rt.life.Store(l)
	return l, nil
}

// succeed does what follows from the adoption, before the loop runs.
func (l *loop) succeed() {
	now := time.Now()
	l.follow(now, false)
	l.err = l.port.Send(&l.life.out.Packets)
	l.until = now
}

// answerTime is how long an heir leaves the store alone if nobody asks anything.
const answerTime = 250 * time.Millisecond

// awaitAnswer waits until the first packet was sent: what was frozen goes before
// everything else.
func (rt *runtime) awaitAnswer(ctx context.Context) {
	for end := time.Now().Add(answerTime); ctx.Err() == nil && time.Now().Before(end); {
		if rt.port.Load().UDP().Stats().Sent > 0 {
			return
		}
		wait(ctx, time.Millisecond)
	}
}

// lap notes how long a part of the start took, if it is the end of a handoff.
func (s *Server) lap(name string, since time.Time) time.Time {
	if h := s.o.Succession.Inheritance; h != nil {
		return h.Note.Lap(name, since)
	}
	return time.Now()
}

// proclaim tells whoever waits for it that this image has taken over, and lets
// go of what was left for the case that it could not.
func (s *Server) proclaim(ctx context.Context) {
	if s.heir.tidy != nil {
		defer s.heir.tidy()
	}
	h := s.o.Succession.Inheritance
	if h == nil || s.WaitReady(ctx) != nil {
		return
	}
	now := h.Note.Lap("begin", s.heir.opened)
	last := &handoff.Result{
		At: now, PID: os.Getpid(), From: h.Note.From, To: s.o.Succession.Version, Failure: h.Note.Failure,
		Frozen: wamble.InSeconds(now.Sub(time.Unix(0, h.Note.Frozen))), Phases: h.Note.Phases,
	}
	s.heir.mu.Lock()
	s.heir.last = last
	s.heir.mu.Unlock()
	if err := errors.Join(h.RemoveStates(), h.Close()); err != nil {
		s.log.Warn("something of the handoff was left behind", "err", err)
	}
	attrs := []any{"from", last.From, "to", last.To, "frozen", last.Frozen.Duration()}
	for _, p := range last.Phases {
		attrs = append(attrs, p.Name, p.Took.Round(100*time.Microsecond))
	}
	if last.Failure != "" {
		s.log.Error("the new image could not take over; this one serves again", append(attrs, "err", last.Failure)...)
	} else {
		s.log.Info("taken over", attrs...)
	}
	if report := h.Report(); report != nil {
		var err error
		if last.Failure != "" {
			err = errors.New("the new image could not take over, the old one serves again: " + last.Failure)
		}
		host.Answer(report, last, err)
		report.Close()
	}
	h.CloseNote()
	for _, k := range s.keepers() {
		k.awaitAnswer(ctx) // and then garbage is collected again
	}
}

// lastHandoff returns the result of the handoff that made this image, nil if it
// was started otherwise.
func (s *Server) lastHandoff() *handoff.Result {
	s.heir.mu.Lock()
	defer s.heir.mu.Unlock()
	return s.heir.last
}
