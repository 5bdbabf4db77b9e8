package profile

import (
	"time"

	"golang.org/x/sys/unix"
)

// cpuTime is how long this thread has run: what other processes take of a busy
// machine does not count.
func cpuTime() time.Duration {
	var ts unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_THREAD_CPUTIME_ID, &ts); err != nil {
		panic(err)
	}
	return time.Duration(ts.Nano())
}
