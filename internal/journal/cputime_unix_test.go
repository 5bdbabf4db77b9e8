//go:build unix

package journal_test

import (
	"syscall"
	"time"
)

// cpuTime is what this process has used of the processors: on a busy machine it
// says more than the clock.
func cpuTime() time.Duration {
	var u syscall.Rusage
	if syscall.Getrusage(syscall.RUSAGE_SELF, &u) != nil {
		return 0
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
