package server

import (
	"cmp"
	"context"
	"errors"
	"time"

	"wamble/internal/host"
	"wamble/runner"
)

// The waiting of a start for a locked journal or pid file. The kernel releases the locks of
// a killed process only after its memory: a second for some gigabytes.
const (
	lockTime   = 10 * time.Second       // longest wait for the journal
	lockAnswer = 500 * time.Millisecond // for the answer of a running server, and for the pid file
	lockPause  = 20 * time.Millisecond  // between two attempts
)

// awaitLock tries to open the journal for lockTime while another process has it locked. If
// that process answers at the control socket, it returns runner.ErrLocked at once.
func (s *Server) awaitLock(open func() (*runner.Runner, error)) (*runner.Runner, error) {
	most := cmp.Or(s.o.LockTime, lockTime)
	ctx, cancel := context.WithTimeout(context.Background(), cmp.Or(s.o.LockAnswer, lockAnswer))
	defer cancel()
	if err := host.Ask(ctx, s.dir, "status", nil, new(host.Status)); err == nil {
		return nil, runner.ErrLocked
	}
	s.log.Warn("another process uses the journal, and does not answer; waiting whether it ends", "journal", JournalDir(s.dir), "at most", most)
	for end := time.Now().Add(most); ; time.Sleep(lockPause) {
		r, err := open()
		if !errors.Is(err, runner.ErrLocked) || time.Now().After(end) {
			return r, err
		}
	}
}
