//go:build !linux

package pglog

import "time"

var began = time.Now()

// bootTime returns the time since this process began. The clock may stop while the machine
// sleeps: the epoch still prevents two holders, but such a machine may at first send old data.
func bootTime() time.Duration { return time.Since(began) }
