package loop

import (
	"context"
	"sync/atomic"
	"time"

	"wamble/internal/store"
)

// The pace of the drain, and of what fills the journal that it drains.
//
// A load is more than quietRate requests a second. A burst, its first burstTime,
// is left to the players: the drain rests restShare times as long as it works, and
// looks up every glance whether they still play, unless the database falls burstLag
// behind. A load that lasts longer is no burst: the drain makes a batch every
// batchTime, or faster while the database is further behind, and the lag has a
// bound. It begins at twice the lag, so that nothing jerks, and falls with the
// clock, to steadyLag. From half of the bound on the loop is braked: it leaves a
// share of its time, more with the lag, up to mostBrake. So players wait a little
// longer, nobody is refused, and the drain gets the machine.
//
// There is no brake unless the database takes batches: an outage never slows
// down play.
const (
	quietRate = 1000
	burstTime = 12 * time.Second
	burstLag  = 10 * time.Second
	restShare = 40
	longRest  = 10 * time.Second
	glance    = 500 * time.Millisecond

	batchTime = 300 * time.Millisecond
	steadyLag = 900 * time.Millisecond
	mostBrake = 0.95
)

// paced is a store whose drain leaves room for players, and asks them for some.
type paced struct {
	store.Store
	lag    func() time.Duration // of the store behind the journal
	posted atomic.Uint64        // frames that became durable
	hurry  atomic.Bool          // there is nobody to leave room for
	brake  brake
	drainPace
}

// drainPace is what the drain's goroutine knows of the load.
type drainPace struct {
	seen  uint64        // of posted, at the last Apply
	at    time.Time     // of the last Apply
	began time.Time     // of the load; zero: there is none
	busy  time.Time     // when it was last seen
	bound time.Duration // of the lag; 0: there is none yet
}

// inherit goes on with a load that an image before this one may have had: it is no
// burst any more, or handoffs in a row would let the database fall behind.
func (p *drainPace) inherit(now time.Time) {
	p.at, p.busy, p.began = now, now, now.Add(-burstTime)
}

// Apply writes a batch, and rests.
func (p *paced) Apply(ctx context.Context, b store.Batch) error {
	began := time.Now()
	err := p.Store.Apply(ctx, b)
	if err != nil {
		p.bound = 0 // when it works again, begin where the lag is then
		p.brake.release()
		return err
	}
	now := time.Now()
	if rest := p.next(now, now.Sub(began)); rest > 0 {
		p.sleep(ctx, rest)
	}
	return nil
}

// sleep rests, but not when there is nobody any more to rest for, and no longer
// than a burst.
func (p *paced) sleep(ctx context.Context, rest time.Duration) {
	for ; rest > 0 && ctx.Err() == nil && !p.hurry.Load(); rest -= glance {
		before := p.posted.Load()
		wait(ctx, min(rest, glance))
		if p.posted.Load() == before || p.bound == 0 && !p.burst(time.Now(), p.lag()) {
			return
		}
	}
}

// burst reports whether the load may still be one.
func (p *paced) burst(now time.Time, lag time.Duration) bool {
	return lag < burstLag && now.Sub(p.began) < burstTime
}

// next sets the brake after a batch that took so long, and returns how long the
// drain is to rest.
func (p *paced) next(now time.Time, took time.Duration) (rest time.Duration) {
	elapsed := now.Sub(p.at)
	lag := p.lag()
	p.look(now, lag)
	switch {
	case p.began.IsZero() || p.hurry.Load():
		p.bound = 0
		p.brake.release()
		return 0
	case p.bound == 0 && p.burst(now, lag):
		return min(restShare*took, longRest)
	case p.bound == 0:
		p.bound = max(2*lag, steadyLag)
	default:
		p.bound = max(p.bound-elapsed, steadyLag)
	}
	p.brake.set(brakeAt(lag, p.bound), now.Add(brakeTime+2*took))
	if lag < steadyLag/2 {
		rest = max(batchTime-took, 0) // so that more moves meet in the next batch
	}
	return rest
}

// look finds out whether a load begins, goes on or is over. It is not over while
// the store is behind it.
func (p *paced) look(now time.Time, lag time.Duration) {
	posted := p.posted.Load()
	rate := float64(posted-p.seen) / now.Sub(p.at).Seconds()
	p.seen, p.at = posted, now
	switch {
	case rate >= quietRate:
		p.busy = now
		if p.began.IsZero() {
			p.began = now
		}
	case lag < steadyLag && now.Sub(p.busy) >= time.Second:
		p.began = time.Time{}
	}
}

// brakeAt is the share of its time that the loop leaves at a lag.
func brakeAt(lag, bound time.Duration) float64 {
	over := float64(lag-bound/2) / float64(bound/2)
	return mostBrake * min(max(over, 0), 1)
}

// brakeTime is how long a brake holds without another batch: what takes no
// batches has no say.
const brakeTime = 2 * time.Second

// brake is the backpressure of the drain on the loop: the drain sets it, the loop
// obeys.
type brake struct {
	ratio atomic.Int64 // time to leave per time worked, in thousandths
	ends  atomic.Int64 // when it ends, in ns since 1970
	// What follows is the loop's own.
	debt time.Duration // that it is to leave
	free time.Time     // when it may read again
}

// The pauses of the loop: worth a timer, and too short for a client to send again.
const (
	leastHold = time.Millisecond
	mostHold  = 50 * time.Millisecond
)

// set makes the loop leave a share of its time, until then.
func (b *brake) set(share float64, until time.Time) {
	b.ends.Store(until.UnixNano())
	b.ratio.Store(int64(1000 * share / (1 - share)))
}

func (b *brake) release() { b.ratio.Store(0) }

// share is how much of its time the loop leaves at present.
func (b *brake) share(now time.Time) float64 {
	ratio := float64(b.ratio.Load()) / 1000
	if now.UnixNano() > b.ends.Load() {
		return 0
	}
	return ratio / (1 + ratio)
}

// worked tells of a turn of the loop that took so long.
func (b *brake) worked(now time.Time, took time.Duration) {
	ratio := b.ratio.Load()
	if ratio == 0 || now.UnixNano() > b.ends.Load() {
		b.debt = 0
		return
	}
	if b.debt += took * time.Duration(ratio) / 1000; b.debt >= leastHold {
		b.free = now.Add(min(b.debt, mostHold))
		b.debt = 0
	}
}

// hold is how long the loop is to leave packets where they are.
func (b *brake) hold(now time.Time) time.Duration {
	if b.ratio.Load() == 0 {
		return 0
	}
	return max(b.free.Sub(now), 0)
}
