package server

import (
	"context"
	"errors"
	"fmt"
	"os"
	"runtime/debug"
	"sync"
	"time"

	"wamble/internal/handoff"
	"wamble/internal/host"
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
	// Listen makes this process listen to SIGHUP and SIGUSR2 again, which an exec
	// that failed has left ignored; nil: nobody does.
	Listen func()
}

// The patience of a handoff.
const (
	quiesceTime = 8 * time.Second       // for the batch that the drain is at: longer than a locked SQLite is waited for
	hushTime    = 2 * time.Second       // for answers over HTTP that are being given
	freezeTime  = 5 * time.Second       // for what was decided to become durable
	partTime    = 25 * time.Millisecond // for what WebSocket clients are told last to be written
)

// leaving is a handoff that is under way.
type leaving struct {
	heir   *handoff.Inheritance
	binary string
	files  map[string]*handoff.File
	rooms  map[string][]byte // for the states, by profile
	pauses map[*keeper]*pause
	asked  int       // requests at the admin listener that wait for this
	talks  int       // places at the control socket that are kept free
	began  time.Time // of the present phase
	tidy   func()    // collects garbage again; nil: it is collected
}

func (s *Server) newLeaving(binary string) *leaving {
	if binary == "" {
		binary = s.o.Succession.Binary
	}
	return &leaving{
		heir: newInheritance(s.o.Succession.Version), binary: binary, began: time.Now(),
		files: map[string]*handoff.File{}, rooms: map[string][]byte{}, pauses: map[*keeper]*pause{},
	}
}

// holdGarbage leaves garbage where it is until tidy is called, unless memory is
// limited: while nobody is served there is more important work.
func holdGarbage() (tidy func()) {
	percent := debug.SetGCPercent(-1)
	return func() { debug.SetGCPercent(percent) }
}

// HandOff becomes another image of this process, and returns only if that fails:
// then the server goes on as before. Report is a connection that the next image
// answers; nil is none. Errors: *handoff.ExportError, or why the binary refuses.
//
// Nothing is closed, because nothing need be: what was answered is durable in the
// journal, whoever opens journal and store next takes them as after a crash, and
// exec closes every descriptor and gives back every lock.
func (s *Server) HandOff(ctx context.Context, binary string, report *os.File) error {
	return s.handOff(ctx, s.newLeaving(binary), report)
}

func (s *Server) handOff(ctx context.Context, l *leaving, report *os.File) error {
	if report != nil {
		defer report.Close()
	}
	if !s.house.changing.TryLock() {
		return handoff.NotReady("a reload or another handoff is under way")
	}
	defer s.house.changing.Unlock()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(s.heir.serving, cancel)() // whoever is to stop stops
	err := s.leave(ctx, l, report)
	s.stay(l)
	s.log.Error("the server goes on: no handoff", "err", err)
	return err
}

func newInheritance(from string) *handoff.Inheritance {
	return &handoff.Inheritance{
		Sockets: map[string]int{}, Listeners: map[string]int{}, States: map[string]string{},
		Note: handoff.Note{Began: time.Now().UnixNano(), From: from},
	}
}

// leave does everything in its order. Each step can be taken back.
func (s *Server) leave(ctx context.Context, l *leaving, report *os.File) error {
	if l.binary == "" || s.o.Inline {
		return handoff.NotReady("this server has no binary to hand over to")
	}
	if report != nil {
		var err error
		if l.heir.Note.Report, err = handoff.Detach(report); err != nil {
			return err
		}
	}
	for _, step := range []struct {
		name string
		do   func(context.Context, *leaving) error
	}{
		{"check", s.checkHeir},
		{"files", s.makeFiles},
		{"sockets", s.leaveSockets},
		{"flush", s.flushAhead},
		{"hush", s.hush},
		{"slim", s.slim},
		{"freeze", s.freezeAll},
		{"state", s.writeStates},
		{"exec", s.become},
	} {
		if step.name == "freeze" {
			l.heir.Note.Frozen = time.Now().UnixNano()
		}
		if err := step.do(ctx, l); err != nil {
			return fmt.Errorf("%s: %w", step.name, err)
		}
		l.began = l.heir.Note.Lap(step.name, l.began)
	}
	return nil
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
	if err := errors.Join(s.sameStores(v.Stores), s.canListen(v)); err != nil {
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
		if !loop.do(ctx, func() { size = loop.life.profile.SnapshotSize() }) {
			return handoff.NotReady("profile %s does not answer", k.name)
		}
		f, err := handoff.Create(s.stateDir(), k.name, int64(size))
		if err != nil {
			return &handoff.ExportError{Status: handoff.ExportNotReady, Err: err}
		}
		l.files[k.name] = f
		l.rooms[k.name] = touched(size + size/8)
		l.heir.States[k.name] = f.Path()
	}
	return nil
}

