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

// unpublished is changes that concern other profiles of the store, until their durable index is durable.
type unpublished struct {
	durableIndex uint64
	changes      []profile.StoreEvent
	message      *atomic.Uint64 // the message that brings them to the store
}

// publishEvents sends other profiles the changes that are durable, before players are answered.
func (l *loop) publishEvents() {
	out := &l.instance.out
	if len(out.StoreEvents) > 0 && l.rt.sharesStore() {
		u := unpublished{l.newestIndex, slices.Clone(out.StoreEvents), new(atomic.Uint64)}
		if l.rt.o.Database.Registry.HasPeers() {
			l.instance.commit.onDurable(u.message.Store)
		}
		l.unpublished = append(l.unpublished, u)
	}
	l.publishUpTo(l.durableIndex)
	if l.durableSeq != 0 {
		l.rt.publishedBefore.Store(l.durableSeq + 1)
	}
}

// publishUpTo sends other profiles the changes up to an index that is durable.
func (l *loop) publishUpTo(durableIndex uint64) {
	for len(l.unpublished) > 0 && l.unpublished[0].durableIndex <= durableIndex {
		l.stampChanges(&l.unpublished[0])
		l.rt.o.Database.Registry.Publish(l.rt, l.unpublished[0].changes)
		l.unpublished = slices.Delete(l.unpublished, 0, 1)
	}
}

// stampChanges sets the message that brings changes to the store.
func (l *loop) stampChanges(u *unpublished) {
	message := u.message.Load()
	if message == 0 {
		return
	}
	journal := profile.JournalHash(l.rt.journal().Runner.JournalID(), l.rt.o.Name)
	for i := range u.changes {
		if c := &u.changes[i]; c.Stamp.Journal == 0 {
			c.Stamp = profile.Stamp{Journal: journal, Message: message}
		}
	}
}

func (rt *Runtime) sharesStore() bool { return len(rt.o.Database.Registry.Others(rt)) > 0 }

// Notify implements registry.Member.
func (rt *Runtime) Notify(events *profile.StoreEvents) {
	if inst := rt.eventsInstance.Load(); inst != nil {
		inst.mailbox.putEvents(events)
	}
}

// AwaitApplied implements registry.Member.
func (rt *Runtime) AwaitApplied(ctx context.Context, of registry.Subject) (knows bool, err error) {
	loop, inst := rt.loop.Load(), rt.instance.Load()
	if loop == nil || inst == nil {
		return false, rt.appliedWhileStopped(ctx)
	}
	var durableIndex, stored uint64
	ask := func() bool {
		return loop.runOnLoop(ctx, func() {
			p := loop.instance.profile
			if stored, durableIndex = p.Stored(); !of.All {
				durableIndex = p.Pending(of.Token, of.Key)
			}
		})
	}
	if !ask() {
		return false, rt.appliedWhileStopped(ctx)
	}
	knows, wanted := durableIndex != 0, durableIndex
	for pause := time.Millisecond; stored < wanted; pause = min(2*pause, 16*time.Millisecond) {
		if d := rt.drain.Load(); d != nil && of.All { // a start waits, or a command
			d.SetUrgent()
		}
		sleep(ctx, pause)
		if !ask() || rt.instance.Load() != inst {
			return knows, rt.appliedWhileStopped(ctx)
		}
	}
	return knows, nil
}

// appliedWhileStopped returns nil if a profile that does not run has nothing in the journal. Errors:
// registry.ErrDown, or that of ctx.
func (rt *Runtime) appliedWhileStopped(ctx context.Context) error {
	undrained, err := journal.Undrained(ctx, rt.journal().Runner, rt.o.Name)
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case err != nil || undrained > 0:
		return registry.ErrDown
	}
	return nil
}

// othersTimeout bounds how long a start waits for the decisions of other profiles.
const othersTimeout = time.Second

// awaitOthers waits until the store has what other profiles decided before now; what they decide later they
// tell this profile. It is called before the store is read.
func (rt *Runtime) awaitOthers(ctx context.Context) {
	if !rt.sharesStore() {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, othersTimeout)
	defer cancel()
	if err := rt.o.Database.Registry.AwaitOthers(ctx, rt); err != nil {
		rt.o.Log.Warn("the profile starts although another one of the same database has something for it in the "+
			"journal", "err", err)
	}
}

