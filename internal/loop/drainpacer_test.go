package loop

import (
	"errors"
	"log/slog"
	"slices"
	"testing"
	"time"

	"wamble/internal/journal"
)

// TestPace: the pacer's estimates, its limit for the loop, and the drain's pauses.
func TestPace(t *testing.T) {
	const ms = time.Millisecond
	full := journal.Work{Messages: 100, Bytes: fullBatch, Took: 100 * ms} // 1,000 messages a second
	capacity := float64(10 * fullBatch)
	for _, tc := range []struct {
		what  string
		waits int
		work  journal.Work
		hurry bool
		rest  time.Duration
		rate  float64 // that the loop may journal; 0: unlimited
	}{
		{"hardly behind", 100, full, false, batchTime - full.Took, 0},
		{"half of what is wanted", 175, full, false, 0, capacity / 0.9125},
		{"what is wanted", 350, full, false, 0, capacity},
		{"behind", 2350, full, false, 0, capacity / 2},
		{"far behind", 1_000_000, full, false, 0, capacity * minPart},
		{"far behind, and nobody plays", 1_000_000, full, true, 0, 0},
		{"little to do", 3, journal.Work{Messages: 1, Bytes: 100, Took: 20 * ms}, false, 0, 0},
	} {
		p := drainPacer{waiting: func() int { return tc.waits }}
		now := time.Unix(1e9, 0)
		p.next(now, full)
		p.urgent.Store(tc.hurry)
		if got := p.next(now, tc.work).Pause; got != tc.rest {
			t.Errorf("%s: got a rest of %v, want %v", tc.what, got, tc.rest)
		}
		if got := float64(p.backpressure.rate.Load()); got < 0.99*tc.rate || got > 1.01*tc.rate {
			t.Errorf("%s: the loop may put in %.0f bytes a second, want %.0f", tc.what, got, tc.rate)
		}
	}
}

// TestPaceLearns: a small transaction costs the fixed cost of a transaction, and a single one
// that stalls does not lower the estimate much.
func TestPaceLearns(t *testing.T) {
	var p drainPacer
	small := journal.Work{Messages: 1, Bytes: 100, Took: 10 * time.Millisecond}
	for range 10 {
		p.learn(small)
	}
	full := journal.Work{Messages: 100, Bytes: fullBatch, Took: 50 * time.Millisecond}
	for range 200 {
		p.learn(full)
	}
	known, want := p.bytes, 20*float64(fullBatch)
	if known < 0.95*want || known > 1.05*want {
		t.Errorf("after full transactions: %.0f bytes a second, want %.0f", known, want)
	}
	for range 100 {
		p.learn(small)
	}
	if p.bytes != known {
		t.Errorf("small transactions changed %.0f to %.0f", known, p.bytes)
	}
	p.learn(journal.Work{Messages: 100, Bytes: fullBatch, Took: time.Minute})
	if p.bytes < (1-maxWeight)*known-1 {
		t.Errorf("one that stalled made %.0f of %.0f", p.bytes, known)
	}
}

// world simulates a machine with players and a drain. The drain works as fast as the players
// let it: the more they play, the slower it is.
type world struct {
	full  float64 // messages a second that players make without backpressure
	alone float64 // of the drain when nobody plays
	share float64 // of its speed that it loses while they play at full
	size  float64 // bytes of a message
	most  float64 // messages in a transaction

	pace    drainPacer
	now     time.Time
	waiting []arrival
	count   float64
	made    []float64 // by players, in each second
	lags    []time.Duration
	began   time.Time
}

type arrival struct {
	at       time.Time
	messages float64
}

func newWorld(full, alone, share float64) *world {
	w := &world{full: full, alone: alone, share: share, size: 200, most: 40_000, now: time.Unix(1e9, 0)}
	w.began = w.now
	w.pace.waiting = func() int { return int(w.count) }
	return w
}

