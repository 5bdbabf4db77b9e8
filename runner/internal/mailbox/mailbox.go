// Package mailbox lets the tests of package runner and of its storages do what programs must
// not do to a single row: store it at a chosen number, and take an expired lease. Package
// runner sets the variables.
package mailbox

import (
	"context"
	"time"
)

// Claim takes the lease of a row of r, a *runner.Runner, until deadline, for a claimant that is
// not a worker. It returns runner.ErrNotFound if there is no such row, and runner.ErrLeased
// while its lease is valid.
var Claim func(ctx context.Context, r any, worker, seq uint64, deadline time.Time) error

// Insert stores bytes as a message at an unused number. It checks only their size, so that they
// can be like those of another program.
var Insert func(ctx context.Context, r any, worker, seq uint64, frame []byte) error
