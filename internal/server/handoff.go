package server

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"runtime/debug"
	"sync"
	"time"

	"wamble/internal/handoff"
	"wamble/internal/transport"
)

// Succession is what a server needs to hand over to another image of its process.
type Succession struct {
	// Binary is the file of the next image unless a command names another, and
	// Args are the arguments of this process, its name first.
	Binary string
	Args   []string
	// Version is that of this image.
	Version string
	// Inheritance is what an image before this one left; nil: nothing.
	Inheritance *handoff.Inheritance
}

// The patience of a handoff.
const (
	quiesceTime = 8 * time.Second       // for the batch that the drain is at: longer than a locked SQLite is waited for
	hushTime    = 2 * time.Second       // for answers over HTTP that are being given
	freezeTime  = 5 * time.Second       // for what was decided to become durable
	partTime    = 25 * time.Millisecond // for WebSocket clients to say goodbye
)

// leaving is a handoff that is under way.
type leaving struct {
	heir   *handoff.Inheritance
	binary string
	files  map[string]*handoff.File
	pauses map[*keeper]*pause
	began  time.Time // of the present phase
	tidy   func()    // collects garbage again; nil: it is collected
}

// holdGarbage leaves garbage where it is until tidy is called, unless memory is
// limited: while nobody is served there is more important work.
func holdGarbage() (tidy func()) {
	percent := debug.SetGCPercent(-1)
	return func() { debug.SetGCPercent(percent) }
}

// HandOff prepares everything for another image of this process, and then makes
// Run return: Heir says what to exec. On an error the server goes on as before.
// Report is a connection that the next image answers; nil is none. Errors:
// *handoff.ExportError, or why the binary refuses.
func (s *Server) HandOff(ctx context.Context, binary string, report *os.File) error {
	if !s.house.changing.TryLock() {
		return handoff.NotReady("a reload or another handoff is under way")
	}
	l := &leaving{
		heir: newInheritance(s.o.Succession.Version), binary: binary, files: map[string]*handoff.File{}, pauses: map[*keeper]*pause{}, began: time.Now(),
	}
	if l.binary == "" {
		l.binary = s.o.Succession.Binary
	}
	if report != nil {
		defer report.Close()
	}
	if err := s.prepareHeir(ctx, l, report); err != nil {
		s.stay(l)
		s.house.changing.Unlock()
		s.log.Error("the server goes on: no handoff", "err", err)
		return err
	}
	// From here on there is no way but forward: the lock stays.
	s.heir.leaving = l
	close(s.heir.left)
	return nil
}

func newInheritance(from string) *handoff.Inheritance {
	return &handoff.Inheritance{
		Sockets: map[string]int{}, Listeners: map[string]int{}, States: map[string]string{},
		Note: handoff.Note{Began: time.Now().UnixNano(), From: from},
	}
}

// prepareHeir does everything that can be taken back.
func (s *Server) prepareHeir(ctx context.Context, l *leaving, report *os.File) error {
	if l.binary == "" || s.o.Inline {
		return handoff.NotReady("this server has no binary to hand over to")
	}
	for _, step := range []struct {
		name string
		do   func(context.Context, *leaving) error
	}{
		{"check", s.checkHeir},
		{"files", s.makeFiles},
		{"flush", s.flushAhead},
		{"hush", s.hush},
		{"freeze", s.freezeAll},
		{"state", s.writeStates},
		{"sockets", s.leaveSockets},
	} {
		if step.name == "freeze" {
			l.heir.Note.Frozen = time.Now().UnixNano()
			l.tidy = holdGarbage()
		}
		if err := step.do(ctx, l); err != nil {
			return fmt.Errorf("%s: %w", step.name, err)
		}
		l.began = l.heir.Note.Lap(step.name, l.began)
	}
	l.heir.Note.Draining = s.house.draining.Load()
	if report == nil {
		return nil
	}
	fd, err := handoff.Detach(report)
	l.heir.Note.Report = fd
	return err
}

// checkHeir runs the next image in check mode.
func (s *Server) checkHeir(ctx context.Context, l *leaving) error {
	v, err := handoff.Check(ctx, l.binary, s.o.Succession.Args)
	if err != nil {
		return err
	}
	for _, note := range v.Notes {
		s.log.Warn("the next image says: " + note)
	}
	if err := s.sameStores(v.Stores); err != nil {
		return err
	}
	s.log.Info("handing over", "from", s.o.Succession.Version, "to", v.Version, "binary", l.binary)
	return nil
}

// makeFiles makes room for the states, while there is time.
func (s *Server) makeFiles(ctx context.Context, l *leaving) error {
	keepers := s.keepers()
	if len(keepers) == 0 {
		return &handoff.ExportError{Status: handoff.ExportEmpty, Err: errors.New("no profile runs")}
	}
	for _, k := range keepers {
		loop, size := k.loop.Load(), 0
		if up, why := k.stage.get(); !up || loop == nil {
			return handoff.NotReady("profile %s: %s", k.name, why)
		}
		if !loop.do(ctx, func() { size = loop.life.profile.Size() }) {
			return handoff.NotReady("profile %s does not answer", k.name)
		}
		f, err := handoff.Create(s.stateDir(), k.name, int64(size))
		if err != nil {
			return &handoff.ExportError{Status: handoff.ExportNotReady, Err: err}
		}
		l.files[k.name] = f
		l.heir.States[k.name] = f.Path()
	}
	return nil
}