// play lets players play for a millisecond, and returns how fast they were.
func (w *world) play() float64 {
	rate := w.full
	if limit := float64(w.pace.backpressure.rate.Load()) / w.size; limit > 0 &&
		w.now.UnixNano() <= w.pace.backpressure.ends.Load() {
		rate = min(rate, limit)
	}
	w.waiting = append(w.waiting, arrival{w.now, rate / 1000})
	w.count += rate / 1000
	second := int(w.now.Sub(w.began) / time.Second)
	for len(w.made) <= second {
		w.made, w.lags = append(w.made, 0), append(w.lags, 0)
	}
	w.made[second] += rate / 1000
	w.lags[second] = max(w.lags[second], w.now.Sub(w.waiting[0].at))
	w.now = w.now.Add(time.Millisecond)
	return rate
}

// drain makes transactions until then; each stalls for so long.
func (w *world) drain(until time.Time, stall time.Duration) {
	for w.now.Before(until) {
		batch, n, from := 0.0, 0, w.now
		for ; n < len(w.waiting) && batch < w.most; n++ {
			batch += w.waiting[n].messages
		}
		left := batch
		for left > 0 || w.now.Sub(from) < time.Millisecond+stall {
			rate := w.play()
			left -= w.alone * (1 - w.share*rate/w.full) / 1000
		}
		w.waiting, w.count = w.waiting[n:], w.count-batch
		next := w.pace.next(w.now,
			journal.Work{Messages: max(int(batch), 1), Bytes: int(batch * w.size), Took: w.now.Sub(from)})
		w.most = min(40_000, float64(next.Bytes)/w.size)
		for end := w.now.Add(next.Pause); w.now.Before(end); {
			w.play()
		}
	}
}

func median(list []float64) float64 {
	list = slices.Clone(list)
	slices.Sort(list)
	return list[len(list)/2]
}

// TestSteady: on any simulated machine, the store is at most a second behind, or two before
// the pacer knows its costs; no second is worse than half of the median; and players have
// nearly the rate at which the drain can work beside them.
func TestSteady(t *testing.T) {
	for _, tc := range []struct {
		what               string
		full, alone, share float64
		want               float64 // messages a second
	}{
		{"the drain is faster", 20_000, 60_000, 0.5, 20_000},
		{"the drain is a little slower", 40_000, 60_000, 0.5, 34_285}, // r = alone·(1 − share·r/full)
		{"the drain is much slower", 70_000, 40_000, 0.6, 29_787},
		{"the drain is starved", 60_000, 50_000, 0.9, 28_571},
		{"a slow machine", 3_000, 2_000, 0.3, 1_666},
	} {
		w := newWorld(tc.full, tc.alone, tc.share)
		w.drain(w.began.Add(time.Minute), 0)
		made := w.made[:60]
		if worst, mid := slices.Min(made), median(made); worst < mid/2 {
			t.Errorf("%s: the worst second has %.0f messages, the median %.0f", tc.what, worst, mid)
		}
		if first, later := slices.Max(w.lags[:5]),
			slices.Max(w.lags[5:60]); first > 2*time.Second || later > time.Second {
			t.Errorf("%s: the store was %v behind at first, and %v later", tc.what, first, later)
		}
		if got := median(made[30:]); got < 0.95*tc.want {
			t.Errorf("%s: players made %.0f messages a second, want %.0f", tc.what, got, tc.want)
		}
	}
}

// TestStalls: a store that stalls for a second now and then, as during a checkpoint of the
// database, makes no second worse than half of the median.
func TestStalls(t *testing.T) {
	w := newWorld(40_000, 60_000, 0.5)
	for n := range 6 {
		w.drain(w.began.Add(time.Duration(n+1)*10*time.Second), 0)
		w.drain(w.now.Add(time.Millisecond), time.Second)
	}
	made := w.made[:60]
	if worst, mid := slices.Min(made), median(made); worst < mid/2 {
		t.Errorf("the worst second has %.0f messages, the median %.0f", worst, mid)
	}
}

