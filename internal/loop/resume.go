package loop

import (
	"context"
	"errors"
	"fmt"
	"io"
	"runtime/debug"
	"sync"
	"time"

	"wamble/internal/guard"
	"wamble/internal/journal"
	"wamble/internal/profile"
	"wamble/internal/store"
)

// resumed is an instance that was made from the restart file and the journal. Away says that the store has not
// answered yet, and err why.
type resumed struct {
	instance *instance
	away     bool
	err      error
}

// storePatience is how long a start from the restart file waits for the store, whose answer may be that the
// profile belongs to another server, or that it is the wrong store.
const storePatience = time.Second

// resume makes an instance from the restart file and the journal's tail behind it, without the store if that is
// away. If there is no usable file, or the store says that it must be read, resumed.instance is nil without an
// error.
func (rt *Runtime) resume(ctx context.Context) (r resumed, err error) {
	hasRun := rt.ran
	rt.ran = true
	if rt.o.RestartDir == "" || hasRun || rt.newShards() {
		return r, nil // if it has run, what ended that run may be in the file
	}
	if err := rt.makeDrain(ctx); err != nil {
		return r, err
	}
	drain := rt.drain.Load()
	file, err := openRestartFile(rt.restartPath(), store.JournalID(rt.journal().Runner.JournalID()), rt.o.Name)
	if file == nil {
		if err != nil {
			rt.dropRestartFile(err)
		}
		return r, nil
	}
	defer file.close()
	began := time.Now()
	rt.stage.set("restoring the boards")
	defer slowGC()()
	answer := rt.askStoreAsync(ctx)
	inst, n, unusable := rt.instanceFrom(ctx, file)
	asked := <-answer
	if unusable != nil {
		rt.dropRestartFile(unusable)
		return resumed{}, ctx.Err()
	}
	switch err := asked.err; {
	case err == nil && asked.why == "":
	case err == nil:
		rt.o.Log.Warn("the restart file is not used; the start reads the database", "store", rt.o.Database.Name,
			"why", asked.why)
		rt.dropInstance(inst)
		return resumed{}, nil
	case ctx.Err() == nil && transient(err):
		rt.o.Log.Warn(storeErrorText(err), "store", rt.o.Database.Name, "err", err)
		r.away, r.err = true, err
	default:
		rt.dropInstance(inst)
		return resumed{}, fmt.Errorf("waiting for the database: %w", err)
	}
	if !r.away {
		inst.mailbox.setApplied(drain.Applied())
	}
	r.instance = inst
	rt.o.Log.Info("restored from the restart file and the journal", "boards", inst.profile.Gauges().Boards,
		"messages", n, "behind", drain.Pending(), "took", time.Since(began))
	return r, nil
}

func transient(err error) bool {
	var wrong *store.Unusable
	return (errors.Is(err, store.ErrTransient) || errors.Is(err, context.DeadlineExceeded)) && !errors.As(err, &wrong)
}

// dropRestartFile logs why the restart file cannot be used, and removes it.
func (rt *Runtime) dropRestartFile(err error) {
	rt.o.Log.Warn("the restart file cannot be used; the start reads the database", "file", rt.restartPath(), "err", err)
	rt.forgetRestartFile()
}

// storeErrorText describes a store that a start goes on without.
func storeErrorText(err error) string {
	if errors.Is(err, context.DeadlineExceeded) {
		return fmt.Sprintf("the database has not answered for %v; the start goes on without it", storePatience)
	}
	return "the database is away; the start goes on without it"
}

// storeAnswer is the store's answer to a start from the restart file. Why, unless empty, is the reason to
// read the store instead.
type storeAnswer struct {
	why string
	err error
}

// askStoreAsync asks the store while the restart file is read.
func (rt *Runtime) askStoreAsync(ctx context.Context) <-chan storeAnswer {
	answer := make(chan storeAnswer, 1)
	go func() {
		var a storeAnswer
		a.err = guard.Call("a question to the database", func() (err error) {
			a.why, err = rt.askStore(ctx)
			return err
		})
		answer <- a
	}()
	return answer
}

// askStore prepares the store if it answers within storePatience. It returns the reason why the start must
// read the store, or "".
func (rt *Runtime) askStore(ctx context.Context) (why string, err error) {
	ctx, cancel := context.WithTimeout(ctx, storePatience)
	defer cancel()
	var other *store.Owned
	if err := rt.o.Database.Own(ctx, rt.o.Name, rt.journal().Owner, 0); errors.As(err, &other) {
		return fmt.Sprintf("the profile belongs to another server: %v", other.By), nil
	} else if err != nil {
		return "", err
	}
	if err := rt.checkDatabase(ctx); err != nil {
		return "", err
	}
	st, err := rt.o.Database.Status(ctx)
	if err != nil {
		return "", err
	}
	if len(st.Pending) > 0 {
		return "it is to be migrated", nil
	}
	if err := rt.checkShards(ctx); err != nil {
		return "", err
	}
	if err := rt.recordDatabase(ctx); err != nil {
		return "", err
	}
	drain := rt.drain.Load()
	at, err := rt.o.Database.Cursor(ctx, store.JournalID(rt.journal().Runner.JournalID()), rt.o.Name)
	if err != nil {
		return "", err
	}
	if at > drain.Last() || max(at, drain.Base()) < drain.Drained() {
		return fmt.Sprintf("it has the journal up to message %d, and had it up to %d", at, drain.Drained()), nil
	}
	return "", drain.Fits(ctx)
}

