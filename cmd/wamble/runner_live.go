package main

import (
	"context"
	"encoding/json"
	"errors"
	"path/filepath"
	"strconv"

	"wamble/internal/host"
	"wamble/runner"
)

// deadBox gives access to dead letters, of a runner that this process has opened or of a
// running server.
type deadBox interface {
	DeadLetter(row runner.Row) (runner.DeadLetter, error)
	EachDeadLetter(f runner.DeadFilter, from runner.Row, visit func(runner.DeadLetter) bool) error
	ReplayDeadLetter(ctx context.Context, row runner.Row) (runner.Row, error)
	ReplayDeadLetters(ctx context.Context, f runner.DeadFilter) (int, error)
	DropDeadLetter(ctx context.Context, row runner.Row) error
	DropDeadLetters(ctx context.Context, f runner.DeadFilter) (int, error)
}

// journalBox gives access to a journal, of a runner that this process has opened or of a
// running server.
type journalBox interface {
	deadBox
	Look() (runner.Stats, error)
	Inbox(worker, from uint64, limit int) ([]runner.InboxRow, error)
	Timers(after runner.TimerID, limit int) ([]runner.ArmedTimer, error)
	Checkpoint(dir string) error
}

// stopped is a journalBox of a journal that this process has opened.
type stopped struct{ *runner.Runner }

// Look returns the statistics of the journal.
func (s stopped) Look() (runner.Stats, error) { return s.Stats(), nil }

// look runs do on the journal, opened for reading or of a running server.
func (f *runnerFlags) look(ctx context.Context, do func(journalBox) error) error {
	return f.orLive(ctx, f.read(func(r *runner.Runner) error { return do(stopped{r}) }), func(l *liveBox) error { return do(l) })
}

// inUse reports whether an error is an inUseError.
func inUse(err error) bool {
	var e inUseError
	return errors.As(err, &e)
}

// readDead runs do on the dead letters, for reading.
func (f *runnerFlags) readDead(ctx context.Context, do func(deadBox) error) error {
	return f.orLive(ctx, f.read(func(r *runner.Runner) error { return do(r) }), func(l *liveBox) error { return do(l) })
}

// changeDead runs do on the dead letters, for changes.
func (f *runnerFlags) changeDead(ctx context.Context, do func(deadBox) error) error {
	return f.orLive(ctx, f.change(func(r *runner.Runner) error { return do(r) }), func(l *liveBox) error { return do(l) })
}

// orLive runs do on the journal of the running server if err says that a process has locked
// it; otherwise it returns err. The server's control socket is next to the journal.
func (f *runnerFlags) orLive(ctx context.Context, err error, do func(*liveBox) error) error {
	if !inUse(err) {
		return err
	}
	dir, err := f.path()
	if err != nil {
		return err
	}
	return do(&liveBox{ctx, dir, f.part})
}

// liveBox is a journalBox of a running server, which it asks at the control socket.
type liveBox struct {
	ctx     context.Context
	journal string // directory
	part    int    // -1 if not given
}

func (l *liveBox) ask(verb string, args, result any) error {
	args, err := l.inPart(args)
	if err != nil {
		return err
	}
	err = host.Ask(l.ctx, filepath.Dir(filepath.Clean(l.journal)), verb, args, result)
	if errors.Is(err, host.ErrNoServer) {
		return inUseError{l.journal, true}
	}
	return err
}

// inPart adds the partition to the arguments of a command.
func (l *liveBox) inPart(args any) (any, error) {
	if l.part < 0 {
		return args, nil
	}
	all := map[string]json.RawMessage{}
	if args != nil {
		text, err := json.Marshal(args)
		if err == nil {
			err = json.Unmarshal(text, &all)
		}
		if err != nil {
			return nil, err
		}
	}
	all["part"] = strconv.AppendInt(nil, int64(l.part), 10)
	return all, nil
}

// Look returns the statistics of the journal.
func (l *liveBox) Look() (s runner.Stats, err error) {
	err = l.ask("runner-stats", nil, &s)
	return s, err
}

// Inbox reads rows page by page.
func (l *liveBox) Inbox(worker, from uint64, limit int) ([]runner.InboxRow, error) {
	var all []runner.InboxRow
	for limit > 0 {
		var page []runner.InboxRow
		if err := l.ask("runner-inbox", host.InboxPage{Worker: worker, From: from, Limit: limit}, &page); err != nil {
			return nil, err
		}
		if len(page) == 0 {
			break
		}
		all = append(all, page...)
		limit -= len(page)
		from = page[len(page)-1].Seq + 1
	}
	return all, nil
}

// Timers reads timers page by page.
func (l *liveBox) Timers(after runner.TimerID, limit int) ([]runner.ArmedTimer, error) {
	var all []runner.ArmedTimer
	for limit > 0 {
		var page []runner.ArmedTimer
		if err := l.ask("runner-timers", host.InboxPage{After: after, Limit: limit}, &page); err != nil {
			return nil, err
		}
		if len(page) == 0 {
			break
		}
		all = append(all, page...)
		limit -= len(page)
		after = page[len(page)-1].ID
	}
	return all, nil
}

// Checkpoint makes the server write the copy. The path is made absolute, because the server
// has another working directory.
func (l *liveBox) Checkpoint(dir string) error {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return err
	}
	var s runner.Stats
	return l.ask("runner-checkpoint", host.CheckpointTo{Dir: dir}, &s)
}

func (l *liveBox) DeadLetter(row runner.Row) (runner.DeadLetter, error) {
	var found []runner.DeadLetter
	if err := l.ask("dead-letter-page", host.DeadPage{Name: row}, &found); err != nil {
		return runner.DeadLetter{}, err
	}
	if len(found) != 1 {
		return runner.DeadLetter{}, runner.ErrNotFound
	}
	return found[0], nil
}

func (l *liveBox) EachDeadLetter(f runner.DeadFilter, from runner.Row, visit func(runner.DeadLetter) bool) error {
	for {
		var found []runner.DeadLetter
		if err := l.ask("dead-letter-page", host.DeadPage{From: from, Filter: f}, &found); err != nil {
			return err
		}
		if len(found) == 0 {
			return nil
		}
		for _, d := range found {
			if !visit(d) {
				return nil
			}
			from = runner.Row{Worker: d.Row.Worker, Seq: d.Row.Seq + 1}
		}
	}
}

func (l *liveBox) ReplayDeadLetter(_ context.Context, row runner.Row) (runner.Row, error) {
	done, err := l.do(replayVerb, host.DeadChoice{Worker: row.Worker, Number: row.Seq})
	return runner.Row{Worker: done.Worker, Seq: done.Number}, err
}

func (l *liveBox) ReplayDeadLetters(_ context.Context, f runner.DeadFilter) (int, error) {
	done, err := l.do(replayVerb, host.DeadChoice{Filter: &f})
	return done.Count, err
}

func (l *liveBox) DropDeadLetter(_ context.Context, row runner.Row) error {
	_, err := l.do(dropVerb, host.DeadChoice{Worker: row.Worker, Number: row.Seq})
	return err
}

func (l *liveBox) DropDeadLetters(_ context.Context, f runner.DeadFilter) (int, error) {
	done, err := l.do(dropVerb, host.DeadChoice{Filter: &f})
	return done.Count, err
}

func (l *liveBox) do(v deadVerb, choice host.DeadChoice) (done host.DeadDone, err error) {
	err = l.ask("dead-letter-"+v.name, choice, &done)
	return done, err
}
