package loop

import (
	"context"
	"errors"
	"log/slog"
	goruntime "runtime"
	"time"

	"wamble"
	"wamble/internal/profile"
	"wamble/internal/store"
)

const (
	loadReaders = 8               // loads that are under way at once
	fileReaders = 2               // the same for an in-process database, which uses this process's processors
	loadQueue   = 2048            // loads that wait; a profile has fewer
	loadTime    = 5 * time.Second // for one load
)

// loads reads from the store what profiles ask for. The answers come back in the mailbox.
type loads struct {
	rt    *Runtime
	jobs  chan job
	slots chan struct{} // bounds the loads of tryOtherShards and shared
}

type job struct {
	instance *instance
	load     profile.Load
}

// newLoads starts the readers; they end with ctx.
func newLoads(ctx context.Context, rt *Runtime) *loads {
	ls := &loads{rt: rt, jobs: make(chan job, loadQueue)}
	readers := loadReaders
	if rt.o.Database.InProcess {
		readers = fileReaders
	}
	ls.slots = make(chan struct{}, readers)
	for range readers {
		rt.guard("a load", func() { ls.read(ctx) })
	}
	return ls
}

// ask queues a load. If the queue is full, the load is answered at once with Away.
func (ls *loads) ask(inst *instance, load profile.Load) {
	select {
	case ls.jobs <- job{inst, load}:
	default:
		inst.mailbox.put(&profile.Loaded{Load: load.ID, Outcome: profile.Away})
	}
}

func (ls *loads) read(ctx context.Context) {
	for {
		select {
		case <-ctx.Done():
			return
		case j := <-ls.jobs:
			if ls.shared(ctx, j) {
				continue
			}
			j.instance.mailbox.put(ls.answer(ctx, j.load))
			// SQLite answers without blocking: many loads of unknown tokens in a row would keep the loop
			// from a processor.
			goruntime.Gosched()
		}
	}
}

// answer reads from the store what a load asks for.
func (ls *loads) answer(ctx context.Context, load profile.Load) *profile.Loaded {
	return ls.answerBy(ctx, load, func(ctx context.Context, load profile.Load, in *profile.Loaded) error {
		return ls.query(ctx, ls.rt.o.Database.Store, load, in)
	})
}

// answerAt is answer within one snapshot of the store, with the cursors of that snapshot.
func (ls *loads) answerAt(ctx context.Context, load profile.Load) (in *profile.Loaded, at profile.Cursors) {
	in = ls.answerBy(ctx, load, func(ctx context.Context, load profile.Load, in *profile.Loaded) error {
		if load.First.Handle != "" {
			if _, err := ls.player(ctx, ls.rt.o.Database.Store, load); err != nil {
				return err
			}
			load.First = wamble.Player{} // the identity is made
		}
		all, err := ls.rt.o.Database.Snapshot(ctx, func(q store.Queries) error { return ls.query(ctx, q, load, in) })
		for _, c := range all {
			at = append(at, profile.Stamp{
				Journal: profile.JournalHash(c.Journal, c.Profile), Message: c.Message,
			})
		}
		return err
	})
	return in, at
}

func (ls *loads) answerBy(ctx context.Context, load profile.Load,
	look func(context.Context, profile.Load, *profile.Loaded) error) *profile.Loaded {
	ctx, cancel := context.WithTimeout(ctx, loadTime)
	defer cancel()
	in := &profile.Loaded{Load: load.ID}
	began := time.Now()
	err := look(ctx, load, in)
	if log := ls.rt.o.Log; log.Enabled(ctx, slog.LevelDebug) {
		log.Debug("the database was asked", "subject", int(load.Subject), "took", time.Since(began), "err", err)
	}
	switch {
	case err == nil:
		in.Outcome = profile.Found
	case errors.Is(err, store.ErrNotFound):
		in.Outcome = profile.NotFound
	case errors.Is(err, store.ErrTransient):
		in.Outcome = profile.Away
		ls.rt.watch.suspect(err)
	default:
		in.Outcome = profile.Broken
		ls.rt.o.Log.Warn("the database gave an answer that makes no sense", "err", err)
	}
	return in
}

