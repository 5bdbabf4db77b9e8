package loop

import (
	"math"
	"sync/atomic"
	"time"

	"wamble/internal/journal"
)

// The pace of the drain, and of the loop that fills the journal.
//
// The drain measures its throughput: the bytes of frames that it moves to the store per second of work. The
// backlog divided by the throughput is the work that the drain is behind. From half of wantedWork on the
// loop is slowed down: at wantedWork it may put into the journal what the drain can take, below it more, above
// it less. So the share of the machine that the loop leaves to the drain follows the cost of the drain's
// work, from the first second on. The change is gradual: players wait a little longer, and no request is
// refused.
//
// Far behind, as after an outage, players keep a third of the drain's throughput. If that throughput is 1.5
// times the load before, they have half of that load, and the backlog takes as long to go as it took to
// build up. The drain plans transactions ahead then, but not while it is close behind: waiting lets more
// messages share a transaction.
//
// Backpressure lasts only while the store takes batches: an outage never slows down play.
const (
	batchTime  = 400 * time.Millisecond
	batchWork  = 250 * time.Millisecond
	wantedWork = 350 * time.Millisecond
	reaction   = 2 * time.Second // further behind, the loop may put in half
	minPart    = 1.0 / 3
	farBehind  = 2 * time.Second
	farAhead   = 4 // transactions
	// A cost is mostly forgotten after memory of work; one transaction, however long, weighs at most
	// maxWeight.
	costMemory = time.Second
	maxWeight  = 0.25
	// fullBatch is the size in bytes from which a transaction's cost tells the throughput. A smaller
	// transaction costs mainly the fixed price of a transaction.
	fullBatch = 64 << 10
	// backpressureTTL is how long the backpressure lasts without another transaction: a store that takes no
	// batches must not slow the loop.
	backpressureTTL = 2 * time.Second
)

// drainPacer is used by the drain's goroutine, except urgent and backpressure.
type drainPacer struct {
	waiting      func() int  // messages that the store does not have
	urgent       atomic.Bool // no players have to be left processor time
	backpressure backpressure
	// What the drain takes per second of work; 0 if not known yet.
	bytes, messages float64
}

// next sets the backpressure after a transaction, and returns the bounds of the next one. A drain that is close
// behind rests, so that more messages share the next transaction. A transaction takes about batchWork,
// because the backpressure changes only between two of them.
func (p *drainPacer) next(now time.Time, w journal.Work) (next journal.Next) {
	p.learn(w)
	next.Bytes = max(int(p.bytes*batchWork.Seconds()), fullBatch)
	behind := p.behind()
	if behind >= farBehind {
		next.Ahead = farAhead
	}
	switch {
	case p.urgent.Load():
		p.backpressure.release()
	case behind >= wantedWork/2:
		part := 1 / (1 + (behind-wantedWork).Seconds()/reaction.Seconds())
		p.backpressure.set(max(part, minPart)*p.bytes, now.Add(backpressureTTL+2*w.Took))
	default:
		p.backpressure.release()
		if w.Bytes >= fullBatch {
			next.Pause = max(batchTime-w.Took, 0)
		}
	}
	return next
}

// learn adds the cost of a transaction to the known costs.
func (p *drainPacer) learn(w journal.Work) {
	took := max(w.Took, time.Microsecond).Seconds()
	bytes, messages := float64(w.Bytes)/took, float64(w.Messages)/took
	switch {
	case p.bytes == 0, w.Bytes < fullBatch && bytes > p.bytes:
		p.bytes, p.messages = bytes, messages
	case w.Bytes >= fullBatch:
		weight := min(1-math.Exp(-took/costMemory.Seconds()), maxWeight)
		p.bytes += weight * (bytes - p.bytes)
		p.messages += weight * (messages - p.messages)
	}
}

// behind returns how long the drain would work on the backlog.
func (p *drainPacer) behind() time.Duration {
	return time.Duration(float64(p.waiting()) / p.messages * float64(time.Second))
}

// backpressure bounds what the loop puts into the journal. The drain sets it, the loop obeys it.
type backpressure struct {
	rate      atomic.Int64 // bytes per second; 0: no backpressure
	ends      atomic.Int64 // when it ends, in ns since 1970
	heldShare atomic.Int64 // thousandths of its time that the loop paused in the last second
	// The loop alone uses the other fields.
	free     time.Time     // when it may read again
	since    time.Time     // when the present second began
	heldTime time.Duration // in the present second
}

// The pauses of the loop are long enough for a timer, and too short for a client to resend. What the loop
// did not put in because it woke up late or was busy it may put in later, up to the worth of maxCredit.
const (
	minDelay  = time.Millisecond
	maxDelay  = 50 * time.Millisecond
	maxCredit = 20 * time.Millisecond
)

// set lets the loop put rate bytes per second into the journal, until the given time.
func (b *backpressure) set(rate float64, until time.Time) {
	b.ends.Store(until.UnixNano())
	b.rate.Store(max(int64(rate), 1))
}

func (b *backpressure) release() { b.rate.Store(0) }

// share returns the recent share of its time for which the loop paused.
func (b *backpressure) share() float64 { return float64(b.heldShare.Load()) / 1000 }

// record records how many bytes a turn of the loop has put into the journal.
func (b *backpressure) record(now time.Time, bytes int) {
	before := max(b.free.Sub(now), -maxCredit)
	after := before
	if rate := b.rate.Load(); rate > 0 && now.UnixNano() <= b.ends.Load() {
		worth := time.Duration(float64(bytes) / float64(rate) * float64(time.Second))
		after = min(before+worth, maxDelay)
	}
	b.free = now.Add(after)
	b.heldTime += max(after, 0) - max(before, 0)
	if passed := now.Sub(b.since); passed >= time.Second {
		b.heldShare.Store(min(int64(1000*b.heldTime/passed), 1000))
		b.since, b.heldTime = now, 0
	}
}

// delay returns how long the loop must leave packets in the socket.
func (b *backpressure) delay(now time.Time) time.Duration {
	if wait := b.free.Sub(now); wait >= minDelay && b.rate.Load() != 0 {
		return wait
	}
	return 0
}
