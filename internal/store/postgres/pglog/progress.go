package pglog

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
)

// slowest is the lowest rate in bytes per second at which a database is expected to sort, or to
// replicate to its standby.
const slowest = 8 << 20

// progress is the context of work on a log that may be large: the whole has no time limit, but
// each wait for the database has.
type progress struct {
	context.Context
	patience time.Duration
	timer    *time.Timer
	end      func()
}

// newProgress returns a progress whose first wait has begun.
func newProgress(ctx context.Context, patience time.Duration) *progress {
	ctx, cancel := context.WithCancelCause(ctx)
	p := &progress{Context: ctx, patience: patience}
	p.timer = time.AfterFunc(patience,
		func() { cancel(fmt.Errorf("the database has sent and taken nothing for %v", patience)) })
	p.end = func() {
		p.timer.Stop()
		cancel(nil)
	}
	return p
}

// wait begins a wait for the database, which has n bytes to process before it answers.
func (p *progress) wait(n int64) {
	p.timer.Reset(p.patience + time.Duration(n)*time.Second/slowest)
}

// work ends a wait: this process is working.
func (p *progress) work() { p.timer.Stop() }

// next waits for the next row.
func (p *progress) next(rows pgx.Rows) bool {
	p.wait(0)
	return rows.Next()
}

// patiently calls do with a connection that has no statement_timeout.
func (l *Log) patiently(ctx context.Context, c *pgx.Conn, do func(*progress) error) error {
	p := newProgress(ctx, l.o.Patience+l.o.Lease/2)
	defer p.end()
	_, err := c.Exec(p, `SET statement_timeout = 0`)
	if err == nil {
		err = do(p)
	}
	if err == nil {
		p.wait(0)
		_, err = c.Exec(p, `RESET statement_timeout`)
	}
	if err != nil && ctx.Err() == nil && p.Err() != nil {
		return fmt.Errorf("%w: %w", context.Cause(p), err)
	}
	return err
}
