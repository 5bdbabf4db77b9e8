//go:build !linux

package pglog

import "time"

var began = time.Now()

// bootTime is the time since this process began. It may stand still while the machine
// sleeps: the epoch still keeps holders apart, but what such a machine says first may
// be old.
func bootTime() time.Duration { return time.Since(began) }
