package loop

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync/atomic"
	"time"

	"wamble/internal/journal"
	"wamble/internal/profile"
	"wamble/internal/store"
)

// ErrShards is returned when the store has another number of shards than the configuration says.
var ErrShards = errors.New("the database has another number of shards")

// checkShards refuses a store with another number of shards: boards of shards that do not run would not be
// served. A new profile gets the configured number.
func (rt *Runtime) checkShards(ctx context.Context) error {
	profile, want := rt.o.Config.Name, rt.o.Config.Boards.Shards
	isNew, err := CheckShards(ctx, rt.o.Database.Store, rt.o.Database.Name, profile, want)
	if err == nil && isNew && rt.o.Shard.Index == 0 {
		err = rt.o.Database.SetShards(ctx, profile, want)
	}
	if err != nil {
		return err
	}
	return journal.SetShards(ctx, rt.journal().Runner, profile, want)
}

// CheckShards returns ErrShards if a profile has another number of shards in the store than want. It
// reports whether the profile is new and has no number yet.
func CheckShards(ctx context.Context, db Store, name, profile string, want int) (isNew bool, err error) {
	if want > 1 { // read before the number, which the first shard writes before it makes a board
		_, err := db.Began(ctx, profile)
		if isNew = errors.Is(err, store.ErrNotFound); err != nil && !isNew {
			return false, err
		}
	}
	have, err := db.Shards(ctx, profile)
	isNew = isNew && have == 1
	if err == nil && have != want && !isNew {
		err = fmt.Errorf("%w: profile %s has %d in %s, and the configuration says %d. Set `shards` back, which is "+
			"the same on all machines, "+
			"or stop the server on all of them and run 'wamble shards %d --profile %s'", ErrShards, profile, have, name,
			want, want, profile)
	}
	return isNew, err
}

// newShards reports whether the profile has not yet run with this number of shards on this journal: then
// the start reads the store, which knows the number.
func (rt *Runtime) newShards() bool {
	return journal.ShardsOf(rt.journal().Runner, rt.o.Config.Name) != rt.o.Config.Boards.Shards
}

// counts is what a shard has, as other shards see it.
type counts struct {
	players, idle, bots, boards, spectators, offered, free atomic.Int64
	watched                                                atomic.Bool
}

// Totals is the sum over all shards of a profile.
type Totals struct {
	players, bots, boards, spectators, offered atomic.Int64
	// OnGrowth, unless nil, is called by a shard that has new players or has offered boards to some, with the
	// number of players on this machine.
	OnGrowth func(players int)

	remote counts // the shards on other machines
}

// Boards returns the number of boards.
func (t *Totals) Boards() int { return int(t.boards.Load()) }

// SetRemote sets the sum over the shards on other machines. The caller serializes its calls.
func (t *Totals) SetRemote(n profile.ShardCount) {
	c := &t.remote
	setCount(&c.players, n.Players, &t.players)
	setCount(&c.bots, n.Bots, &t.bots)
	setCount(&c.boards, n.Boards, &t.boards)
	setCount(&c.spectators, n.Spectators, &t.spectators)
}

// others returns the sum over all shards except c.
func (t *Totals) others(c *counts) profile.Others {
	return profile.Others{
		Players: int(t.players.Load() - c.players.Load()), Bots: int(t.bots.Load() - c.bots.Load()),
		Boards: int(t.boards.Load() - c.boards.Load()), Spectators: int(t.spectators.Load() - c.spectators.Load()),
	}
}

// addOthers appends the sum over the other shards to the inputs, if it has changed.
func (l *loop) addOthers(inputs []profile.Input) []profile.Input {
	if l.rt.o.OtherShards == nil {
		return inputs
	}
	now := l.rt.totals.others(&l.rt.counts)
	if l.others != nil && *l.others == now {
		return inputs
	}
	l.others = &now
	return append(inputs, l.others)
}

// publishNewcomers sends other shards the addresses of new players.
func (l *loop) publishNewcomers() {
	came := l.instance.out.Newcomers
	if len(came) == 0 || l.rt.o.OtherShards == nil {
		return
	}
	in := &profile.RemoteNewcomers{Newcomers: slices.Clone(came)}
	for _, other := range l.rt.o.OtherShards.Others() {
		if inst := other.instance.Load(); inst != nil {
			inst.mailbox.putEvents(in) // before the packets
		}
	}
}

// Count returns what the shard has.
func (rt *Runtime) Count() profile.ShardCount {
	c := &rt.counts
	return profile.ShardCount{
		Players: int(c.players.Load()), Idle: int(c.idle.Load()), Bots: int(c.bots.Load()),
		Boards: int(c.boards.Load()), Spectators: int(c.spectators.Load()), Offered: int(c.offered.Load()),
		Free: int(c.free.Load()), Watched: c.watched.Load(),
	}
}

