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

// supervisor runs one shard of a profile. A runtime that cannot start, or that fails, is
// logged and started again from store and journal after a growing pause, independently of
// the other profiles. The supervisor of the first shard stands for the profile.
type supervisor struct {
	*loop.Runtime
	name  string // of the profile
	shard wamble.Shard
	log   *slog.Logger
	store *Shared
	dumps *dumps

	draining     *atomic.Bool // of the server
	restrictions *host.Restrictions
	stating      sync.Mutex // held by tellState
	games        broadcast  // sent when finished games have reached the store
	events       readapi.Stream

	opening   opening
	counting  sync.WaitGroup     // goroutines of count and follow
	stopCount context.CancelFunc // ends them; nil before start

	part   atomic.Pointer[part] // partition of the shard; nil if another node has it
	coming sync.Mutex           // held while part is checked for events or set
	absent absent               // reads the port while another node has the shard
	abroad *abroad              // the other nodes; nil if the journal is not distributed
	// stray forwards packets for the shard while another node has it; nil drops them.
	stray    func(profile string, part int, in transport.Arrivals)
	siblings []*supervisor // of the other shards, if this is the first

	bots    atomic.Pointer[houseBots] // nil if none run on this node
	cancel  context.CancelFunc        // ends keep; nil if it does not run
	done    chan struct{}             // closed when keep has ended
	neverUp func()                    // called after a failure of a runtime that was never up

	mu      sync.Mutex // guards what follows
	fails   int
	lastErr error
}

// The pause after a failure begins at firstRestart and doubles up to lastRestart. It begins
// anew after a runtime has run for calm.
const (
	firstRestart = 100 * time.Millisecond
	lastRestart  = 30 * time.Second
	calm         = time.Minute
)

// start runs the shards on this node until stop. It may be called again after stop.
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

// begin runs one shard until end. If another node has the shard, its port is read and the
// packets are forwarded.
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

// stop ends all shards in order: what was decided is durable and sent, and what the store
// lacks is in the journal. The sockets stay open.
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

// keep runs the shard and starts it again after each failure, until ctx ends.
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
		case <-ctx.Done(): // the next attempt drops the drain and returns
		case <-time.After(pause):
		}
		pause = min(2*pause, lastRestart)
	}
}

// attempt runs the shard once. A panic on this goroutine becomes an error.
func (k *supervisor) attempt(ctx context.Context) (err error) {
	defer guard.Into(&err, "the start")
	return k.Run(ctx)
}

// report logs a failure, with a dump if it was a panic.
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

// failures returns how often the shard has failed, and the last error.
func (k *supervisor) failures() (n int, last error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.fails, k.lastErr
}
