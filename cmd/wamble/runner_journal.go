package main

import (
	"context"
	"encoding/json"
	"errors"
	"path/filepath"
	"strconv"

	"wamble/internal/admin"
	"wamble/runner"
)

// journalClient carries out the commands about a journal: on a journal that this process has
// opened, or through the control socket of the server that has it open.
type journalClient struct {
	ask func(verb string, args, result any) error
}

// look runs do on the journal, opened for reading or of a running server.
func (f *runnerFlags) look(ctx context.Context, do func(journalClient) error) error {
	return f.orServer(ctx, f.read(func(r *runner.Runner) error { return do(openedJournal(ctx, r)) }), do)
}

// alter runs do on the journal, opened for changes or of a running server.
func (f *runnerFlags) alter(ctx context.Context, do func(journalClient) error) error {
	return f.orServer(ctx, f.change(func(r *runner.Runner) error { return do(openedJournal(ctx, r)) }), do)
}

// openedJournal returns the client of a journal that this process has opened.
func openedJournal(ctx context.Context, r *runner.Runner) journalClient {
	return journalClient{func(verb string, args,
		result any) error {
		return admin.AskJournal(ctx, r, verb, args, result)
	}}
}

// orServer runs do on the journal of the running server if err says that a process has locked
// it; otherwise it returns err. The server's control socket is next to the journal.
func (f *runnerFlags) orServer(ctx context.Context, err error, do func(journalClient) error) error {
	if !inUse(err) {
		return err
	}
	dir, err := f.path()
	if err != nil {
		return err
	}
	return do(journalClient{func(verb string, args, result any) error {
		if args, err = f.inPart(args); err != nil {
			return err
		}
		err := admin.Ask(ctx, filepath.Dir(filepath.Clean(dir)), verb, args, result)
		if errors.Is(err, admin.ErrNoServer) {
			return inUseError{dir, true}
		}
		return err
	}})
}

// inUse reports whether an error is an inUseError.
func inUse(err error) bool {
	var e inUseError
	return errors.As(err, &e)
}

// inPart adds the partition of the journal to the arguments of a command.
func (f *runnerFlags) inPart(args any) (any, error) {
	if f.part < 0 {
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
	all["part"] = strconv.AppendInt(nil, int64(f.part), 10)
	return all, nil
}

// stats returns the statistics of the journal.
func (j journalClient) stats() (s runner.Stats, err error) {
	err = j.ask("runner-stats", nil, &s)
	return s, err
}

// inbox reads up to limit messages of a worker, page by page.
func (j journalClient) inbox(worker, from uint64, limit int) ([]runner.InboxRow, error) {
	return pages(limit, func(limit int) ([]runner.InboxRow, error) {
		var page []runner.InboxRow
		err := j.ask("runner-inbox", admin.InboxPage{Worker: worker, From: from, Limit: limit}, &page)
		if len(page) > 0 {
			from = page[len(page)-1].Seq + 1
		}
		return page, err
	})
}

// timers reads up to limit armed timers, page by page.
func (j journalClient) timers(limit int) ([]runner.ArmedTimer, error) {
	var after runner.TimerID
	return pages(limit, func(limit int) ([]runner.ArmedTimer, error) {
		var page []runner.ArmedTimer
		err := j.ask("runner-timers", admin.InboxPage{After: after, Limit: limit}, &page)
		if len(page) > 0 {
			after = page[len(page)-1].ID
		}
		return page, err
	})
}

// pages reads pages until there are limit rows or a page is empty.
func pages[T any](limit int, next func(limit int) ([]T, error)) (all []T, err error) {
	for limit > 0 {
		page, err := next(limit)
		if err != nil || len(page) == 0 {
			return all, err
		}
		all = append(all, page...)
		limit -= len(page)
	}
	return all, nil
}

// deadLetter returns the dead letter of a row. Error: runner.ErrNotFound.
func (j journalClient) deadLetter(row runner.Row) (runner.DeadLetter, error) {
	var found []runner.DeadLetter
	err := j.ask("dead-letter-page", admin.DeadPage{Name: row}, &found)
	if err == nil && len(found) != 1 {
		err = runner.ErrNotFound
	}
	if err != nil {
		return runner.DeadLetter{}, err
	}
	return found[0], nil
}

// eachDeadLetter visits the dead letters that match a filter, until visit returns false.
func (j journalClient) eachDeadLetter(f runner.DeadFilter, visit func(runner.DeadLetter) bool) error {
	for from := (runner.Row{}); ; {
		var found []runner.DeadLetter
		if err := j.ask("dead-letter-page", admin.DeadPage{From: from, Filter: f}, &found); err != nil ||
			len(found) == 0 {
			return err
		}
		for _, d := range found {
			if !visit(d) {
				return nil
			}
			from = runner.Row{Worker: d.Row.Worker, Seq: d.Row.Seq + 1}
		}
	}
}
