package loop

import (
	"context"
	"crypto/sha256"
	"slices"
	"sync/atomic"
	"time"

	"wamble"
	"wamble/internal/journal"
	"wamble/internal/profile"
	"wamble/internal/registry"
	"wamble/internal/transport"
)

// untold is changes that concern other profiles of the store, until their gate is durable.
type untold struct {
	gate    uint64
	changes []profile.Change
	message *atomic.Uint64 // the message that brings them to the store
}

// tellNews tells other profiles the changes that are durable, before players are answered.
func (l *loop) tellNews() {
	out := &l.life.out
	if len(out.News) > 0 && l.rt.hasNeighbours() {
		u := untold{l.last, slices.Clone(out.News), new(atomic.Uint64)}
		if l.rt.o.Registry.Abroad() {
			l.life.commit.mark(u.message.Store)
		}
		l.untold = append(l.untold, u)
	}
	l.tellUpTo(l.done)
	if l.doneSeq != 0 {
		l.rt.told.Store(l.doneSeq + 1)
	}
}

// tellUpTo tells other profiles the changes up to a durable gate.
func (l *loop) tellUpTo(gate uint64) {
	for len(l.untold) > 0 && l.untold[0].gate <= gate {
		l.stamp(&l.untold[0])
		l.rt.o.Registry.Tell(l.rt, l.untold[0].changes)
		l.untold = slices.Delete(l.untold, 0, 1)
	}
}

// stamp sets the message that brings changes to the store. Changes that this profile only passes on have
// the stamp of their origin.
func (l *loop) stamp(u *untold) {
	message := u.message.Load()
	if message == 0 {
		return
	}
	journal := profile.MarkOf(l.rt.journal().Runner.JournalID(), l.rt.o.Name)
	for i := range u.changes {
		if c := &u.changes[i]; c.Stamp.Journal == 0 && !c.Passed {
			c.Stamp = profile.Stamp{Journal: journal, Message: message}
		}
	}
}

func (rt *Runtime) hasNeighbours() bool {
	return rt.o.Registry != nil && len(rt.o.Registry.Others(rt)) > 0
}

// Hear implements registry.Member.
func (rt *Runtime) Hear(news *profile.News) {
	if l := rt.hears.Load(); l != nil {
		l.mail.hear(news)
	}
}

// Settle implements registry.Member.
func (rt *Runtime) Settle(ctx context.Context, of registry.Subject) (knows bool, err error) {
	loop, life := rt.loop.Load(), rt.life.Load()
	if loop == nil || life == nil {
		return false, rt.settledWithoutLife(ctx)
	}
	var gate, settled uint64
	ask := func() bool {
		return loop.do(ctx, func() {
			p := loop.life.profile
			if settled, gate = p.Settled(); !of.All {
				gate = p.Pending(of.Token, of.Key)
			}
		})
	}
	if !ask() {
		return false, rt.settledWithoutLife(ctx)
	}
	knows, wanted := gate != 0, gate
	for pause := time.Millisecond; settled < wanted; pause = min(2*pause, 16*time.Millisecond) {
		if d := rt.drain.Load(); d != nil && of.All { // a start waits, or a command
			d.Hasten()
		}
		wait(ctx, pause)
		if !ask() || rt.life.Load() != life {
			return knows, rt.settledWithoutLife(ctx)
		}
	}
	return knows, nil
}

// settledWithoutLife returns nil if a profile that does not run has nothing in the journal. Errors:
// registry.ErrDown, or that of ctx.
func (rt *Runtime) settledWithoutLife(ctx context.Context) error {
	left, err := journal.Left(ctx, rt.journal().Runner, rt.o.Name)
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case err != nil || left > 0:
		return registry.ErrDown
	}
	return nil
}

// othersTime bounds how long a start waits for the decisions of other profiles.
const othersTime = time.Second

// awaitOthers waits until the store has what other profiles decided before now; what they decide later they
// tell this profile. It is called before the store is read.
func (rt *Runtime) awaitOthers(ctx context.Context) {
	if !rt.hasNeighbours() {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, othersTime)
	defer cancel()
	if err := rt.o.Registry.AwaitOthers(ctx, rt); err != nil {
		rt.o.Log.Warn("the profile starts although another one of the same database has something for it in the journal", "err", err)
	}
}

