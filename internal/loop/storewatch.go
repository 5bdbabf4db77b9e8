package loop

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"wamble"
	"wamble/internal/guard"
	"wamble/internal/journal"
	"wamble/internal/profile"
	"wamble/internal/store"
	"wamble/internal/store/schema"
	"wamble/runner"
)

// storewatch observes whether the store answers. A goroutine whose call to the store fails reports the error
// by suspect; the storewatch then asks the store itself, and passes changes to the profile and the log.
type storewatch struct {
	rt       *Runtime
	failures chan error
	away     atomic.Bool
	refuses  atomic.Bool // the drain cannot write
	troubles [troubleKinds]trouble
	trust    trustwatch
	retain   reminder // of onRetainFailed; used by the drain's goroutine
}

// The troubles that only the host can end, the worst first.
const (
	damaged = iota
	rolledBack
	cannotAsk
	cannotWrite
	troubleKinds
)

// trouble is an error that lasts until it is cleared; meanwhile it is logged repeatedly.
type trouble struct {
	text     atomic.Pointer[string]
	reminder reminder // used by the goroutine that sets the trouble
}

// reminder is the time at which something that lasts was last logged.
type reminder time.Time

// remindEvery is the shortest time between two logs of the same.
const remindEvery = time.Minute

func (r *reminder) due(now time.Time) bool {
	if now.Sub(time.Time(*r)) < remindEvery {
		return false
	}
	*r = reminder(now)
	return true
}

func newStorewatch(rt *Runtime) *storewatch {
	return &storewatch{rt: rt, failures: make(chan error, 1)}
}

// note sets the trouble of a kind if err is a *store.Unusable, and clears it otherwise.
func (w *storewatch) note(kind int, err error) {
	t := &w.troubles[kind]
	var wrong *store.Unusable
	if !errors.As(err, &wrong) {
		t.text.Store(nil)
		return
	}
	text := wrong.Error()
	if t.text.Swap(&text) == nil {
		t.reminder = reminder{}
	}
	if t.reminder.due(time.Now()) {
		w.rt.o.Log.Error("the database cannot be used until it is repaired", "store", w.rt.o.Database.Name,
			"err", wrong.Err, "advice", wrong.Advice)
	}
}

// trouble returns the worst trouble that only the host can end, or "".
func (w *storewatch) trouble() string {
	for i := range w.troubles {
		if text := w.troubles[i].text.Load(); text != nil {
			return *text
		}
	}
	return ""
}

// onRollback is called by the drain when the store has less than it had, and again when the kept messages
// were brought there.
func (w *storewatch) onRollback(s journal.Rollback) {
	log, args := w.rt.o.Log, []any{"store", w.rt.o.Database.Name, "had", s.From, "has", s.To, "messages", s.From - s.To}
	text := fmt.Sprintf("it has gone back by %d messages, as a standby that was behind or a backup; what the journal "+
		"has kept is brought there again", s.From-s.To)
	switch {
	case !s.Brought:
		log.Error("the database has gone back: a standby that was behind has taken its place, or a backup; what is "+
			"kept is brought there again", args...)
	case s.Lost == 0 && s.Refused == 0:
		log.Warn("the database has again all that it had lost", args...)
		w.troubles[rolledBack].text.Store(nil)
		return
	case s.Lost == 0:
		log.Error("the database refuses some of what it had lost", append(args, "refused", s.Refused)...)
		text = fmt.Sprintf("it has gone back by %d messages, and refuses %d changes in them that it had taken: "+
			"boards in memory go on, "+
			"what the database refuses of them is in the dead letters", s.From-s.To, s.Refused)
	default:
		log.Error("the database has lost messages that are not kept any more; what was played on them becomes dead "+
			"letters", append(args, "lost", s.Lost)...)
		text = fmt.Sprintf("it has gone back by %d messages, of which %d were kept no more and are lost: boards in "+
			"memory go on, "+
			"what the database refuses of them is in the dead letters. Raise journal-keep and journal-keep-mb, or "+
			"let the standby be synchronous",
			s.From-s.To, s.Lost)
	}
	w.troubles[rolledBack].text.Store(&text)
}

