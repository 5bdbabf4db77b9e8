//go:build !linux

package profile

import "time"

var began = time.Now()

// cpuTime returns the wall-clock time on systems without a clock of the thread.
func cpuTime() time.Duration { return time.Since(began) }
