package runner

import (
	"fmt"
	"sync"
	"sync/atomic"
	"time"
)

// spaceGauge remembers the free space, which commits ask for every spaceEvery, and
// after every eighth of the watermark.
type spaceGauge struct {
	checked time.Time // by the committer
	since   int64     // bytes that were committed after it
	low     atomic.Pointer[error]
	near    atomic.Bool // it would be low soon
}

const spaceEvery = 250 * time.Millisecond

// checkSpace returns why nothing new is accepted, or nil. It is called by the
// committer only.
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

// noSpace returns ErrNoSpace with what to do, as of the last look, or nil.
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
	why := fmt.Errorf("%w: %d MB are left for %s, %d MB are to stay free; it goes on by itself when there is room", ErrNoSpace, free>>20, e.name, least>>20)
	e.space.low.Store(&why)
}

// tender gives space back: when nothing was committed for a while, and while there
// is little. Its timer runs only when there may be something to do.
type tender struct {
	armed   atomic.Bool
	mu      sync.Mutex
	timer   *time.Timer
	soon    bool
	stopped bool
	commits uint64 // at the last look
}

const (
	// idleAfter is how long nothing was committed when the storage shrinks.
	idleAfter = 5 * time.Second
	// lowEvery is how often the space is looked at while there is little.
	lowEvery = time.Second
)

// wake plans a look after a commit. It is called by the committer.
func (t *tender) wake(e *engine) {
	if !t.armed.Load() {
		t.plan(e, idleAfter)
	}
}

// hurry plans a look at once, if the one planned is not soon.
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

// stop ends the timer; a look that is under way may still end.
func (t *tender) stop() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.stopped = true
	if t.timer != nil {
		t.timer.Stop()
	}
}

// tendSpace looks, shrinks the storage if it is idle or short of space, and plans
// the next look.
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
			// What fails here fails again where somebody waits for it.
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

// rest lets the next commit plan the next look; one that came meanwhile does.
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
