package server

import (
	"context"
	"errors"
	"time"

	"wamble"
	"wamble/internal/profile"
)

const (
	loadReaders = 8               // loads that are under way at once
	loadQueue   = 2048            // loads that wait; a profile has fewer
	loadTime    = 5 * time.Second // for one load
)

// loads asks the store what profiles want to know, some at a time. The answers
// come back as mail.
type loads struct {
	rt   *runtime
	jobs chan job
}

type job struct {
	life *life
	load profile.Load
}

// newLoads starts the readers; they end with ctx.
func newLoads(ctx context.Context, rt *runtime) *loads {
	ls := &loads{rt: rt, jobs: make(chan job, loadQueue)}
	for range loadReaders {
		rt.guard("a load", func() { ls.read(ctx) })
	}
	return ls
}

// ask queues a load, and answers at once that nothing is known if there is no
// room.
func (ls *loads) ask(l *life, load profile.Load) {
	select {
	case ls.jobs <- job{l, load}:
	default:
		l.mail.post(profile.Input{Kind: profile.Loaded, Load: load.ID, Outcome: profile.Away})
	}
}

func (ls *loads) read(ctx context.Context) {
	for {
		select {
		case <-ctx.Done():
			return
		case j := <-ls.jobs:
			j.life.mail.post(ls.answer(ctx, j.load))
		}
	}
}

// answer asks the store once.
func (ls *loads) answer(ctx context.Context, load profile.Load) profile.Input {
	ctx, cancel := context.WithTimeout(ctx, loadTime)
	defer cancel()
	in := profile.Input{Kind: profile.Loaded, Load: load.ID}
	var err error
	switch load.Subject {
	case profile.SessionOf:
		var s wamble.Session
		if s, err = ls.rt.store.Session(ctx, load.Token); err == nil {
			in.Session = &s
		}
	case profile.GameOf:
		var b wamble.Board
		if b, err = ls.rt.store.Board(ctx, load.Board); err == nil {
			in.Board = &b
		}
	}
	switch {
	case err == nil:
		in.Outcome = profile.Found
	case errors.Is(err, wamble.ErrNotFound):
		in.Outcome = profile.NotFound
	default:
		in.Outcome = profile.Away
		ls.rt.watch.suspect(err)
	}
	return in
}
