package loop

import (
	"context"
	"time"

	"wamble"
	"wamble/internal/profile"
	"wamble/internal/registry"
	"wamble/internal/transport"
)

// askShards answers a load about what other shards have in memory, in a goroutine beside the readers. It
// reports false if the profile has one shard.
func (ls *loads) askShards(ctx context.Context, j job) bool {
	if ls.rt.o.Others == nil {
		return false
	}
	ls.rt.guard("a load", func() {
		ctx, cancel := context.WithTimeout(ctx, loadTime)
		defer cancel()
		if j.load.Subject == profile.ElsewhereOf {
			j.life.mail.post(ls.elsewhere(ctx, j.load))
			return
		}
		in := &profile.Loaded{Load: j.load.ID, Outcome: profile.Away}
		select {
		case ls.slots <- struct{}{}:
			in = ls.answer(ctx, j.load)
			<-ls.slots
		case <-ctx.Done():
		}
		ls.improve(ctx, j.load, in)
		j.life.mail.post(in)
	})
	return true
}

// improve adds what other shards have in memory but the store does not have yet.
func (ls *loads) improve(ctx context.Context, load profile.Load, in *profile.Loaded) {
	key := load.Key
	if in.Session != nil {
		key = in.Session.Key
	}
	for _, other := range ls.rt.o.Others() {
		other.Do(ctx, func(p *profile.Profile) {
			known := p.Knows(load.Session, key)
			known.Improve(&load, in)
		})
	}
}

// elsewhere asks the other shards about a board until one has it, first those of this machine, then those
// of other machines.
func (ls *loads) elsewhere(ctx context.Context, load profile.Load) *profile.Loaded {
	in := &profile.Loaded{Load: load.ID}
	if load.Ask.UCI != "" {
		// The store gets the prediction from another shard's journal, so it must have the session first.
		if _, err := ls.rt.Settle(ctx, registry.Subject{Token: load.Token}); err != nil {
			in.Outcome = profile.Away
			return in
		}
	}
	var told *profile.Told
	var silent []int
	for _, other := range ls.rt.o.Others() {
		var err error
		if told, err = other.Ask(ctx, load.Ask); told != nil {
			break
		}
		if err != nil {
			silent = append(silent, other.o.Shard.Index)
		}
	}
	away := len(silent) > 0
	if told == nil && away && ls.rt.o.Abroad != nil {
		var err error
		told, err = ls.rt.o.Abroad(ctx, silent, load.Ask)
		away = err != nil
	}
	switch {
	case told != nil:
		in.Answer = &profile.Answer{Told: told}
	case away || ls.underway(ctx, load.Ask.Board):
		in.Outcome = profile.Away
	}
	return in
}

// underway reports whether a board that no shard has is moving between two shards: then the store has it,
// not archived.
func (ls *loads) underway(ctx context.Context, id wamble.BoardID) bool {
	select {
	case ls.slots <- struct{}{}:
		defer func() { <-ls.slots }()
	case <-ctx.Done():
		return true // unknown
	}
	b, err := ls.rt.o.Store.Board(ctx, id)
	return err == nil && b.Profile == ls.rt.o.Config.Name && b.Status != wamble.Archived
}

// Ask asks the shard about a board, and waits until the outcome is durable. Told is nil if the shard does
// not have the board. Errors: ErrNotUp, or that of a broken socket.
func (rt *Runtime) Ask(ctx context.Context, in profile.Ask) (told *profile.Told, err error) {
	loop, life := rt.loop.Load(), rt.life.Load()
	if loop == nil || life == nil {
		return nil, ErrNotUp
	}
	var gate uint64
	if !loop.do(ctx, func() {
		if life = loop.life; !life.profile.HasBoard(in.Board) {
			return
		}
		life.mail.post(&in)
		if err = loop.turn(transport.Arrivals{}); err == nil {
			told, gate = life.out.Told, loop.last
		}
	}) {
		return nil, ErrNotUp
	}
	for pause := time.Millisecond; err == nil && told != nil; pause = min(2*pause, 16*time.Millisecond) {
		var same, durable bool
		if !loop.do(ctx, func() { same, durable = loop.life == life, loop.done >= gate }) || !same {
			return nil, ErrNotUp
		}
		if durable {
			break
		}
		wait(ctx, pause)
	}
	return told, err
}
