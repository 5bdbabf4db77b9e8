package server

import (
	"cmp"
	"context"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"wamble/internal/loop"
	"wamble/internal/profile"
)

// playersPerShard is the number of players per open shard at which the next one opens.
// The last open shard closes when a quarter of the number that opened it has left.
var playersPerShard = 256 // less in tests

// openShardsFor returns how many of n shards shall be open for a number of players. Open is
// how many are open now.
func openShardsFor(players, open, n int) int {
	for open < n && players >= playersPerShard*open {
		open++
	}
	for open > 1 && players < playersPerShard*(open-1)*3/4 {
		open--
	}
	return open
}

// openShards tracks how many shards of a profile on this node take new players.
type openShards struct {
	totals loop.Totals
	next   atomic.Int64 // number of players at which the next shard opens
	mu     sync.Mutex   // guards open
	open   int
}

// The interval between two counts of the players of all shards, and the number of counts
// after which shards are told of each other.
const (
	countInterval   = 25 * time.Millisecond
	publishEveryNth = 10
)

// countLoop periodically opens and closes shards of the profile, and tells each shard the
// counts of the others, until ctx ends.
func (p *Profile) countLoop(ctx context.Context) {
	var before *profile.ShardCounts
	for n := 0; ctx.Err() == nil; n++ {
		w := &profile.ShardCounts{Shards: make([]profile.ShardCount, len(p.shards))}
		remote := p.peers.Counts(p.name)
		boards, news := 0, n%publishEveryNth == 0
		for i, sh := range p.shards {
			if w.Shards[i] = sh.runtime.Count(); sh.isRemote() {
				w.Shards[i] = remote.Count(i)
			}
			boards += w.Shards[i].Boards
			news = news || before.Shards[i].Watched != w.Shards[i].Watched
		}
		p.openShards.totals.SetRemote(remote.Sum())
		full := boards >= p.Config().Boards.MaxBoards
		w.Open = p.updateOpen(func(i int) bool { return !full || w.Shards[i].Free > 0 })
		if p.peers != nil {
			w.Opened = p.openMask() | remote.Open()
			w.Node = p.server.router.Number()
			watched := slices.ContainsFunc(p.localShards(), func(sh *Shard) bool { return sh.runtime.Count().Watched })
			p.server.router.Subscribe(p.name, watched)
		}
		if news = news || before.Open != w.Open || before.Opened != w.Opened; news {
			for _, sh := range p.shards {
				sh.runtime.SetShardCounts(w)
			}
		}
		before = w
		sleep(ctx, countInterval)
	}
}

// players returns the number of players on this node, with those whose sessions were
// offered and not used yet.
func (p *Profile) players() (n int) {
	for _, sh := range p.shards {
		c := sh.runtime.Count()
		n += c.Players + c.Offered
	}
	return n
}

// updateOpen opens and closes shards of this node according to its number of players, and
// returns how many shall be open. Of these, the port offers new players only to shards for
// which has reports a board.
func (p *Profile) updateOpen(has func(shard int) bool) int {
	o, here := &p.openShards, p.localShards()
	o.mu.Lock()
	defer o.mu.Unlock()
	if len(here) == 0 {
		p.Port().SetOpenShards(0)
		return 0
	}
	o.open = openShardsFor(p.players(), max(1, min(o.open, len(here))), len(here))
	o.next.Store(int64(playersPerShard * o.open))
	p.Port().SetOpenShards(maskOf(here[:o.open], has))
	return o.open
}

// maskOf returns a bit mask of the shards that have boards. If none has, it is the first
// shard, which then refuses new players.
func maskOf(shards []*Shard, has func(shard int) bool) (mask uint64) {
	for _, sh := range shards {
		if has(sh.index) {
			mask |= 1 << sh.index
		}
	}
	return cmp.Or(mask, 1<<shards[0].index)
}

// openMask returns a bit mask of the shards of this node that shall be open.
func (p *Profile) openMask() (mask uint64) {
	p.openShards.mu.Lock()
	defer p.openShards.mu.Unlock()
	here := p.localShards()
	for _, sh := range here[:min(p.openShards.open, len(here))] {
		mask |= 1 << sh.index
	}
	return mask
}

// onGrowth opens the next shard as soon as the number of players requires it, without waiting
// for the next count, so that a sudden rush of players is spread.
func (p *Profile) onGrowth(players int) {
	if o := &p.openShards; int64(players) >= o.next.Load() && o.next.Load() > 0 {
		full := o.totals.Boards() >= p.Config().Boards.MaxBoards
		p.updateOpen(func(i int) bool { return !full || p.shards[i].runtime.Count().Free > 0 })
	}
}