// onRetainFailed is called by the drain when it cannot keep the messages that the store has.
func (w *storewatch) onRetainFailed(err error) {
	if !w.retain.due(time.Now()) {
		return
	}
	if errors.Is(err, journal.ErrRetainedTooLarge) {
		w.rt.o.Log.Warn("a crash would need the database for the next start, until the restart file is written "+
			"again; raise restart-keep-mb", "err", err)
		return
	}
	w.rt.o.Log.Warn("what the database has is not kept for a standby that is behind", "err", err)
}

// verify looks for damage in the store after a crash. Play goes on meanwhile.
func (w *storewatch) verify(ctx context.Context) {
	for {
		err := w.rt.o.Database.Verify(ctx)
		if ctx.Err() != nil {
			return
		}
		if w.note(damaged, err); err == nil || w.trouble() == "" {
			return
		}
		sleep(ctx, remindEvery)
	}
}

// suspect reports that a call to the store has failed.
func (w *storewatch) suspect(err error) {
	select {
	case w.failures <- err:
	default:
	}
}

// drained is called by the drain whenever the store fails, and when it works again.
func (w *storewatch) drained(err error) {
	if err == nil {
		w.note(cannotWrite, nil)
		w.refuses.Store(false)
		w.rt.o.Log.Info("the database takes moves again", "store", w.rt.o.Database.Name)
		return
	}
	if errors.Is(err, context.Canceled) || errors.Is(err, runner.ErrFailed) || errors.Is(err, runner.ErrStopped) {
		return // not an error of the store
	}
	if !w.refuses.Swap(true) {
		w.rt.o.Log.Warn("the database takes no moves at present; they are kept in the journal",
			"store", w.rt.o.Database.Name, "err", err)
	}
	w.note(cannotWrite, err)
	w.suspect(err)
}

// run probes the store after each failure until it answers again, and polls the changes of trust meanwhile.
func (w *storewatch) run(ctx context.Context) {
	tick := time.NewTicker(trustEvery)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
			w.trust.poll(ctx, w.rt)
			continue
		case <-w.failures:
		}
		for pause := firstPause; w.probe(ctx) != nil && ctx.Err() == nil; pause = min(2*pause, longestPause) {
			sleep(ctx, pause)
		}
	}
}

// begin forgets the result of an earlier run, which may be out of date.
func (w *storewatch) begin() {
	w.away.Store(false)
	w.refuses.Store(false)
	w.note(cannotAsk, nil)
	w.note(cannotWrite, nil)
}

// probe makes a cheap call to the store, and reports a change of its state.
func (w *storewatch) probe(ctx context.Context) error {
	asking, cancel := context.WithTimeout(ctx, loadTime)
	defer cancel()
	_, err := w.rt.o.Database.Cursor(asking, store.JournalID(w.rt.journal().Runner.JournalID()), w.rt.o.Name)
	if ctx.Err() != nil {
		return err // not an error of the store
	}
	w.note(cannotAsk, err)
	if away := err != nil; w.away.Swap(away) != away {
		args := []any{"store", w.rt.o.Database.Name}
		in, level, text := profile.Input(&profile.StoreBack{}), slog.LevelInfo, "the database is back"
		if away {
			in, level, text = &profile.StoreAway{}, slog.LevelWarn, "the database of the games is away; what is "+
				"decided stays in the journal"
			args = append(args, "err", err)
		}
		w.rt.o.Log.Log(ctx, level, text, args...)
		if d := w.rt.drain.Load(); d != nil && !away {
			d.Recheck() // it may be another database
		}
		if inst := w.rt.instance.Load(); inst != nil {
			inst.mailbox.put(in)
		}
	}
	return err
}

// compare makes the drain recheck a store that has less than it had. If another database took its place
// between two calls, no call has failed, and a profile without moves would not notice.
func (w *storewatch) compare(ctx context.Context) {
	d := w.rt.drain.Load()
	if d == nil {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, loadTime)
	defer cancel()
	had := d.Applied()
	at, err := w.rt.o.Database.Cursor(ctx, store.JournalID(w.rt.journal().Runner.JournalID()), w.rt.o.Name)
	if err == nil && at < had {
		d.Recheck()
	}
}

