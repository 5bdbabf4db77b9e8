//go:build !linux

package postgres

import (
	"syscall"
	"time"
)

// userTimeout returns nil: without that option keepalive and the timeouts of calls must do.
func userTimeout(time.Duration) func(network, address string, c syscall.RawConn) error { return nil }
