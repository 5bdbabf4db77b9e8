package server

import (
	"context"
	"errors"
	"fmt"
	"time"

	"wamble/internal/journal"
	"wamble/internal/profile"
	"wamble/runner"
)

// The janitor is a worker of the runner that a timer wakes once a day. Then every profile
// deletes the anonymous sessions that were not used for retention-days, with their rows in
// other tables, as predictions. The timer is in the journal, so that restarts do not
// postpone it.
const (
	janitorName  = " janitor" // no profile can have it
	janitorFirst = time.Hour
	janitorEvery = 24 * time.Hour
)

// janitorKey is the journal's row that exists once the timer was armed.
var janitorKey = []byte("server/janitor")

// janitor starts the worker, or logs why it cannot. The returned function stops it.
func (s *Server) janitor(ctx context.Context, of *runner.Runner) (stop func()) {
	stop, err := s.startJanitor(ctx, of)
	if err != nil {
		s.log.Warn("old sessions are not deleted by themselves before the next start", "err", err)
		return func() {}
	}
	return stop
}

// startJanitor arms the timer, if that was never done, and starts the worker. The
// returned function stops it.
func (s *Server) startJanitor(ctx context.Context, of *runner.Runner) (stop func(), err error) {
	id, err := journal.WorkerOf(ctx, of, janitorName)
	if err != nil {
		return nil, err
	}
	_, err = of.Update(ctx, runner.AttemptPolicy{}, func(tx *runner.Tx) error {
		_, err := tx.Get(janitorKey)
		if !errors.Is(err, runner.ErrNotFound) {
			return err
		}
		return errors.Join(tx.Put(janitorKey, []byte{1}), armJanitor(tx, id, of.Now().Add(janitorFirst)))
	})
	if err == nil {
		err = hastenJanitor(ctx, of, id)
	}
	if err != nil {
		return nil, fmt.Errorf("arm the timer of the retention: %w", err)
	}
	w, err := of.NewWorker(uint64(id),
		runner.WorkerOptions{Handler: func(ctx context.Context, tx *runner.Tx, _ *runner.Delivery) error {
			next := janitorEvery
			if !s.purge(ctx) {
				next = janitorFirst
			}
			return armJanitor(tx, id, of.Now().Add(next))
		}})
	if err != nil {
		return nil, err
	}
	if err := w.Start(ctx); err != nil {
		return nil, err
	}
	return func() {
		w.Stop()
		w.Join()
	}, nil
}

// hastenJanitor arms the timer anew if it is due later than janitorEvery from now, as after
// the wall clock was set back.
func hastenJanitor(ctx context.Context, r *runner.Runner, worker uint32) error {
	timers, err := r.Timers(runner.TimerID{}, mostTimers)
	if err != nil {
		return err
	}
	for _, t := range timers {
		m, err := runner.DecodeMessage(t.Frame)
		if err != nil || m.To != uint64(worker) || !t.ID.Due().After(r.Now().Add(janitorEvery)) {
			continue
		}
		_, err = r.Update(ctx, runner.AttemptPolicy{}, func(tx *runner.Tx) error {
			return errors.Join(tx.Cancel(t.ID), armJanitor(tx, worker, r.Now().Add(janitorFirst)))
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// mostTimers is how many timers are read. A server has only the janitor's.
const mostTimers = 16

// armJanitor arms the next timer in tx. Due is by the runner's clock.
func armJanitor(tx *runner.Tx, worker uint32, due time.Time) error {
	return tx.Arm(due, &runner.Message{Kind: runner.Timer, Flags: runner.Durable, To: uint64(worker),
		ID: []byte("retention")})
}

// purge makes every profile delete its old sessions, and reports whether all did. A profile
// that does not serve players now is tried again after janitorFirst.
func (s *Server) purge(ctx context.Context) bool {
	all := true
	for _, p := range s.profiles() {
		if _, _, err := p.Tell(ctx, &profile.Purge{}); err != nil {
			all = false
			p.log.Warn("old sessions are deleted later", "err", err)
		}
	}
	return all
}
