package server

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"wamble"
	"wamble/internal/guard"
	"wamble/internal/host"
	"wamble/internal/loop"
	"wamble/internal/readapi"
	"wamble/internal/transport"
)

// supervisor supervises one profile: a runtime that cannot start, or that fails, is
// reported and started anew from store and journal, after a pause that grows.
// The other profiles do not notice.
type supervisor struct {
	*loop.Runtime
	name  string // of the profile
	shard wamble.Shard
	log   *slog.Logger
	store *Shared
	dumps *dumps

	draining     *atomic.Bool // of the server
	restrictions *host.Restrictions
	stating      sync.Mutex // held while tellState looks and tells
	games        broadcast  // sent when finished games have reached the store
	events       readapi.Stream

	opening   opening
	counting  sync.WaitGroup
	stopCount context.CancelFunc // nil: nobody counts

	part   atomic.Pointer[part] // that the shard is in; nil: it is on another machine
	coming sync.Mutex           // held while the shard comes
	absent absent               // who reads the port meanwhile
	abroad *abroad              // the other machines; nil: there are none
	// stray takes packets for the shard while it is on another machine; nil: they are lost.
	stray    func(profile string, part int, in transport.Arrivals)
	siblings []*supervisor // of the other shards, if this is the first

	bots    atomic.Pointer[houseBots] // nil: none are to be here
	cancel  context.CancelFunc
	done    chan struct{}
	neverUp func() // told when the profile failed before it was ever up

	mu      sync.Mutex
	fails   int
	lastErr error
}

// The pause after a failure, doubled each time; a runtime that ran for calm is
// forgiven.
const (
	firstRestart = 100 * time.Millisecond
	lastRestart  = 30 * time.Second
	calm         = time.Minute
)

// start runs the profile until stop, as far as it is here. It may be started again then.
func (k *supervisor) start() {
	k.seatBots(true)
	for _, l := range k.loops() {
		l.begin()
	}
	var ctx context.Context
	ctx, k.stopCount = context.WithCancel(context.Background())
	if len(k.siblings) > 0 {
		k.counting.Go(func() { guard.Run("the count of players", func() { k.count(ctx) }, k.caught) })
	}
	if k.abroad != nil {
		k.counting.Go(func() { guard.Run("events of other machines", func() { k.follow(ctx) }, k.caught) })
	}
}

// begin runs one shard until end; one that is not here has somebody who reads its port.
func (k *supervisor) begin() {
	if k.isAway() {
		k.absent.begin(k)
		return
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	k.cancel, k.done = cancel, done
	go func() {
		defer close(done)
		for ctx.Err() == nil {
			guard.Run("the supervisor", func() { k.keep(ctx) }, k.caught)
			select {
			case <-ctx.Done():
			case <-time.After(firstRestart): // after a panic
			}
		}
	}()
}

// stop ends the runtime in order: what was decided is durable and sent, the
// sockets are open, and what the store lacks is in the journal.
func (k *supervisor) stop() {
	k.seatBots(false)
	if k.stopCount != nil {
		k.stopCount()
	}
	k.each("the end of a shard", (*supervisor).end)
	k.counting.Wait()
}

// end is stop for one shard.
func (k *supervisor) end() {
	k.absent.end()
	if k.cancel != nil {
		k.cancel()
		<-k.done
		k.cancel = nil
	}
}

func (k *supervisor) keep(ctx context.Context) {
	pause := firstRestart
	for {
		began := time.Now()
		err := k.attempt(ctx)
		if ctx.Err() != nil {
			return
		}
		if time.Since(began) > calm {
			pause = firstRestart
		}
		k.report(err, pause)
		select {
		case <-ctx.Done(): // the attempt that follows forgets the drain
		case <-time.After(pause):
		}
		pause = min(2*pause, lastRestart)
	}
}

// attempt runs the profile once. A panic on this goroutine is an error as well.
func (k *supervisor) attempt(ctx context.Context) (err error) {
	defer guard.Into(&err, "the start")
	return k.Run(ctx)
}

func (k *supervisor) report(err error, pause time.Duration) {
	var p *guard.Panic
	if errors.As(err, &p) {
		k.CountPanic()
	}
	k.mu.Lock()
	k.fails++
	k.lastErr = err
	k.mu.Unlock()
	k.Failed(fmt.Sprintf("failed, to be started again: %v", err))
	k.log.Error("the profile has failed; it is started again", "err", err, "pause", pause, "dump", k.dumps.write(k.log, "crash", k.name, err))
	select {
	case <-k.Up():
	default:
		k.neverUp()
	}
}

// failures returns how often the profile has failed, and how last.
func (k *supervisor) failures() (n int, last error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.fails, k.lastErr
}
