package server

import (
	"cmp"
	"context"
	"errors"
	"time"

	"wamble/internal/host"
	"wamble/runner"
)

// How long a start waits for the journal of a process that does not answer, and how
// long it gives that to answer. The kernel takes a process that was killed apart before
// it gives its locks back: a second for some gigabytes of memory.
const (
	lockTime   = 10 * time.Second
	lockAnswer = 500 * time.Millisecond
	lockPause  = 20 * time.Millisecond
)

// awaitLock opens the journal again and again while another process has it, unless that
// is a server that answers.
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