// query is the one switch over the subjects of loads.
func (ls *loads) query(ctx context.Context, store store.Queries, load profile.Load, in *profile.Loaded) error {
	switch load.Subject {
	case profile.SessionOf:
		var s wamble.Session
		var err error
		if isRefresh(load) {
			s, err = store.SessionByID(ctx, load.Session)
		} else {
			s, err = store.Session(ctx, load.Token)
		}
		return ls.session(ctx, store, s, err, load, in)
	case profile.GameOf:
		b, err := store.Board(ctx, load.Board)
		in.Board = &b
		return err
	case profile.PlayerOf:
		p, err := ls.player(ctx, store, load)
		in.Answer = &profile.Answer{Player: &p}
		return dropped(in, err)
	case profile.TargetOf:
		if load.Session != 0 {
			s, err := store.SessionByID(ctx, load.Session)
			return ls.session(ctx, store, s, err, load, in)
		}
		s, err := store.SessionByHandle(ctx, load.Handle)
		return ls.session(ctx, store, s, err, load, in)
	case profile.RanksOf:
		ranks, err := store.Leaderboard(ctx, load.Page)
		in.Answer = &profile.Answer{Ranks: &ranks}
		return dropped(in, err)
	case profile.ReservationsOf:
		rows, err := ls.rt.o.Server.Reservations(ctx, load.Key)
		in.Answer = &profile.Answer{Reservations: rows}
		return dropped(in, err)
	case profile.SessionsOf:
		rows, err := store.Sessions(ctx, load.Key, profile.MaxSessions)
		in.Answer = &profile.Answer{Sessions: rows}
		return dropped(in, err)
	case profile.NameOf:
		p, err := ls.named(ctx, load)
		if unlessMissing(err) != nil {
			return err
		}
		in.Answer = &profile.Answer{Player: &p}
		s, err := store.SessionByHandle(ctx, load.Handle)
		if err == nil {
			in.Session = &s
		}
		return unlessMissing(err)
	case profile.TermsOf:
		yes, err := store.TermsAccepted(ctx, load.Session, load.Profile, load.Hash)
		in.Answer = &profile.Answer{Accepted: yes}
		return dropped(in, err)
	}
	return nil
}

// player reads an identity. It first makes the identity if load.First is set.
func (ls *loads) player(ctx context.Context, q store.Queries, load profile.Load) (wamble.Player, error) {
	if load.First.Handle != "" {
		return ls.rt.o.Database.Enrol(ctx, load.First)
	}
	return q.Player(ctx, load.Key)
}

// named reads an identity, and first claims load.Handle for it if load.First says since when.
func (ls *loads) named(ctx context.Context, load profile.Load) (wamble.Player, error) {
	at := load.First.Renamed
	if at.IsZero() {
		return ls.rt.o.Database.Player(ctx, load.Key)
	}
	return ls.rt.o.Database.Claim(ctx, load.Key, load.Handle, at, at.Add(-profile.MinNameAge))
}

// unlessMissing drops ErrNotFound.
func unlessMissing(err error) error {
	if errors.Is(err, store.ErrNotFound) {
		return nil
	}
	return err
}

// dropped removes the answer of a load that has failed.
func dropped(in *profile.Loaded, err error) error {
	if err != nil {
		in.Answer = nil
	}
	return err
}

// session completes a load with the session s, its identity, and its acceptance of the terms.
func (ls *loads) session(ctx context.Context, q store.Queries, s wamble.Session, err error, load profile.Load,
	in *profile.Loaded) error {
	if err != nil {
		return err
	}
	in.Answer, err = about(ctx, q, s, load.Profile, load.Hash)
	in.Session = &s
	return err
}

// about returns the identity of a session, if it has one, and whether the session has accepted the terms
// with a hash; the zero hash means no terms.
func about(ctx context.Context, q store.Queries, s wamble.Session, profileName string,
	hash [32]byte) (*profile.Answer, error) {
	a := &profile.Answer{}
	if !s.Key.IsZero() {
		p, err := q.Player(ctx, s.Key)
		if err != nil && !errors.Is(err, store.ErrNotFound) {
			return nil, err
		}
		if err == nil {
			a.Player = &p
		}
	}
	if hash == ([32]byte{}) {
		return a, nil
	}
	var err error
	a.Accepted, err = q.TermsAccepted(ctx, s.ID, profileName, hash)
	return a, err
}
