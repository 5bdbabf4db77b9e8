package handoff

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"runtime/debug"
	"strings"
	"sync"
	"syscall"
	"time"

	"wamble/internal/guard"
	"wamble/internal/loop"
	"wamble/internal/profile"
	"wamble/internal/transport"
	"wamble/runner"
)

// Server is what a handoff needs of the server that runs.
type Server struct {
	// Binary is the file of the next image; "" is none. Args are the arguments of
	// this process, its name first.
	Binary string
	Args   []string
	// Version is that of this image.
	Version  string
	StateDir string // for the state files
	Log      *slog.Logger
	Runners  []*runner.Runner // of the journal, or of the parts of it that are here
	// Bridge makes what the next image needs to open the journal at once; nil: it
	// waits for the disk.
	Bridge   func() error
	Profiles []*loop.Runtime
	// Placed says that other machines serve what this one does not: it may have nothing but
	// its sockets.
	Placed bool
	// Listeners are those that belong to no profile, by their names.
	Listeners map[string]syscall.Conn
	// Suits says why the next image could not keep what this one has.
	Suits func(Verdict) error
	// Pause lets HTTP and the control socket come to rest while players are still
	// served, at most until ctx ends; Resume takes that back. Reporting says that
	// somebody at the control socket waits for the handoff.
	Pause  func(ctx context.Context, reporting bool)
	Resume func()
	// Draining reports whether nobody new is taken.
	Draining func() bool
	// Heard returns Note.Heard, and what the next image has to know of letters, nil if it is
	// nothing, when all loops rest; nil: there are no other machines.
	Heard func() (heard int64, letters []byte)
	// Listen makes this process listen to SIGHUP and SIGUSR2 again, which an exec
	// that failed has left ignored; nil: nobody does.
	Listen func()
}

// The patience of a handoff.
const (
	quiesceTime = 8 * time.Second       // for the batch that the drain is at: longer than a locked SQLite is waited for
	pauseTime   = 2 * time.Second       // for answers over HTTP that are being given
	freezeTime  = 5 * time.Second       // for what was decided to become durable
	joinTime    = 4 * time.Second       // for memory to become large pages
	partTime    = 25 * time.Millisecond // for what WebSocket clients are told last to be written
)

// LongestTime is how long a handoff can take until the exec, with some for the disk:
// one that takes longer hangs.
const LongestTime = checkTime + adoptTime + quiesceTime + pauseTime + joinTime + freezeTime + 15*time.Second

// leaving is a handoff that is under way.
type leaving struct {
	*Server
	next   *Inheritance
	files  map[string]*File
	rooms  map[string][]byte // for the states, by profile
	frozen map[string]*loop.Frozen
	serve  []*loop.Runtime // the profiles with a state
	ahead  bool            // the next image can read what is written ahead
	tidy   func()          // collects garbage again; nil: it is collected
}

// steps is the order of a handoff. Each step can be taken back, by stay.
var steps = []struct {
	name string
	do   func(*leaving, context.Context) error
}{
	{"check", (*leaving).check},
	{"whole", (*leaving).makeWhole},
	{"slim", (*leaving).slim},
	{"files", (*leaving).makeFiles},
	{"sockets", (*leaving).leaveSockets},
	{"flush", (*leaving).flush},
	{"pause", (*leaving).pause},
	{"freeze", (*leaving).freeze},
	{"state", (*leaving).writeStates},
	{"exec", (*leaving).exec},
}

// Report is the connection of who asked for a handoff: the next image answers there.
type Report struct {
	File *os.File // nil: nobody waits
	Web  bool     // it speaks HTTP
	Key  string   // names the request, which may be sent again; "": nothing does
}

// Leave becomes another image of this process, and returns only if that fails:
// then the server goes on as before. Errors: *ExportError, or why the binary refuses.
//
// Nothing is closed, because nothing need be: what was answered is durable in the
// journal, whoever opens journal and store next takes them as after a crash, and
// exec closes every descriptor and gives back every lock.
func Leave(ctx context.Context, s *Server, report Report) error {
	l := newLeaving(s)
	err := l.leave(ctx, report)
	l.stay()
	return err
}

func newLeaving(s *Server) *leaving {
	return &leaving{
		Server: s, files: map[string]*File{}, rooms: map[string][]byte{}, frozen: map[string]*loop.Frozen{},
		next: &Inheritance{
			Sockets: map[string]int{}, Listeners: map[string]int{}, States: map[string]string{},
			Note: Note{Began: time.Now().UnixNano(), From: s.Version},
		},
	}
}

