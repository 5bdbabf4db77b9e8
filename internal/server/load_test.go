package server

import (
	"context"
	"sync"
	"testing"
	"time"

	"wamble/internal/loader"
)

// load is many clients that play beside a test.
type load struct {
	t      testing.TB
	stop   context.CancelFunc
	done   sync.WaitGroup
	report loader.Report
	err    error
}

// startLoad lets clients play, and returns when they do.
func startLoad(t testing.TB, o loader.Options) *load {
	t.Helper()
	ctx, stop := context.WithCancel(t.Context())
	l, begun := &load{t: t, stop: stop}, make(chan struct{})
	o.Mode, o.Duration, o.Greet, o.Drain = loader.Moves, time.Hour, patience, patience
	o.EverySecond = func(loader.Second) { once(begun) }
	l.done.Go(func() {
		defer once(begun)
		l.report, l.err = loader.Run(ctx, o)
	})
	await(t, begun, "the load has begun")
	return l
}

// end stops it, and returns what was accepted.
func (l *load) end() *loader.Report {
	l.t.Helper()
	l.stop()
	l.done.Wait()
	if l.err != nil {
		l.t.Error(l.err)
	}
	return &l.report
}
