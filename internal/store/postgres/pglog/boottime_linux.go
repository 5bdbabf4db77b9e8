package pglog

import (
	"time"

	"golang.org/x/sys/unix"
)

// bootTime returns the time since the machine was booted, including its sleep.
func bootTime() time.Duration {
	var t unix.Timespec
	if unix.ClockGettime(unix.CLOCK_BOOTTIME, &t) != nil {
		return time.Since(began)
	}
	return time.Duration(t.Nano())
}

var began = time.Now()