// shared answers a load in a goroutine beside the readers if other profiles or shards may know something
// newer than the store. It reports whether it does. A load that waits for other profiles delays no other
// load; profiles bound the number of their loads.
func (ls *loads) shared(ctx context.Context, j job) bool {
	switch j.load.Subject {
	case profile.SessionOf, profile.PlayerOf, profile.NameOf:
	case profile.OtherShardsOf, profile.TargetOf, profile.SessionsOf:
		return ls.tryOtherShards(ctx, j)
	default:
		return false
	}
	if !ls.rt.sharesStore() && !isRefresh(j.load) {
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

// isRefresh reports whether a load is about a stale session.
func isRefresh(l profile.Load) bool { return l.Subject == profile.SessionOf && l.Session != 0 }

// readReserved answers a load about an identity or a name while no other profile can create or take it. The
// reservation ends when the outcome of the answer is durable.
func (ls *loads) readReserved(ctx context.Context, j job) {
	key := j.load.Key
	if j.load.Subject == profile.NameOf {
		key = sha256.Sum256([]byte("name " + wamble.FoldName(j.load.Handle)))
	}
	release, err := ls.rt.o.Database.Registry.Reserve(ctx, key)
	if err != nil {
		j.instance.mailbox.put(&profile.Loaded{Load: j.load.ID, Outcome: profile.Away})
		return
	}
	defer release()
	ls.readShared(ctx, j)
	ls.rt.awaitDurable(ctx, j.instance)
}

// readShared answers a load once the store has what other profiles know about it.
func (ls *loads) readShared(ctx context.Context, j job) {
	var in *profile.Loaded
	var cursors profile.Cursors
	ask := func() (found registry.Found) {
		select {
		case ls.slots <- struct{}{}:
			if ls.rt.o.Database.Registry.HasPeers() && j.load.Subject != profile.NameOf {
				in, cursors = ls.answerAt(ctx, j.load)
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
		found.Cursors = cursors
		return found
	}
	deliver := func(down bool) {
		if down && (in.Outcome == profile.NotFound || isRefresh(j.load) ||
			j.load.Subject == profile.NameOf && in.Session == nil) {
			in.Outcome = profile.Away // a profile that does not run may have it in its journal
		}
		j.instance.mailbox.put(in)
	}
	of := registry.Subject{Token: j.load.Token, Key: j.load.Key}
	switch j.load.Subject {
	case profile.PlayerOf:
		of.Token = [16]byte{} // the token of the asker
	case profile.NameOf:
		of = registry.Subject{All: true}
	}
	// Of the profile's own decisions memory may have lost what is stale.
	err := error(nil)
	if isRefresh(j.load) {
		of = registry.Subject{All: true}
		_, err = ls.rt.AwaitApplied(ctx, of)
	} else if j.load.Subject == profile.PlayerOf {
		_, err = ls.rt.AwaitApplied(ctx, of)
	}
	if err != nil || ls.rt.o.Database.Registry.Read(ctx, ls.rt, of, ask, deliver) != nil {
		j.instance.mailbox.put(&profile.Loaded{Load: j.load.ID, Outcome: profile.Away})
	}
}

// awaitDurable waits until the outcome of the instance's mailbox is durable, or the instance has ended.
func (rt *Runtime) awaitDurable(ctx context.Context, inst *instance) {
	loop := rt.loop.Load()
	if loop == nil {
		return
	}
	durableIndex, over := uint64(0), false
	if !loop.runOnLoop(ctx, func() {
		if over = loop.instance != inst; !over {
			over = loop.turn(transport.Arrivals{}) != nil // a broken socket, which the loop will notice
			durableIndex = loop.newestIndex
		}
	}) {
		return
	}
	for pause := time.Millisecond; !over; pause = min(2*pause, 16*time.Millisecond) {
		if !loop.runOnLoop(ctx, func() { over = loop.instance != inst || loop.durableIndex >= durableIndex }) {
			return
		}
		if !over {
			sleep(ctx, pause)
		}
	}
}