// TestCatchesUp: after a minute without the store the backlog is gone in a minute, and
// players have half of their former rate, if the drain can take that together.
func TestCatchesUp(t *testing.T) {
	w := newWorld(24_000, 56_000, 0.5)
	w.drain(w.began.Add(10*time.Second), 0)
	w.pace.backpressure.release()
	for range 60_000 {
		w.play()
	}
	back := w.now
	for w.count > w.full && w.now.Sub(back) < 2*time.Minute {
		w.drain(w.now.Add(time.Millisecond), 0)
	}
	if took := w.now.Sub(back); took > time.Minute {
		t.Errorf("the backlog of a minute took %v", took)
	}
	if least := slices.Min(w.made[:len(w.made)-1]); least < w.full/2 {
		t.Errorf("players had %.0f a second, want half of %.0f", least, w.full)
	}
}

// TestNoBackpressureDuringAnOutage: a store that takes no batches causes no backpressure,
// whether it refuses them or hangs.
func TestNoBackpressureDuringAnOutage(t *testing.T) {
	rt := &Runtime{stage: newStage(), o: Options{Log: slog.New(slog.DiscardHandler)}}
	rt.watch = newStorewatch(rt)
	rt.pace.waiting = func() int { return 1_000_000 }
	now := time.Unix(1e9, 0)
	work := journal.Work{Messages: 100, Bytes: fullBatch, Took: 100 * time.Millisecond}
	slowed := func(now time.Time) bool {
		rt.pace.backpressure.free = now
		rt.pace.backpressure.record(now, fullBatch)
		return rt.pace.backpressure.delay(now) > 0
	}
	if rt.pace.next(now, work); !slowed(now) {
		t.Error("a store that is far behind does not slow the loop")
	}
	if later := now.Add(backpressureTTL + time.Second); slowed(later) {
		t.Error("a store that hangs slows the loop for ever")
	}
	rt.pace.next(now, work)
	if rt.onDrainResult(errors.New("away")); slowed(now) {
		t.Error("a store that refuses slows the loop")
	}
}

// TestBackpressure: the loop journals at the permitted rate, in pauses that are worth a
// timer, and reports how long it was held.
func TestBackpressure(t *testing.T) {
	var b backpressure
	now := time.Unix(1e9, 0)
	if b.record(now, 1<<20); b.delay(now) != 0 {
		t.Error("a loop without backpressure was delayed")
	}
	b.set(1_000_000, now.Add(time.Hour))
	if b.record(now, 20_600); b.delay(now) != 0 { // with the credit of an idle loop
		t.Errorf("got a hold of %v, want none shorter than %v", b.delay(now), minDelay)
	}
	b.record(now, 600)
	if got, want := b.delay(now), 1200*time.Microsecond; got != want {
		t.Errorf("got a hold of %v, want %v", got, want)
	}
	if got := b.delay(now.Add(time.Second)); got != 0 {
		t.Errorf("later: got a hold of %v", got)
	}
	if b.record(now, 1<<30); b.delay(now) != maxDelay {
		t.Errorf("got a hold of %v, want at most %v", b.delay(now), maxDelay)
	}
	// A loop that always wakes up a little late, and works for as long as it is held.
	put, began := 0, now
	for end := now.Add(4 * time.Second); now.Before(end); put += 4000 {
		now = now.Add(b.delay(now) + 2*time.Millisecond)
		b.record(now, 4000)
	}
	if got, want := float64(put), 1e6*now.Sub(began).Seconds(); got < 0.98*want || got > 1.02*want {
		t.Errorf("it has put in %.0f bytes, want %.0f", got, want)
	}
	if got := b.share(); got < 0.45 || got > 0.55 {
		t.Errorf("it says that it was held %.2f of its time, want a half", got)
	}
	if now = now.Add(time.Minute); b.delay(now) != 0 {
		t.Error("it is held after a minute in which it did nothing")
	}
	if b.record(now, 1_000*int((maxCredit+10*time.Millisecond)/time.Millisecond)); b.delay(now) != 10*time.Millisecond {
		t.Errorf("after that minute it has a credit of %v, want %v", maxCredit+10*time.Millisecond-b.delay(now),
			maxCredit)
	}
	b.release()
	if b.delay(now) != 0 {
		t.Error("backpressure that was released delays")
	}
	if b.record(now.Add(2*time.Second), 1000); b.share() > 0.01 {
		b.record(now.Add(4*time.Second), 1000)
	}
	if b.share() > 0.01 {
		t.Errorf("released, it says that it was held %.2f of its time", b.share())
	}
}