// The pauses between attempts, doubled each time.
const (
	firstPause   = 50 * time.Millisecond
	longestPause = 2 * time.Second
)

// sleep waits for d or the end of ctx.
func sleep(ctx context.Context, d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
	case <-timer.C:
	}
}

// leasePause is the pause after a lease that failed.
const leasePause = time.Second

// lease leases numbers from the store for an instance. The answer comes in the mailbox.
func (rt *Runtime) lease(inst *instance, wanted profile.Lease) {
	rt.guard("a lease", func() {
		ctx, cancel := context.WithTimeout(rt.ctx, loadTime)
		defer cancel()
		blocks, err := rt.freshLease(ctx, wanted)
		if err != nil {
			rt.watch.suspect(err)
			sleep(rt.ctx, leasePause)
		}
		inst.mailbox.put(&profile.Leased{Sequence: wanted.Sequence, Blocks: blocks})
	})
}

// leaseMore leases what an instance has asked for before a loop drove it.
func (rt *Runtime) leaseMore(inst *instance) {
	for _, lease := range inst.leases {
		rt.lease(inst, lease)
	}
	inst.leases = nil
}

// freshLease leases numbers that no profile of the store has ever had. A standby that was behind when it
// replaced the store would give out some numbers again.
func (rt *Runtime) freshLease(ctx context.Context, wanted profile.Lease) ([]wamble.Block, error) {
	for {
		blocks, err := rt.o.Database.Lease(ctx, wanted.Sequence, wanted.Count)
		if err != nil || rt.o.Database.Registry.Take(wanted.Sequence, blocks) {
			return blocks, err
		}
		rt.o.Log.Warn("the database gave numbers out again; they are left out", "store", rt.o.Database.Name,
			"sequence", wanted.Sequence.String())
		last := int64(0)
		for _, b := range blocks {
			last = max(last, b.First+b.Count-1)
		}
		if gap := rt.o.Database.Registry.Highest(wanted.Sequence) - last; gap > 0 {
			if _, err := rt.o.Database.Lease(ctx, wanted.Sequence, int(min(gap, schema.MaxLease))); err != nil {
				return nil, err
			}
		}
	}
}

// inherit registers the numbers that an instance has from an earlier process.
func (rt *Runtime) inherit(inst *instance) {
	for _, s := range wamble.Sequences() {
		rt.o.Database.Registry.Take(s, inst.profile.Numbers(s))
	}
}

// freshLeases runs freshLease for several sequences at once.
func (rt *Runtime) freshLeases(ctx context.Context, wanted []profile.Lease) ([]*profile.Leased, error) {
	leased, errs := make([]*profile.Leased, len(wanted)), make([]error, len(wanted))
	var leases sync.WaitGroup
	for i, w := range wanted {
		leases.Go(func() {
			errs[i] = guard.Call("a lease", func() error {
				blocks, err := rt.freshLease(ctx, w)
				leased[i] = &profile.Leased{Sequence: w.Sequence, Blocks: blocks}
				return err
			})
		})
	}
	leases.Wait()
	return leased, errors.Join(errs...)
}

// returnTime bounds how long a stop waits for a database to which nothing has to be moved.
const returnTime = 2 * time.Second

// returnNumbers gives unused leased numbers back to the store, so that new rows continue from there after
// an orderly stop. The store has all messages, and the restart file, which would use the numbers again, is
// gone. If the return fails or takes longer than returnTime, the numbers are lost.
func (rt *Runtime) returnNumbers(ctx context.Context) {
	if rt.unused == nil {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, returnTime)
	defer cancel()
	err := rt.forgotten()
	if err == nil {
		_, err = rt.o.Database.Status(ctx) // right after a handoff the store was not asked yet
	}
	if err != nil {
		rt.o.Log.Warn("numbers of rows that were not used are lost", "err", err)
		return
	}
	for _, s := range wamble.Sequences() {
		if err := rt.o.Database.Return(ctx, s, rt.unused.profile.Numbers(s)); err != nil {
			rt.o.Log.Info("numbers of rows that were not used are lost", "store", rt.o.Database.Name,
				"sequence", s.String(), "err", err)
			continue
		}
		rt.o.Database.Registry.Return(s, rt.unused.profile.Numbers(s))
	}
}