func (s *Server) stateDir() string {
	if dir := s.config().Server.StateDir; dir != "" {
		return dir
	}
	return s.dir
}

// flushAhead stops the drain and empties the journal's memory while players are
// still served, so that little is left to do when they are not.
func (s *Server) flushAhead(ctx context.Context, _ *leaving) error {
	for _, k := range s.keepers() {
		k.pace.hurry.Store(true) // the drain is to end its batch, not to rest in it
	}
	rest, cancel := context.WithTimeout(ctx, quiesceTime)
	defer cancel()
	if err := s.runner.Quiesce(rest); err != nil && ctx.Err() != nil {
		return err // a store that hangs is cut off later
	}
	return s.runner.Flush()
}

// hush lets HTTP come to rest while players are still served: who asks from now
// on asks the next image. Whoever is not done in time is cut.
func (s *Server) hush(ctx context.Context, _ *leaving) error {
	ctx, cancel := context.WithTimeout(ctx, hushTime)
	defer cancel()
	return s.everyProfile(func(k *keeper) error {
		k.help.games.stick(true)
		k.port.Load().Hush(ctx)
		return nil
	})
}

// freezeAll makes all loops rest.
func (s *Server) freezeAll(ctx context.Context, l *leaving) error {
	ctx, cancel := context.WithTimeout(ctx, freezeTime)
	defer cancel()
	var mu sync.Mutex
	return s.everyProfile(func(k *keeper) error {
		loop := k.loop.Load()
		p, ok := loop.freeze(ctx)
		if !ok {
			return handoff.NotReady("profile %s: what was decided did not become durable in time", k.name)
		}
		mu.Lock()
		l.pauses[k] = p
		mu.Unlock()
		if loop.life.journal.broken() { // and the profile may not have been told yet
			return handoff.NotReady("profile %s: the journal has failed, what was decided last is not durable", k.name)
		}
		return nil
	})
}

// writeStates writes down the profiles, whose loops rest.
func (s *Server) writeStates(_ context.Context, l *leaving) error {
	return s.everyProfile(func(k *keeper) error {
		p := k.loop.Load().life.profile
		state, err := p.Snapshot(make([]byte, 0, p.Size()))
		if err == nil {
			err = l.files[k.name].Write(state)
		}
		if err != nil {
			return &handoff.ExportError{Status: handoff.ExportNotReady, Err: fmt.Errorf("profile %s: %w", k.name, err)}
		}
		return nil
	})
}

// leaveSockets makes descriptors that stay open when the server is closed.
func (s *Server) leaveSockets(_ context.Context, l *leaving) error {
	self, err := handoff.Self()
	if err == nil {
		l.heir.Note.Old, err = handoff.Detach(self)
	}
	for _, k := range s.keepers() {
		port := k.port.Load()
		err = errors.Join(err, leave(l.heir.Sockets, k.name, port.UDP()), leave(l.heir.Listeners, handoff.HTTP(k.name), port.TCP()))
	}
	if control, ok := s.control.(*net.UnixListener); ok {
		err = errors.Join(err, leave(l.heir.Listeners, handoff.Control, control))
	}
	if door := s.adminDoor(); door != nil {
		err = errors.Join(err, leave(l.heir.Listeners, handoff.Admin, door.listener))
	}
	if err == nil {
		_, err = l.heir.Environ(os.Environ()) // it must fit
	}
	return err
}

func leave(to map[string]int, name string, c socket) error {
	f, err := transport.Duplicate(c)
	if err != nil {
		return err
	}
	to[name], err = handoff.Detach(f)
	return err
}

// everyProfile does something with every profile at the same time.
func (s *Server) everyProfile(do func(k *keeper) error) error {
	keepers := s.keepers()
	errs := make([]error, len(keepers))
	var all sync.WaitGroup
	for i, k := range keepers {
		all.Go(func() { errs[i] = do(k) })
	}
	all.Wait()
	return errors.Join(errs...)
}

// stay takes back what was done for a handoff.
func (s *Server) stay(l *leaving) {
	if l.tidy != nil {
		l.tidy()
	}
	for k, p := range l.pauses {
		k.loop.Load().thaw(p, false)
	}
	for _, k := range s.keepers() {
		k.pace.hurry.Store(false)
		k.help.games.stick(false)
		k.port.Load().Resume()
	}
	s.runner.Resume()
	for _, f := range l.files {
		f.Remove()
	}
	l.heir.Close()
	l.heir.CloseNote()
}

// part ends everything for the next image: the loops stay where they are, and
// what the store lacks is in the journal. Whoever is to stop meanwhile stops.
func (s *Server) part(ctx context.Context) error {
	l := s.heir.leaving
	if ctx.Err() != nil {
		s.heir.leaving = nil
		s.stay(l)
		s.house.changing.Unlock()
		s.stop()
		return nil
	}
	s.ownControl(false) // whoever asks meanwhile waits for the next image
	for _, d := range s.departures() {
		d.cancel()
		<-d.done
	}
	goodbye, cancel := context.WithTimeout(context.Background(), partTime)
	defer cancel()
	return s.everyProfile(func(k *keeper) error {
		k.cancel()
		k.loop.Load().thaw(l.pauses[k], true)
		<-k.done
		k.port.Load().Shutdown(goodbye, transport.CloseGoingAway) // whoever does not hear it finds out
		return nil
	})
}

// Inherited reports whether another image handed over to this one.
func (s *Server) Inherited() bool { return s.o.Succession.Inheritance != nil }
