// Package mailbox lets the tests of package runner and of its storages do to a single
// row what no program may: put it at a chosen number, and take it from whoever has it
// when its lease is over. Package runner fills it in.
package mailbox

import (
	"context"
	"time"
)

// Claim takes the lease of a row of r, a *runner.Runner, for a claimant that is no
// worker, until deadline. It is refused with runner.ErrNotFound without such a row, and
// with runner.ErrLeased while its lease holds.
var Claim func(ctx context.Context, r any, worker, seq uint64, deadline time.Time) error

// Insert stores bytes as a message at a number that was not used yet. They are not
// checked beyond their size, as those that another program left.
var Insert func(ctx context.Context, r any, worker, seq uint64, frame []byte) error