// touched returns room for so many bytes, whose memory the kernel has given
// already.
func touched(size int) []byte {
	room := make([]byte, size)
	for i := 0; i < len(room); i += os.Getpagesize() {
		room[i] = 1
	}
	return room[:0]
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

// hush lets HTTP and the control socket come to rest while players are still
// served: who asks from now on asks the next image. Whoever is not done in time
// is cut.
func (s *Server) hush(ctx context.Context, l *leaving) error {
	ctx, cancel := context.WithTimeout(ctx, hushTime)
	defer cancel()
	others := host.ControlConns
	if l.heir.Note.Report != 0 {
		others-- // but for the one who waits for this
	}
	l.talks = s.control.Hush(ctx, others)
	var admin sync.WaitGroup
	if door := s.adminDoor(); door != nil {
		admin.Go(func() { door.porter.Pause(ctx, l.asked) })
	}
	s.everyProfile(func(k *keeper) error {
		k.help.games.stick(true)
		k.port.Load().Pause(ctx)
		return nil
	})
	admin.Wait()
	return nil
}

// slim leaves little in the journal's memory again, and gives back what memory
// nobody uses, while players are still served: the kernel takes an image apart
// page by page before the next one runs.
func (s *Server) slim(_ context.Context, l *leaving) error {
	if err := s.runner.Flush(); err != nil {
		return err
	}
	debug.FreeOSMemory()
	l.tidy = holdGarbage() // nor does the collector run when everything has to be fast
	return nil
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
		if loop.life.commit.broken() { // and the profile may not have been told yet
			return handoff.NotReady("profile %s: the journal has failed, what was decided last is not durable", k.name)
		}
		return nil
	})
}

// writeStates writes down the profiles, whose loops rest. WebSocket clients, who
// have had all their answers, are told meanwhile to come back.
func (s *Server) writeStates(ctx context.Context, l *leaving) error {
	goodbye, cancel := context.WithTimeout(ctx, partTime)
	defer cancel()
	return s.everyProfile(func(k *keeper) error {
		told := make(chan struct{})
		go func() {
			defer close(told)
			k.port.Load().CloseConns(goodbye, transport.CloseGoingAway) // whoever does not hear it finds out
		}()
		life := k.loop.Load().life
		life.record.flush()
		state, err := life.profile.Snapshot(l.rooms[k.name])
		if err == nil {
			err = l.files[k.name].Write(state)
		}
		<-told
		if err != nil {
			return &handoff.ExportError{Status: handoff.ExportNotReady, Err: fmt.Errorf("profile %s: %w", k.name, err)}
		}
		return nil
	})
}

// become replaces this image by the next one. It returns only if that fails.
func (s *Server) become(ctx context.Context, l *leaving) error {
	l.heir.Note.Draining = s.house.draining.Load()
	if err := ctx.Err(); err != nil {
		return err
	}
	l.heir.Note.Left = time.Now().UnixNano()
	err := l.heir.Exec(l.binary, s.o.Succession.Args, os.Environ())
	if s.o.Succession.Listen != nil {
		s.o.Succession.Listen()
	}
	return err
}

// leaveSockets makes descriptors that stay open in the next image.
func (s *Server) leaveSockets(_ context.Context, l *leaving) error {
	self, err := handoff.Self()
	if err == nil {
		l.heir.Note.Old, err = handoff.Detach(self)
	}
	for _, k := range s.keepers() {
		port := k.port.Load()
		err = errors.Join(err, leave(l.heir.Sockets, k.name, port.UDP()), leave(l.heir.Listeners, handoff.HTTP(k.name), port.TCP()))
	}
	err = errors.Join(err, leave(l.heir.Listeners, handoff.Control, s.control))
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
		k.loop.Load().thaw(p)
	}
	for _, k := range s.keepers() {
		k.pace.hurry.Store(false)
		k.help.games.stick(false)
		k.port.Load().Resume()
	}
	if door := s.adminDoor(); door != nil {
		door.porter.Resume()
	}
	s.control.Resume(l.talks)
	s.runner.Resume()
	for _, f := range l.files {
		f.Remove()
	}
	l.heir.Close()
	l.heir.CloseNote()
}

// Inherited reports whether another image handed over to this one.
func (s *Server) Inherited() bool { return s.o.Succession.Inheritance != nil }
