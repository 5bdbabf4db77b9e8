//go:build unix

package journal_test

import (
	"syscall"
	"time"
)

// cpuTime returns the processor time of this process: on a busy machine it is more exact than
// the clock.
func cpuTime() time.Duration {
	var u syscall.Rusage
	if syscall.Getrusage(syscall.RUSAGE_SELF, &u) != nil {
		return 0
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
