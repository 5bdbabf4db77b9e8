//go:build !linux

package postgres

import (
	"syscall"
	"time"
)

// userTimeout is not known here: keepalive and the timeouts of calls do it alone.
func userTimeout(time.Duration) func(network, address string, c syscall.RawConn) error { return nil }