// shared answers a load in a goroutine beside the readers if other profiles or shards may know something
// newer than the store. It reports whether it does. A load that waits for other profiles delays no other
// load; profiles bound the number of their loads.
func (ls *loads) shared(ctx context.Context, j job) bool {
	switch j.load.Subject {
	case profile.SessionOf, profile.PlayerOf, profile.NameOf:
	case profile.ElsewhereOf, profile.TargetOf, profile.SessionsOf:
		return ls.askShards(ctx, j)
	default:
		return false
	}
	if !ls.rt.hasNeighbours() {
		return false
	}
	ls.rt.guard("a load", func() {
		ctx, cancel := context.WithTimeout(ctx, loadTime)
		defer cancel()
		if j.load.Subject == profile.SessionOf {
			ls.readShared(ctx, j)
		} else {
			ls.readReserved(ctx, j)
		}
	})
	return true
}

// readReserved answers a load about an identity or a name while no other profile can create or take it. The
// reservation ends when the outcome of the answer is durable.
func (ls *loads) readReserved(ctx context.Context, j job) {
	key := j.load.Key
	if j.load.Subject == profile.NameOf {
		key = sha256.Sum256([]byte("name " + wamble.FoldName(j.load.Handle)))
	}
	release, err := ls.rt.o.Registry.Reserve(ctx, key)
	if err != nil {
		j.life.mail.post(&profile.Loaded{Load: j.load.ID, Outcome: profile.Away})
		return
	}
	defer release()
	ls.readShared(ctx, j)
	ls.rt.awaitDecided(ctx, j.life)
}

// readShared answers a load once the store has what other profiles know about it.
func (ls *loads) readShared(ctx context.Context, j job) {
	var in *profile.Loaded
	ask := func() (found registry.Found) {
		select {
		case ls.slots <- struct{}{}:
			if ls.rt.o.Registry.Abroad() && j.load.Subject != profile.NameOf {
				in = ls.answerAt(ctx, j.load)
			} else {
				in = ls.answer(ctx, j.load)
			}
			<-ls.slots
		case <-ctx.Done():
			in = &profile.Loaded{Load: j.load.ID, Outcome: profile.Away}
		}
		if in.Session != nil {
			found = registry.Found{Session: in.Session.ID, Key: in.Session.Key}
		} else if p := in.Answer; p != nil && p.Player != nil {
			found.Key = p.Player.Key
		}
		found.Cursors = in.Cursors
		return found
	}
	deliver := func(down bool, missed []profile.Change) {
		in.Missed = missed
		if down && (in.Outcome == profile.NotFound || j.load.Subject == profile.NameOf && in.Session == nil) {
			in.Outcome = profile.Away // a profile that does not run may have it in its journal
		}
		j.life.mail.post(in)
	}
	of := registry.Subject{Token: j.load.Token, Key: j.load.Key}
	switch j.load.Subject {
	case profile.PlayerOf:
		of.Token = [16]byte{} // the token of the asker
	case profile.NameOf:
		of = registry.Subject{All: true}
	}
	if ls.rt.o.Registry.Read(ctx, ls.rt, of, ask, deliver) != nil {
		j.life.mail.post(&profile.Loaded{Load: j.load.ID, Outcome: profile.Away})
	}
}

// awaitDecided waits until the outcome of the life's mail is durable, or the life has ended.
func (rt *Runtime) awaitDecided(ctx context.Context, life *life) {
	loop := rt.loop.Load()
	if loop == nil {
		return
	}
	gate, over := uint64(0), false
	if !loop.do(ctx, func() {
		if over = loop.life != life; !over {
			over = loop.turn(transport.Arrivals{}) != nil // a broken socket, which the loop will notice
			gate = loop.last
		}
	}) {
		return
	}
	for pause := time.Millisecond; !over; pause = min(2*pause, 16*time.Millisecond) {
		if !loop.do(ctx, func() { over = loop.life != life || loop.done >= gate }) {
			return
		}
		if !over {
			wait(ctx, pause)
		}
	}
}
