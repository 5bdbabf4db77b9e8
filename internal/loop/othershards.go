package loop

import (
	"context"
	"time"

	"wamble"
	"wamble/internal/profile"
	"wamble/internal/registry"
	"wamble/internal/transport"
)

// tryOtherShards answers a load about what other shards have in memory, in a goroutine beside the readers. It
// reports false if the profile has one shard.
func (ls *loads) tryOtherShards(ctx context.Context, j job) bool {
	if ls.rt.o.OtherShards == nil {
		return false
	}
	ls.rt.guard("a load", func() {
		ctx, cancel := context.WithTimeout(ctx, loadTime)
		defer cancel()
		if j.load.Subject == profile.OtherShardsOf {
			j.instance.mailbox.put(ls.askOtherShards(ctx, j.load))
			return
		}
		in := &profile.Loaded{Load: j.load.ID, Outcome: profile.Away}
		select {
		case ls.slots <- struct{}{}:
			in = ls.answer(ctx, j.load)
			<-ls.slots
		case <-ctx.Done():
		}
		ls.addShardMemory(ctx, j.load, in)
		j.instance.mailbox.put(in)
	})
	return true
}

// addShardMemory adds what other shards have in memory but the store does not have yet.
func (ls *loads) addShardMemory(ctx context.Context, load profile.Load, in *profile.Loaded) {
	key := load.Key
	if in.Session != nil {
		key = in.Session.Key
	}
	for _, other := range ls.rt.o.OtherShards.Others() {
		other.Do(ctx, func(p *profile.Profile) {
			known := p.InMemory(load.Session, key)
			known.Merge(&load, in)
		})
	}
}

// askOtherShards asks the other shards about a board until one has it, first those of this machine, then those
// of other machines.
func (ls *loads) askOtherShards(ctx context.Context, load profile.Load) *profile.Loaded {
	in := &profile.Loaded{Load: load.ID}
	if load.Ask.UCI != "" {
		// The store gets the prediction from another shard's journal, so it must have the session first.
		if _, err := ls.rt.AwaitApplied(ctx, registry.Subject{Token: load.Token}); err != nil {
			in.Outcome = profile.Away
			return in
		}
	}
	var reply *profile.BoardReply
	var unanswered []int
	for _, other := range ls.rt.o.OtherShards.Others() {
		var err error
		if reply, err = other.AskBoard(ctx, load.Ask); reply != nil {
			break
		}
		if err != nil {
			unanswered = append(unanswered, other.o.Shard.Index)
		}
	}
	away := len(unanswered) > 0
	if reply == nil && away {
		var err error
		reply, err = ls.rt.o.OtherShards.AskRemote(ctx, unanswered, load.Ask)
		away = err != nil
	}
	switch {
	case reply != nil:
		in.Answer = &profile.Answer{Board: reply}
	case away || ls.inTransit(ctx, load.Ask.Board):
		in.Outcome = profile.Away
	}
	return in
}

// inTransit reports whether a board that no shard has is moving between two shards: then the store has it,
// not archived.
func (ls *loads) inTransit(ctx context.Context, id wamble.BoardID) bool {
	select {
	case ls.slots <- struct{}{}:
		defer func() { <-ls.slots }()
	case <-ctx.Done():
		return true // unknown
	}
	b, err := ls.rt.o.Database.Board(ctx, id)
	return err == nil && b.Profile == ls.rt.o.Config.Name && b.Status != wamble.Archived
}

// AskBoard asks the shard about a board, and waits until the outcome is durable. The reply is nil if the shard
// does not have the board. Errors: ErrNotUp, or that of a broken socket.
func (rt *Runtime) AskBoard(ctx context.Context, in profile.BoardRequest) (reply *profile.BoardReply, err error) {
	loop, inst := rt.loop.Load(), rt.instance.Load()
	if loop == nil || inst == nil {
		return nil, ErrNotUp
	}
	var durableIndex uint64
	if !loop.runOnLoop(ctx, func() {
		if inst = loop.instance; !inst.profile.HasBoard(in.Board) {
			return
		}
		inst.mailbox.put(&in)
		if err = loop.turn(transport.Arrivals{}); err == nil {
			reply, durableIndex = inst.out.BoardReply, loop.newestIndex
		}
	}) {
		return nil, ErrNotUp
	}
	for pause := time.Millisecond; err == nil && reply != nil; pause = min(2*pause, 16*time.Millisecond) {
		var same, durable bool
		if !loop.runOnLoop(ctx, func() {
			same, durable = loop.instance == inst, loop.durableIndex >= durableIndex
		}) || !same {
			return nil, ErrNotUp
		}
		if durable {
			break
		}
		sleep(ctx, pause)
	}
	return reply, err
}
