package server

import (
	"context"
	"sync/atomic"
	"time"

	"wamble"
)

// The pace of the drain. While players keep the loop busy and the database is
// less than burstLag behind, the drain rests restShare times as long as it works:
// what it does not take from the processors and the disk, players get. Further
// behind, or when it is quiet, it does not rest.
const (
	burstLag  = 10 * time.Second
	restShare = 3
	longRest  = 250 * time.Millisecond
)

// paced is a store whose drain leaves room for players.
type paced struct {
	wamble.Store
	lag    func() time.Duration // of the store behind the journal
	posted atomic.Uint64        // frames that became durable
	hurry  atomic.Bool          // there is nobody to leave room for
	seen   uint64               // of posted, at the last Apply
}

// Apply writes a batch, and rests.
func (p *paced) Apply(ctx context.Context, b wamble.Batch) error {
	began := time.Now()
	err := p.Store.Apply(ctx, b)
	if rest := p.rest(time.Since(began), len(b.Intents)); err == nil && rest > 0 {
		wait(ctx, rest)
	}
	return err
}

// rest is how long to leave the machine to players after a batch.
func (p *paced) rest(took time.Duration, intents int) time.Duration {
	posted := p.posted.Load()
	busy := posted-p.seen > uint64(intents)/4
	p.seen = posted
	if !busy || p.hurry.Load() || p.lag() >= burstLag {
		return 0
	}
	return min(restShare*took, longRest)
}
