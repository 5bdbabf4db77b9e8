package loop

import (
	"math"
	"sync/atomic"
	"time"

	"wamble/internal/journal"
)

// The pace of the drain, and of the loop that fills the journal.
//
// The drain measures what it can take: the bytes of frames that it brings to the
// store in a second of work. What waits, divided by that, is the work that it is
// behind. From half of wantedWork on the loop is braked: at wantedWork it may put
// into the journal what the drain can take, below it more, above it less. So the
// share of the machine that the loop leaves to the drain follows from what the
// drain's work costs, from the first second on. Nothing jerks; players wait a
// little longer, nobody is refused, and the store follows.
//
// Far behind, as after an outage, players keep a third of what the drain can take.
// If that is 1.5 times of what they played before, they have half of it, and the
// backlog is gone in the time that made it. The drain plans ahead then. It does not while
// it follows closely: what waits a little longer meets more in a transaction.
//
// There is no brake unless the store takes batches: an outage never slows down
// play.
const (
	batchTime  = 400 * time.Millisecond
	batchWork  = 250 * time.Millisecond
	wantedWork = 350 * time.Millisecond
	reaction   = 2 * time.Second // further behind, the loop may put in half
	leastPart  = 1.0 / 3
	farBehind  = 2 * time.Second
	farAhead   = 4 // transactions
	// A cost is mostly forgotten after memory of work; one transaction, however
	// long it took, is at most a part of what is known.
	memory   = time.Second
	mostNews = 0.25
	// fullBatch are the bytes of a transaction whose cost tells what the drain can
	// take. A smaller one costs what a transaction costs.
	fullBatch = 64 << 10
	// brakeTime is how long a brake holds without another batch: what takes no
	// batches has no say.
	brakeTime = 2 * time.Second
)

// pace is the drain's, but for hurry and the brake.
type pace struct {
	waits func() int  // messages that the store does not have
	hurry atomic.Bool // there is nobody to leave room for
	brake brake
	// What the drain takes in a second of work; 0: it is not known yet.
	bytes, messages float64
}

// next sets the brake after a transaction, and returns how the drain goes on: it rests
// while it is hardly behind a load, so that more meets in the next transaction; and that
// takes about batchWork, because only between two of them the brake follows.
func (p *pace) next(now time.Time, w journal.Work) (next journal.Next) {
	p.learn(w)
	next.Bytes = max(int(p.bytes*batchWork.Seconds()), fullBatch)
	behind := p.behind()
	if behind >= farBehind {
		next.Ahead = farAhead
	}
	switch {
	case p.hurry.Load():
		p.brake.release()
	case behind >= wantedWork/2:
		part := 1 / (1 + (behind-wantedWork).Seconds()/reaction.Seconds())
		p.brake.set(max(part, leastPart)*p.bytes, now.Add(brakeTime+2*w.Took))
	default:
		p.brake.release()
		if w.Bytes >= fullBatch {
			next.Rest = max(batchTime-w.Took, 0)
		}
	}
	return next
}

// learn takes a transaction into what is known of the costs.
func (p *pace) learn(w journal.Work) {
	took := max(w.Took, time.Microsecond).Seconds()
	bytes, messages := float64(w.Bytes)/took, float64(w.Messages)/took
	switch {
	case p.bytes == 0, w.Bytes < fullBatch && bytes > p.bytes:
		p.bytes, p.messages = bytes, messages
	case w.Bytes >= fullBatch:
		news := min(1-math.Exp(-took/memory.Seconds()), mostNews)
		p.bytes += news * (bytes - p.bytes)
		p.messages += news * (messages - p.messages)
	}
}

// behind is how long the drain would work for what waits.
func (p *pace) behind() time.Duration {
	return time.Duration(float64(p.waits()) / p.messages * float64(time.Second))
}

// brake bounds what the loop may put into the journal: the drain sets it, the loop
// obeys.
type brake struct {
	rate atomic.Int64 // bytes a second; 0: there is no brake
	ends atomic.Int64 // when it ends, in ns since 1970
	held atomic.Int64 // thousandths of its time that the loop was held, lately
	// What follows is the loop's own.
	free  time.Time     // when it may read again
	since time.Time     // when the present second began
	holds time.Duration // in the present second
}

// The pauses of the loop: worth a timer, and too short for a client to send again. What it
// did not put in because it woke up late, or had other things to do, it may put in later,
// up to what mostCredit is worth.
const (
	leastHold  = time.Millisecond
	mostHold   = 50 * time.Millisecond
	mostCredit = 20 * time.Millisecond
)

// set lets the loop put so many bytes a second into the journal, until then.
func (b *brake) set(rate float64, until time.Time) {
	b.ends.Store(until.UnixNano())
	b.rate.Store(max(int64(rate), 1))
}

func (b *brake) release() { b.rate.Store(0) }

// share is how much of its time the loop was held lately.
func (b *brake) share() float64 { return float64(b.held.Load()) / 1000 }

// put tells of a turn of the loop that has put so much into the journal.
func (b *brake) put(now time.Time, bytes int) {
	before := max(b.free.Sub(now), -mostCredit)
	after := before
	if rate := b.rate.Load(); rate > 0 && now.UnixNano() <= b.ends.Load() {
		worth := time.Duration(float64(bytes) / float64(rate) * float64(time.Second))
		after = min(before+worth, mostHold)
	}
	b.free = now.Add(after)
	b.holds += max(after, 0) - max(before, 0)
	if passed := now.Sub(b.since); passed >= time.Second {
		b.held.Store(min(int64(1000*b.holds/passed), 1000))
		b.since, b.holds = now, 0
	}
}

// hold is how long the loop is to leave packets where they are.
func (b *brake) hold(now time.Time) time.Duration {
	if hold := b.free.Sub(now); hold >= leastHold && b.rate.Load() != 0 {
		return hold
	}
	return 0
}