// publish sets what the shard has, after a step.
func (rt *Runtime) publish(n profile.ShardCount) {
	c, t := &rt.counts, rt.totals
	c.free.Store(int64(n.Free))
	c.idle.Store(int64(n.Idle))
	c.watched.Store(n.Watched)
	setCount(&c.bots, n.Bots, &t.bots)
	setCount(&c.boards, n.Boards, &t.boards)
	setCount(&c.spectators, n.Spectators, &t.spectators)
	grown := setCount(&c.players, n.Players, &t.players)
	if grown = setCount(&c.offered, n.Offered, &t.offered) || grown; grown && t.OnGrowth != nil {
		t.OnGrowth(int(t.players.Load() - t.remote.players.Load() + t.offered.Load()))
	}
}

// setCount sets the count of a shard, adds the difference to all, and reports whether the count has grown.
func setCount(own *atomic.Int64, n int, all *atomic.Int64) bool {
	d := int64(n) - own.Load()
	if d != 0 {
		own.Store(int64(n))
		all.Add(d)
	}
	return d > 0
}

// SetShardCounts gives the shard the counts of all shards.
func (rt *Runtime) SetShardCounts(w *profile.ShardCounts) {
	if inst := rt.instance.Load(); inst != nil {
		inst.mailbox.put(w)
	}
}

// arriveEvery is how often a shard looks for boards that were sent to it, and arriveMost how many it takes
// in at a time.
const (
	arriveEvery = 500 * time.Millisecond
	arriveMost  = 256
)

// arrivals receives boards that were sent to this shard, until ctx ends.
func (rt *Runtime) arrivals(ctx context.Context) {
	for sleep(ctx, arriveEvery); ctx.Err() == nil; sleep(ctx, arriveEvery) {
		if !rt.watch.away.Load() {
			if err := rt.pollArrivals(ctx); err != nil && ctx.Err() == nil {
				rt.watch.suspect(err)
			}
		}
	}
}

func (rt *Runtime) pollArrivals(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, loadTime)
	defer cancel()
	loop := rt.loop.Load()
	if loop == nil {
		return nil
	}
	var inst *instance
	in, ready := &profile.Arrive{}, false
	if !loop.runOnLoop(ctx, func() {
		inst = loop.instance
		in.Round, ready = inst.profile.BeginArrivals()
	}) || !ready {
		return nil
	}
	var err error
	in.Boards, err = rt.o.Database.Arrivals(ctx, rt.o.Config.Name, rt.o.Shard.Index, arriveMost)
	if err != nil || len(in.Boards) == 0 {
		return err
	}
	back, err := rt.hasGoneBack(ctx)
	if err == nil && !back { // else the next query finds those that are left
		inst.mailbox.put(in)
	}
	return err
}

// hasGoneBack reports whether the store lacks messages that it had. Until it has them again, it has boards in transit
// that this shard has taken in, and sent on, before.
func (rt *Runtime) hasGoneBack(ctx context.Context) (bool, error) {
	drain := rt.drain.Load()
	if drain == nil {
		return true, nil // it is not known
	}
	at, err := rt.o.Database.Cursor(ctx, store.JournalID(rt.journal().Runner.JournalID()), rt.o.Name)
	return max(at, drain.Base()) < drain.Drained(), err
}

// unsentViews is changed boards that are sent to other shards when the durable index is durable.
type unsentViews struct {
	durableIndex uint64
	views        []profile.BoardView
}

// publishViews sends other shards the changes on boards that are durable.
func (l *loop) publishViews() {
	if views := l.instance.out.BoardViews; len(views) > 0 && l.rt.o.OtherShards != nil {
		l.unsentViews = append(l.unsentViews, unsentViews{l.newestIndex, slices.Clone(views)})
	}
	for len(l.unsentViews) > 0 && l.unsentViews[0].durableIndex <= l.durableIndex {
		l.rt.o.OtherShards.ShowViews(&profile.BoardViews{Boards: l.unsentViews[0].views})
		l.unsentViews = slices.Delete(l.unsentViews, 0, 1)
	}
}

// ResendViews makes the shard show all of its boards to the other shards again.
func (rt *Runtime) ResendViews() {
	if inst := rt.instance.Load(); inst != nil {
		inst.mailbox.put(&profile.ResendViews{})
	}
}

// ShowViews gives the shard the changes on boards of another shard.
func (rt *Runtime) ShowViews(in *profile.BoardViews) {
	if inst := rt.instance.Load(); inst != nil {
		inst.mailbox.put(in)
	}
}
