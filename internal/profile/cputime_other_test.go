//go:build !linux

package profile

import "time"

var began = time.Now()

// cpuTime is the wall clock where there is no clock of the thread.
func cpuTime() time.Duration { return time.Since(began) }
