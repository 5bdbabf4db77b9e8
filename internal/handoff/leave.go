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

// Process has what a handoff needs of the running server.
type Process struct {
	// Binary is the file to execute; "" if handoffs are not possible. Args are the
	// arguments of this process, its name first.
	Binary string
	Args   []string
	// Version is the version of this image.
	Version  string
	StateDir string // directory of the state files
	Log      *slog.Logger
	Runners  []*runner.Runner // of the journal, or of its partitions on this node
	Profiles []*loop.Runtime
	// Placed says that other nodes share the journal, so that this one may have no state.
	Placed bool
	// Listeners has the listeners that belong to no profile, by name.
	Listeners map[string]syscall.Conn
	// CheckVerdict returns why the next image could not go on with what this one has.
	CheckVerdict func(Verdict) error
	// Pause finishes requests of HTTP and the control socket and holds back new ones, at
	// most until ctx ends; Resume undoes that. Reporting says that a client waits for the
	// result of the handoff.
	Pause  func(ctx context.Context, reporting bool)
	Resume func()
	// Draining reports whether new players are refused.
	Draining func() bool
	// PeerState returns Note.LastVersion and the state of the messages between nodes for the next image; nil if that is
	// empty. It is called when all loops are frozen. It may be nil.
	PeerState func() (lastVersion int64, peerState []byte)
	// Listen makes this process listen to SIGHUP and SIGUSR2 again, which an exec
	// that failed has left ignored; it may be nil.
	Listen func()
}

// The time limits of a handoff.
const (
	quiesceTime = 8 * time.Second       // for the drain's batch; longer than the wait for a locked SQLite
	pauseTime   = 2 * time.Second       // for HTTP requests that are being answered
	freezeTime  = 5 * time.Second       // for pending decisions to become durable
	partTime    = 25 * time.Millisecond // for the last frames to WebSocket clients
)

// LongestTime bounds a handoff until the exec, with a reserve for the disk. One that takes
// longer hangs.
const LongestTime = checkTime + freezeTime + quiesceTime + pauseTime + freezeTime + 15*time.Second

// leaving is a handoff that is under way.
type leaving struct {
	*Process
	next      *Inheritance
	files     map[string]*File
	frozen    map[string]*loop.Frozen
	serve     []*loop.Runtime // the shards with a state
	restoreGC func()          // resumes garbage collection; nil if it is not stopped
}

// steps has the steps of a handoff in order. stay undoes them.
var steps = []struct {
	name string
	do   func(*leaving, context.Context) error
}{
	{"check", (*leaving).check},
	{"select", (*leaving).selectServing},
	{"files", (*leaving).makeFiles},
	{"sockets", (*leaving).leaveSockets},
	{"flush", (*leaving).flush},
	{"pause", (*leaving).pause},
	{"freeze", (*leaving).freeze},
	{"state", (*leaving).writeStates},
	{"exec", (*leaving).exec},
}

// Report is the connection of the client that asked for a handoff. The next image answers it.
type Report struct {
	File *os.File // nil if no client waits
	Web  bool     // the connection speaks HTTP
	Key  string   // idempotency key of the request; "" if it has none
}

// Leave executes the next image, and returns only if that fails; then the server goes on as
// before. Errors: *ExportError, or the reason why the binary refuses.
//
// Journal and store are not closed. What was answered is durable in the journal, the next
// image opens both as after a crash, and exec closes every descriptor and releases every
// lock.
func Leave(ctx context.Context, s *Process, report Report) error {
	l := newLeaving(s)
	err := l.leave(ctx, report)
	l.rollBack()
	return err
}

func newLeaving(s *Process) *leaving {
	return &leaving{
		Process: s, files: map[string]*File{}, frozen: map[string]*loop.Frozen{},
		next: &Inheritance{
			Sockets: map[string]int{}, Listeners: map[string]int{}, States: map[string]string{},
			Note: Note{Began: time.Now().UnixNano(), From: s.Version},
		},
	}
}

// leave runs all steps, and notes how long each took.
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

// Rehearse runs the next image in check mode and returns its verdict, or why a handoff would
// fail. It changes nothing.
func Rehearse(ctx context.Context, s *Process) (Verdict, error) {
	if s.Binary == "" {
		return Verdict{}, NotReady("this server has no binary to hand over to")
	}
	v, err := Check(ctx, s.Binary, s.Args)
	if err == nil {
		err = s.CheckVerdict(v)
	}
	return v, err
}

// check runs the next image in check mode.
func (l *leaving) check(ctx context.Context) error {
	v, err := Rehearse(ctx, l.Process)
	if err != nil {
		return err
	}
	for _, note := range v.Notes {
		l.Log.Warn("the next image says: " + note)
	}
	for _, m := range v.Migrations {
		l.Log.Info("to be migrated after the handoff", "what", m)
	}
	l.Log.Info("handing over", "from", l.Version, "to", v.Version, "binary", l.Binary)
	return nil
}

