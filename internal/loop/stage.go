package loop

import (
	"fmt"
	"sync"
)

// stage says whether a profile serves players, and if not, what it waits for.
type stage struct {
	mu    sync.Mutex
	isUp  bool
	why   string
	tried bool          // it could not start at its first attempt
	err   error         // of the last run; nil if the profile has been ready since
	upped chan struct{} // closed when the profile was ready for the first time
	once  sync.Once
}

func newStage() *stage { return &stage{why: "starting", upped: make(chan struct{})} }

// stuck records what a profile waits for that could not start.
func (s *stage) stuck(why string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.isUp, s.why, s.tried = false, why, true
}

func (s *stage) set(why string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.isUp, s.why = false, why
}

func (s *stage) setError(err error) {
	s.mu.Lock()
	s.err = err
	s.mu.Unlock()
}

func (s *stage) ready() {
	s.mu.Lock()
	s.isUp, s.why, s.err = true, "ready", nil
	s.mu.Unlock()
	s.once.Do(func() { close(s.upped) })
}

// Stage returns whether the profile serves players, and "ready" or what it waits for, with the error that ended
// the last run.
func (rt *Runtime) Stage() (up bool, why string) {
	rt.stage.mu.Lock()
	defer rt.stage.mu.Unlock()
	if err := rt.stage.err; err != nil {
		return false, fmt.Sprintf("%s, after a failure: %v", rt.stage.why, err)
	}
	return rt.stage.isUp, rt.stage.why
}

// Stuck reports whether the profile could not start at its first attempt: it failed, or waits for its
// database.
func (rt *Runtime) Stuck() bool {
	rt.stage.mu.Lock()
	defer rt.stage.mu.Unlock()
	return rt.stage.tried
}

// Failed records the error that ended a run. The profile is started again.
func (rt *Runtime) Failed(err error) {
	rt.stage.stuck("to be started again")
	rt.stage.setError(err)
}

// Lived reports whether the profile has ever had a loop. Without one it has decided nothing.
func (rt *Runtime) Lived() bool { return rt.loop.Load() != nil }

// Up returns a channel that is closed when the profile has served players for the first time.
func (rt *Runtime) Up() <-chan struct{} { return rt.stage.upped }
