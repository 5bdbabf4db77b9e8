package server

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"wamble/internal/host"
	"wamble/internal/loop"
)

// supervisor supervises one profile: a runtime that cannot start, or that fails, is
// reported and started anew from store and journal, after a pause that grows.
// The other profiles do not notice.
type supervisor struct {
	*loop.Runtime
	name  string
	log   *slog.Logger
	store *Shared
	dir   string // for dumps

	draining     *atomic.Bool // of the server
	restrictions *host.Restrictions
	games        broadcast // sent when finished games have reached the store

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

// start runs the profile until stop. It may be started again then.
func (k *supervisor) start() {
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	k.cancel, k.done = cancel, done
	go func() {
		defer close(done)
		k.keep(ctx)
	}()
}

// stop ends the runtime in order: what was decided is durable and sent, the
// sockets are open, and what the store lacks is in the journal.
func (k *supervisor) stop() {
	if k.cancel != nil {
		k.cancel()
		<-k.done
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
	defer func() {
		if v := recover(); v != nil {
			err = loop.NewPanic("the start", v)
		}
	}()
	return k.Run(ctx)
}

func (k *supervisor) report(err error, pause time.Duration) {
	k.mu.Lock()
	k.fails++
	k.lastErr = err
	k.mu.Unlock()
	k.Failed(fmt.Sprintf("failed, to be started again: %v", err))
	k.log.Error("the profile has failed; it is started again", "err", err, "pause", pause, "dump", k.dump(err))
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

// mostDumps is how many dumps of one profile are kept.
const mostDumps = 8

// dump writes down what is known of a panic, and returns the file's name; "" if
// there is nothing to write. Packets and tokens are not in it.
func (k *supervisor) dump(err error) string {
	var p *loop.Panic
	if !errors.As(err, &p) {
		return ""
	}
	now := time.Now().UTC()
	name := filepath.Join(k.dir, fmt.Sprintf("crash-%s-%s.txt", k.name, now.Format("20060102T150405.000")))
	text := fmt.Sprintf("profile %s\ntime %s\n%v\n\n%s", k.name, now.Format(time.RFC3339Nano), err, p.Stack)
	if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
		k.log.Warn("the dump could not be written", "err", err)
		return ""
	}
	old, _ := filepath.Glob(filepath.Join(k.dir, "crash-"+k.name+"-*.txt"))
	slices.Sort(old)
	for len(old) > mostDumps {
		os.Remove(old[0])
		old = old[1:]
	}
	return name
}
