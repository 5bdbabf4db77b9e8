package server

import (
	"context"
	"sync/atomic"
	"time"

	"wamble"
)

// The pace of the drain. A burst is left to the players: while they keep the loop
// busy and the database is less than burstLag behind, the drain rests restShare
// times as long as it works, and looks up every glance whether they still do. A
// burst that lasts longer is no burst: the drain catches up, and then stays
// within steadyLag until it has been quiet.
const (
	burstLag  = 10 * time.Second
	steadyLag = 500 * time.Millisecond
	restShare = 40
	longRest  = 10 * time.Second
	glance    = 500 * time.Millisecond
)

// paced is a store whose drain leaves room for players.
type paced struct {
	wamble.Store
	lag    func() time.Duration // of the store behind the journal
	posted atomic.Uint64        // frames that became durable
	hurry  atomic.Bool          // there is nobody to leave room for
	seen   uint64               // of posted, at the last Apply
	steady bool                 // the load has outlasted a burst
}

// Apply writes a batch, and rests.
func (p *paced) Apply(ctx context.Context, b wamble.Batch) error {
	began := time.Now()
	err := p.Store.Apply(ctx, b)
	if rest := p.rest(time.Since(began), len(b.Intents)); err == nil && rest > 0 {
		p.sleep(ctx, rest)
	}
	return err
}

// sleep rests, but not when there is nobody any more to rest for.
func (p *paced) sleep(ctx context.Context, rest time.Duration) {
	for ; rest > 0 && ctx.Err() == nil && !p.hurry.Load(); rest -= glance {
		before := p.posted.Load()
		wait(ctx, min(rest, glance))
		if p.posted.Load() == before || !p.steady && p.lag() >= burstLag {
			return
		}
	}
}

// rest is how long to leave the machine to players after a batch.
func (p *paced) rest(took time.Duration, intents int) time.Duration {
	posted := p.posted.Load()
	busy := posted-p.seen > uint64(intents)/4
	p.seen = posted
	if !busy || p.hurry.Load() {
		p.steady = false
		return 0
	}
	lag := p.lag()
	if lag >= burstLag {
		p.steady = true
	}
	switch {
	case !p.steady:
		return min(restShare*took, longRest)
	case lag >= steadyLag:
		return 0
	}
	return min(took, steadyLag/2) // so that more moves meet in the next batch
}