func (l *leaving) leave(ctx context.Context, report Report) error {
	began := time.Now()
	l.next.Note.Web, l.next.Note.Key = report.Web, report.Key
	if report.File != nil {
		var err error
		if l.next.Note.Report, err = Detach(report.File); err != nil {
			return err
		}
	}
	for _, step := range steps {
		if step.name == "freeze" {
			l.next.Note.Frozen = time.Now().UnixNano()
		}
		if err := step.do(l, ctx); err != nil {
			return fmt.Errorf("%s: %w", step.name, err)
		}
		began = l.next.Lap(step.name, began)
	}
	return nil
}

// Rehearse returns what the next image says of itself in check mode, or why nothing
// could be handed over. It changes nothing.
func Rehearse(ctx context.Context, s *Server) (Verdict, error) {
	if s.Binary == "" {
		return Verdict{}, NotReady("this server has no binary to hand over to")
	}
	v, err := Check(ctx, s.Binary, s.Args)
	if err == nil {
		err = s.Suits(v)
	}
	return v, err
}

// check runs the next image in check mode.
func (l *leaving) check(ctx context.Context) error {
	v, err := Rehearse(ctx, l.Server)
	if err != nil {
		return err
	}
	l.ahead = v.Ahead
	for _, note := range v.Notes {
		l.Log.Warn("the next image says: " + note)
	}
	for _, m := range v.Migrations {
		l.Log.Info("to be migrated after the handoff", "what", m)
	}
	l.Log.Info("handing over", "from", l.Version, "to", v.Version, "binary", l.Binary)
	return nil
}

// makeWhole chooses the profiles that have a state, and waits until each has taken in
// what it was handed itself. One that has never served players, as its database is away,
// has none: the next image starts it.
func (l *leaving) makeWhole(ctx context.Context) error {
	if len(l.Profiles) == 0 {
		return &ExportError{ExportEmpty, errors.New("no profile runs")}
	}
	var waits []string
	for _, rt := range l.Profiles {
		up, why := rt.Stage()
		if !up && !rt.Lived() {
			waits = append(waits, fmt.Sprintf("profile %s: %s", rt.Name(), why))
			continue
		}
		if !up {
			return NotReady("profile %s: %s", rt.Name(), why)
		}
		l.serve = append(l.serve, rt)
	}
	if len(l.serve) == 0 && !l.Placed {
		return NotReady("%s", strings.Join(waits, "; "))
	}
	ctx, cancel := context.WithTimeout(ctx, adoptTime)
	defer cancel()
	return l.everyProfile(func(rt *loop.Runtime) error {
		// A world that grows does not come to rest, and what is new is not written ahead.
		if _, _, err := rt.Tell(ctx, &profile.HoldBoards{On: true}); err != nil {
			return NotReady("profile %s: %v", rt.Name(), err)
		}
		if !rt.AwaitWhole(ctx) {
			return NotReady("profile %s has not taken in all that it was handed, or does not answer", rt.Name())
		}
		return nil
	})
}

// adoptTime is how long the next handoff waits until this image has taken in all that
// the one before it has written ahead.
const adoptTime = 20 * time.Second

// flush stops the drain and empties the journal's memory while players are still
// served, so that little is left to do when they are not.
func (l *leaving) flush(ctx context.Context) error {
	for _, rt := range l.Profiles {
		rt.Hurry(true) // the drain is to end its batch, not to rest in it
	}
	rest, cancel := context.WithTimeout(ctx, quiesceTime)
	defer cancel()
	for _, r := range l.Runners {
		if err := r.Quiesce(rest); err != nil && ctx.Err() != nil {
			return err // a store that hangs is cut off later
		}
	}
	if err := l.flushAll(); err != nil || l.Bridge == nil {
		return err
	}
	if err := l.Bridge(); err != nil {
		l.Log.Warn("the next image has to wait for the disk", "err", err)
	}
	return nil
}

func (l *leaving) flushAll() error {
	for _, r := range l.Runners {
		if err := r.Flush(); err != nil {
			return err
		}
	}
	return nil
}

// pause lets HTTP and the control socket come to rest: who asks from now on asks
// the next image. Whoever is not done in time is cut. Then little is left in the
// journal's memory again, and the collector does not run while everything has to be fast.
func (l *leaving) pause(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, pauseTime)
	defer cancel()
	l.Pause(ctx, l.next.Note.Report != 0)
	if err := l.flushAll(); err != nil {
		return err
	}
	l.tidy = holdGarbage()
	return nil
}