// prepareStoreLater prepares the store after a start without it, as soon as it answers. It returns only errors that
// need the host.
func (rt *Runtime) prepareStoreLater(ctx context.Context) error {
	for pause := firstPause; ; pause = min(2*pause, longestPause) {
		err := rt.checkDatabase(ctx)
		if err == nil {
			err = rt.migrate(ctx, func(name string) {
				rt.o.Log.Info("migrating the database; play goes on", "store", rt.o.Database.Name, "step", name)
			})
		}
		if err == nil {
			err = rt.recordDatabase(ctx)
		}
		if err == nil {
			err = rt.drain.Load().Fits(ctx)
		}
		switch {
		case ctx.Err() != nil || err == nil:
			return nil
		case errors.Is(err, ErrOtherDatabase), errors.Is(err, journal.ErrAhead):
			return err
		}
		rt.watch.suspect(err)
		sleep(ctx, pause)
	}
}

// restoring counts the instances that are being made from restart files, and keeps the garbage collector's
// percentage from before.
var restoring struct {
	sync.Mutex
	instances, percent int
}

// restorePercent is the percentage meanwhile: nearly everything that is allocated stays, and the collector
// would scan it each time it has doubled.
const restorePercent = 400

// slowGC makes the garbage collector run less often until the returned function is called.
func slowGC() func() {
	restoring.Lock()
	defer restoring.Unlock()
	if restoring.instances++; restoring.instances == 1 {
		restoring.percent = debug.SetGCPercent(restorePercent)
		if restoring.percent < 0 || restoring.percent > restorePercent {
			debug.SetGCPercent(restoring.percent)
		}
	}
	return func() {
		restoring.Lock()
		defer restoring.Unlock()
		if restoring.instances--; restoring.instances == 0 {
			debug.SetGCPercent(restoring.percent)
		}
	}
}

// dropInstance drops an instance that has decided nothing; l may be nil.
func (rt *Runtime) dropInstance(inst *instance) {
	if inst != nil {
		inst.record.Close()
		rt.eventsInstance.CompareAndSwap(inst, nil)
	}
}

// tailBytes is how many bytes of the journal are replayed in one step.
const tailBytes = 1 << 20

// instanceFrom makes an instance from a restart file and the journal's tail, and returns the number of messages of
// the tail.
func (rt *Runtime) instanceFrom(ctx context.Context, file *restartReader) (_ *instance, messages uint64, err error) {
	inst, err := rt.newInstance()
	if err != nil {
		return nil, 0, err
	}
	defer func() {
		if err != nil {
			rt.dropInstance(inst)
		}
	}()
	drain := rt.drain.Load()
	step := func(inputs ...profile.Input) error {
		inst.stepBeforeLoop(inputs...)
		return errors.Join(append(inst.out.Troubles, ctx.Err())...)
	}
	if err := step(rt.o.Server.Restrictions()...); err != nil {
		return nil, 0, err
	}
	first, n := uint64(0), 0
	var seen map[string]uint64
	logged := time.Now()
	progress := func() {
		if time.Since(logged) > time.Second {
			logged = time.Now()
			boards := inst.profile.Gauges().Boards
			rt.stage.set(fmt.Sprintf("restoring the boards: %d boards and %d messages so far", boards, messages))
			rt.o.Log.Info("restoring the boards", "boards", boards, "messages", messages)
		}
	}
	var buf []byte
	for ; ; n++ {
		s, err := file.next(buf)
		if errors.Is(err, io.EOF) {
			break
		}
		if err == nil && s.data[0] == othersSlice {
			seen, err = readSeenOthers(s.data)
		} else if err == nil {
			err = step(&profile.ResumeSlice{Mark: s.lastSeq, Ahead: s.clockOffset, Data: s.data})
		}
		if err != nil {
			return nil, 0, err
		}
		if buf = s.data; n == 0 {
			first = s.lastSeq
			drain.Need(first)
		}
		progress()
	}
	if n == 0 || first > drain.Last() {
		return nil, 0, fmt.Errorf("%w: it has more than the journal", errRestartFile)
	}
	tail, size := &profile.ResumeTail{}, 0
	flush := func() error {
		err := step(tail)
		tail.Messages, size = tail.Messages[:0], 0
		progress()
		return err
	}
	err = drain.Tail(first, func(seq uint64, frame []byte) error {
		tail.Messages = append(tail.Messages, profile.TailMessage{Seq: seq, Frame: frame})
		messages++
		if size += len(frame); size < tailBytes {
			return nil
		}
		return flush()
	})
	if err == nil {
		err = flush()
	}
	if err != nil {
		return nil, 0, err
	}
	end := &profile.ResumeEnd{Last: drain.Last(), Alone: !rt.sharesStore()}
	if !end.Alone {
		if err := rt.replayOthersTail(ctx, seen, step); err != nil {
			rt.o.Log.Warn("another profile of the same database may have changed players: they play when the "+
				"database has the journal", "err", err)
		} else {
			end.Told = true
		}
	}
	return inst, messages, step(end, &profile.Ready{})
}