// selectServing selects the shards that have a state, and makes each of them make no more boards. A shard that never had a loop, as without its database, has no state: the
// next image starts it.
func (l *leaving) selectServing(ctx context.Context) error {
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
	ctx, cancel := context.WithTimeout(ctx, freezeTime)
	defer cancel()
	return l.everyProfile(func(rt *loop.Runtime) error {
		// New boards would never let the journal come to rest.
		if _, _, err := rt.Tell(ctx, &profile.FreezeBoards{On: true}); err != nil {
			return NotReady("profile %s: %v", rt.Name(), err)
		}
		return nil
	})
}

// flush stops the drain and empties the journal's memory while players are still
// served, so that little is left to do when they are not.
func (l *leaving) flush(ctx context.Context) error {
	for _, rt := range l.Profiles {
		rt.SetUrgent(true) // the drain ends its batch without pauses
	}
	rest, cancel := context.WithTimeout(ctx, quiesceTime)
	defer cancel()
	for _, r := range l.Runners {
		if err := r.Quiesce(rest); err != nil && ctx.Err() != nil {
			return err // without it the exec cuts off a batch that did not end
		}
	}
	return l.flushAll()
}

func (l *leaving) flushAll() error {
	for _, r := range l.Runners {
		if err := r.Flush(); err != nil {
			return err
		}
	}
	return nil
}

// pause finishes the requests of HTTP and the control socket; new ones are answered by the
// next image, and those that are not done in time are cut off. Then it flushes the journal's
// memory again, and stops garbage collection for the steps that have to be fast.
func (l *leaving) pause(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, pauseTime)
	defer cancel()
	l.Pause(ctx, l.next.Note.Report != 0)
	if err := l.flushAll(); err != nil {
		return err
	}
	l.restoreGC = pauseGC()
	return nil
}

// pauseGC stops garbage collection until resume is called. With a memory limit
// (GOMEMLIMIT) it still runs near the limit.
func pauseGC() (resume func()) {
	percent := debug.SetGCPercent(-1)
	return func() { debug.SetGCPercent(percent) }
}

// freeze stops all loops. If a frozen loop has received events from one that was not frozen
// yet, all go on and it tries again.
func (l *leaving) freeze(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, freezeTime)
	defer cancel()
	for {
		if err := l.freezeOnce(ctx); err != nil || !l.hasUnreadEvents() {
			return err
		}
		l.thaw()
	}
}

// hasUnreadEvents reports whether a frozen loop has received events.
func (l *leaving) hasUnreadEvents() bool {
	for _, f := range l.frozen {
		if f.HasUnreadEvents() {
			return true
		}
	}
	return false
}

// thaw lets all frozen loops go on.
func (l *leaving) thaw() {
	for _, f := range l.frozen {
		f.Thaw()
	}
	clear(l.frozen)
}

// freezeOnce freezes all loops, and fails if not all decisions are durable in time.
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

// writeStates writes the states of the frozen shards. Meanwhile WebSocket connections, whose
// answers were all sent, are closed with "going away".
func (l *leaving) writeStates(ctx context.Context) error {
	goodbye, cancel := context.WithTimeout(ctx, partTime)
	defer cancel()
	return l.everyProfile(func(rt *loop.Runtime) error {
		told := make(chan struct{})
		go func() {
			defer close(told)
			guard.Run("a goodbye", func() { rt.Port().CloseConns(goodbye, transport.CloseGoingAway) },
				func(err error) { l.Log.Error("clients were not told of the handoff", "err", err) })
		}()
		file, frozen := l.files[rt.Name()], l.frozen[rt.Name()]
		err := file.Write(frozen.State())
		<-told
		if err != nil {
			return &ExportError{ExportNotReady, fmt.Errorf("profile %s: %w", rt.Name(), err)}
		}
		return nil
	})
}

// exec executes the next image. It returns only if that fails.
func (l *leaving) exec(ctx context.Context) error {
	l.next.Note.Draining = l.Draining()
	if l.PeerState != nil {
		lastVersion, peerState := l.PeerState()
		l.next.Note.LastVersion = lastVersion
		if err := l.writePeerState(peerState); err != nil {
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

// everyProfile runs do for every shard that has a state, concurrently.
func (l *leaving) everyProfile(do func(rt *loop.Runtime) error) error {
	errs := make([]error, len(l.serve))
	var all sync.WaitGroup
	for i, rt := range l.serve {
		all.Go(func() { errs[i] = guard.Call("a handoff", func() error { return do(rt) }) })
	}
	all.Wait()
	return errors.Join(errs...)
}

// rollBack undoes the steps after a failure.
func (l *leaving) rollBack() {
	if l.restoreGC != nil {
		l.restoreGC()
	}
	l.thaw()
	for _, rt := range l.Profiles {
		rt.SetUrgent(false)
	}
	ctx, cancel := context.WithTimeout(context.Background(), freezeTime)
	defer cancel()
	for _, rt := range l.serve {
		rt.Tell(ctx, &profile.FreezeBoards{}) // an error is a loop that has ended
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