// slim gives back what memory nobody uses, and joins the pages of the rest: the kernel
// takes an image apart page by page before the next one runs. It takes seconds with a
// million boards, so it comes before what is written ahead: that ages with every move.
func (l *leaving) slim(context.Context) error {
	debug.FreeOSMemory()
	joinPages(time.Now().Add(joinTime))
	return nil
}

// holdGarbage leaves garbage where it is until tidy is called, unless memory is
// limited: while nobody is served there is more important work.
func holdGarbage() (tidy func()) {
	percent := debug.SetGCPercent(-1)
	return func() { debug.SetGCPercent(percent) }
}

// freeze makes all loops rest. One that rests may be told news by one that does not
// yet: then all go on, and try again.
func (l *leaving) freeze(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, freezeTime)
	defer cancel()
	for {
		if err := l.freezeOnce(ctx); err != nil || !l.unheard() {
			return err
		}
		l.thaw()
	}
}

// unheard reports whether a loop that rests was told news.
func (l *leaving) unheard() bool {
	for _, f := range l.frozen {
		if f.Unheard() {
			return true
		}
	}
	return false
}

func (l *leaving) thaw() {
	for _, f := range l.frozen {
		f.Thaw()
	}
	clear(l.frozen)
}

func (l *leaving) freezeOnce(ctx context.Context) error {
	var mu sync.Mutex
	return l.everyProfile(func(rt *loop.Runtime) error {
		f, ok := rt.Freeze(ctx)
		if !ok {
			return NotReady("profile %s: what was decided did not become durable in time", rt.Name())
		}
		mu.Lock()
		l.frozen[rt.Name()] = f
		mu.Unlock()
		if f.Broken() {
			return NotReady("profile %s: the journal has failed, what was decided last is not durable", rt.Name())
		}
		return nil
	})
}

// writeStates writes down the profiles, whose loops rest. WebSocket clients, who
// have had all their answers, are told meanwhile to come back.
func (l *leaving) writeStates(ctx context.Context) error {
	goodbye, cancel := context.WithTimeout(ctx, partTime)
	defer cancel()
	return l.everyProfile(func(rt *loop.Runtime) error {
		told := make(chan struct{})
		go func() {
			defer close(told)
			// Whoever does not hear it finds out.
			guard.Run("a goodbye", func() { rt.Port().CloseConns(goodbye, transport.CloseGoingAway) },
				func(err error) { l.Log.Error("clients were not told of the handoff", "err", err) })
		}()
		file, frozen := l.files[rt.Name()], l.frozen[rt.Name()]
		state, err := frozen.Snapshot(l.rooms[rt.Name()])
		if err == nil && frozen.Ahead() != (file.ahead > 0) {
			err = errors.New("it was made anew meanwhile")
		}
		if err == nil {
			err = file.Write(state)
		}
		<-told
		if err != nil {
			return &ExportError{ExportNotReady, fmt.Errorf("profile %s: %w", rt.Name(), err)}
		}
		return nil
	})
}

// exec replaces this image by the next one. It returns only if that fails.
func (l *leaving) exec(ctx context.Context) error {
	l.next.Note.Draining = l.Draining()
	if l.Heard != nil {
		heard, letters := l.Heard()
		l.next.Note.Heard = heard
		if err := l.writeLetters(letters); err != nil {
			return err
		}
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	l.next.Note.Left = time.Now().UnixNano()
	err := l.next.Exec(l.Binary, l.Args, os.Environ())
	if l.Listen != nil {
		l.Listen()
	}
	return err
}

// everyProfile does something with every profile that has a state, at the same time.
func (l *leaving) everyProfile(do func(rt *loop.Runtime) error) error {
	errs := make([]error, len(l.serve))
	var all sync.WaitGroup
	for i, rt := range l.serve {
		all.Go(func() { errs[i] = guard.Call("a handoff", func() error { return do(rt) }) })
	}
	all.Wait()
	return errors.Join(errs...)
}

// stay takes back what was done for a handoff.
func (l *leaving) stay() {
	if l.tidy != nil {
		l.tidy()
	}
	l.thaw()
	for _, rt := range l.Profiles {
		rt.Hurry(false)
	}
	ctx, cancel := context.WithTimeout(context.Background(), freezeTime)
	defer cancel()
	for _, rt := range l.serve {
		rt.Do(ctx, (*profile.Profile).EndAhead)
		rt.Tell(ctx, &profile.HoldBoards{}) // a loop that has ended makes no boards either
	}
	l.Resume()
	for _, r := range l.Runners {
		r.Resume()
	}
	for _, f := range l.files {
		f.Remove()
	}
	l.next.Close()
	l.next.CloseNote()
}
