package runner

import (
	"fmt"
	"sync"
	"sync/atomic"
	"time"
)

// spaceGauge caches the free space, which commits read every spaceEvery, and after every eighth
// of Options.MinFree.
type spaceGauge struct {
	checked time.Time // used by the committer
	since   int64     // bytes committed since then
	low     atomic.Pointer[error]
	near    atomic.Bool // the space is less than twice MinFree
}

const spaceEvery = 250 * time.Millisecond

// checkSpace returns why nothing new is accepted, or nil. Only the committer calls it.
func (e *engine) checkSpace(now time.Time) error {
	if e.o.MinFree < 0 {
		return nil
	}
	if d := now.Sub(e.space.checked); d < 0 || d >= spaceEvery || e.space.since >= e.o.MinFree/8 {
		e.space.checked, e.space.since = now, 0
		e.look()
		if e.space.near.Load() {
			e.tend.hurry(e)
		}
	}
	return e.noSpace()
}

// noSpace returns the error of the last look, an ErrNoSpace with advice, or nil.
func (e *engine) noSpace() error {
	if low := e.space.low.Load(); low != nil {
		return *low
	}
	return nil
}

// look asks the storage for its free space.
func (e *engine) look() {
	if e.o.MinFree < 0 {
		return
	}
	free, err := e.back.Free()
	least := uint64(e.o.MinFree)
	e.space.near.Store(err == nil && free/2 < least)
	if err != nil || free >= least {
		e.space.low.Store(nil)
		return
	}
	why := fmt.Errorf("%w: %d MB are left for %s, %d MB are to stay free; it goes on by itself when there is room",
		ErrNoSpace, free>>20, e.name, least>>20)
	e.space.low.Store(&why)
}

// tender shrinks the storage when nothing was committed for a while, and while there is little
// space. Its timer runs only if there may be work.
type tender struct {
	armed   atomic.Bool
	mu      sync.Mutex
	timer   *time.Timer
	soon    bool
	stopped bool
	commits uint64 // number of commits at the last look
}

const (
	// idleAfter is the time without a commit after which the storage is shrunk.
	idleAfter = 5 * time.Second
	// lowEvery is the interval of looks while there is little space.
	lowEvery = time.Second
)

// wake schedules a look after a commit. The committer calls it.
func (t *tender) wake(e *engine) {
	if !t.armed.Load() {
		t.plan(e, idleAfter)
	}
}

// hurry schedules a look at once, unless one is due soon.
func (t *tender) hurry(e *engine) {
	t.mu.Lock()
	soon := t.soon
	t.mu.Unlock()
	if !soon {
		t.plan(e, 0)
	}
}

func (t *tender) plan(e *engine, d time.Duration) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.stopped {
		return
	}
	t.armed.Store(true)
	t.soon = d < idleAfter
	if t.timer == nil {
		t.timer = time.AfterFunc(d, e.tendSpace)
		return
	}
	t.timer.Reset(d)
}

// stop ends the timer; a look in progress may still finish.
func (t *tender) stop() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.stopped = true
	if t.timer != nil {
		t.timer.Stop()
	}
}

// tendSpace looks, shrinks the storage if it is idle or short of space, and schedules the next
// look.
func (e *engine) tendSpace() {
	_ = guard(func() error {
		if e.failed.Load() {
			return nil
		}
		e.look()
		t := &e.tend
		commits := e.k.commits.Load()
		t.mu.Lock()
		idle := commits == t.commits
		t.commits = commits
		t.mu.Unlock()
		if idle || e.space.near.Load() {
			// An error is ignored: it occurs again in a call that reports it.
			_ = e.back.Shrink()
			e.look()
		}
		switch {
		case e.space.near.Load():
			t.plan(e, lowEvery)
		case idle:
			t.rest(e)
		default:
			t.plan(e, idleAfter)
		}
		return nil
	})
}

// rest makes the next commit schedule the next look; a commit since then does so now.
func (t *tender) rest(e *engine) {
	t.mu.Lock()
	t.soon = false
	commits := t.commits
	t.mu.Unlock()
	t.armed.Store(false)
	if e.k.commits.Load() != commits {
		t.wake(e)
	}
}
