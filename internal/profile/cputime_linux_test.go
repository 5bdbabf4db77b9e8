package profile

import (
	"time"

	"golang.org/x/sys/unix"
)

// cpuTime returns how long this thread has run: time taken by other processes of a busy
// machine does not count.
func cpuTime() time.Duration {
	var ts unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_THREAD_CPUTIME_ID, &ts); err != nil {
		panic(err)
	}
	return time.Duration(ts.Nano())
}
