package runner

import (
	"context"
	"errors"
	"math/rand/v2"
	"time"
)

// AttemptPolicy bounds the attempts of a transaction that meets conflicts. Zero means the
// default.
type AttemptPolicy struct {
	// Retries is the number of attempts after the first; default 3, negative means none.
	Retries int
	// Backoff before the first retry, default 250 µs; it doubles up to
	// MaxBackoff, default 10 ms. A negative Backoff means no wait.
	Backoff    time.Duration
	MaxBackoff time.Duration
	// NoJitter makes every wait as long as possible; otherwise it is drawn from the upper half.
	NoJitter bool
}

func (p AttemptPolicy) withDefaults() AttemptPolicy {
	if p.Retries == 0 {
		p.Retries = 3
	}
	if p.Backoff == 0 {
		p.Backoff = 250 * time.Microsecond
	}
	set(&p.MaxBackoff, 10*time.Millisecond)
	return p
}

// backoff returns the wait before retry n, n from 0.
func (p AttemptPolicy) backoff(n int) time.Duration {
	d := max(p.Backoff, 0)
	for ; n > 0 && d > 0 && d < p.MaxBackoff; n-- {
		d *= 2
	}
	d = min(d, p.MaxBackoff)
	if d > 1 && !p.NoJitter {
		d = d/2 + rand.N(d/2)
	}
	return d
}

// AttemptStats describes the attempts of an Update.
type AttemptStats struct {
	Attempts  int
	Retries   int
	Conflicts int // retries after ErrConflict
	Busy      int // retries after Retry, ErrNesting or ErrBusy
}

// Update runs f in a transaction of its own and commits it. If the commit or f returns
// ErrConflict, ErrNesting, ErrBusy or Retry, it starts again with a new snapshot, up to
// p.Retries times. Any other error of f ends it.
func (r *Runner) Update(ctx context.Context, p AttemptPolicy, f func(tx *Tx) error) (AttemptStats, error) {
	p = p.withDefaults()
	var s AttemptStats
	for {
		s.Attempts++
		err := r.updateOnce(ctx, f)
		var retry *retryError
		conflict := errors.Is(err, ErrConflict)
		again := conflict || errors.Is(err, ErrNesting) || errors.Is(err, ErrBusy) || errors.As(err, &retry)
		if !again || s.Retries >= p.Retries || ctx.Err() != nil {
			return s, err
		}
		if conflict {
			s.Conflicts++
		} else {
			s.Busy++
		}
		if d := p.backoff(s.Retries); d > 0 {
			r.o.Sleep(ctx, nil, d)
		}
		s.Retries++
	}
}

func (r *Runner) updateOnce(ctx context.Context, f func(tx *Tx) error) error {
	e := r.engine()
	tx := &Tx{src: &txSource{e: e}}
	if err := e.prepare(tx, f); err != nil {
		return err
	}
	return e.do(ctx, func(c *commit) error {
		if c.noSpace != nil && len(tx.writes)+len(tx.effects) > 0 {
			return c.noSpace
		}
		return c.commitTx(tx)
	})
}

// prepare runs f, which may end the goroutine.
func (e *engine) prepare(tx *Tx, f func(tx *Tx) error) (err error) {
	if err := e.enter(); err != nil {
		return err
	}
	defer e.exit()
	if err := e.failure(); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, tx.close()) }()
	return guard(func() error { return f(tx) })
}

// View runs f on a snapshot of the application's state.
func (r *Runner) View(f func(get func(key []byte) ([]byte, error)) error) (err error) {
	e := r.engine()
	if err := e.enter(); err != nil {
		return err
	}
	defer e.exit()
	tx := &Tx{src: &txSource{e: e}}
	defer func() { err = errors.Join(err, tx.close()) }()
	return f(tx.Get)
}
