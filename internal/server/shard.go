package server

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"wamble/internal/cluster"
	"wamble/internal/guard"
	"wamble/internal/loop"
	"wamble/internal/profile"
	"wamble/internal/transport"
)

// Shard runs the loop of one shard of a profile. A loop that cannot start, or that fails, is
// logged and started again from store and journal after a growing pause, independently of
// the other shards and profiles.
type Shard struct {
	profile *Profile
	index   int // among the shards of the profile
	runtime *loop.Runtime
	log     *slog.Logger

	partition  atomic.Pointer[partition] // partition of the shard; nil if another node has it
	arrivalMu  sync.Mutex                // held while partition is checked for events or set
	remotePort cluster.RemotePort        // reads the port while another node has the shard
	expected   *partition                // last partition of which WantsEvents has expected readers

	cancel context.CancelFunc // ends superviseLoop; nil if it does not run
	done   chan struct{}      // closed when superviseLoop has ended

	mu        sync.Mutex // guards what follows
	failCount int
	lastErr   error
}

// The pause after a failure begins at firstRestart and doubles up to lastRestart. It begins
// anew after a runtime has run for calm.
const (
	firstRestart = 100 * time.Millisecond
	lastRestart  = 30 * time.Second
	stableAfter  = time.Minute
)

// start runs the shard until stop. If another node has the shard, its port is read and the
// packets are forwarded.
func (sh *Shard) start() {
	if sh.isRemote() {
		sh.forwardPackets()
		return
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	sh.cancel, sh.done = cancel, done
	go func() {
		defer close(done)
		for ctx.Err() == nil {
			guard.Run("the supervision of a shard", func() { sh.superviseLoop(ctx) }, sh.reportPanic)
			select {
			case <-ctx.Done():
			case <-time.After(firstRestart): // after a panic
			}
		}
	}()
}

// stop ends the shard in order, see Profile.stop.
func (sh *Shard) stop() {
	sh.remotePort.End()
	if sh.cancel != nil {
		sh.cancel()
		<-sh.done
		sh.cancel = nil
	}
}

// forwardPackets reads the port of the shard, and forwards the packets to the node that has it. Without a
// mesh they are dropped.
func (sh *Shard) forwardPackets() {
	p := sh.profile
	sh.remotePort.Begin(sh.runtime.Port(), func(in transport.Arrivals) {
		p.server.router.Forward(p.name, sh.index, in)
	}, sh.reportPanic)
}

// Totals implements loop.OtherShards.
func (sh *Shard) Totals() *loop.Totals { return &sh.profile.openShards.totals }

// Others returns the runtimes of the other shards of the profile.
func (sh *Shard) Others() (list []*loop.Runtime) {
	for _, other := range sh.profile.shards {
		if other != sh {
			list = append(list, other.runtime)
		}
	}
	return list
}

// AskRemote asks shards on other nodes about a board.
func (sh *Shard) AskRemote(ctx context.Context, shards []int, in profile.BoardRequest) (*profile.BoardReply, error) {
	p := sh.profile
	if p.server.router == nil {
		return nil, loop.ErrNotUp
	}
	return p.server.router.AskRemoteShards(ctx, p.name, shards, in)
}

// ShowViews passes changed boards of the shard to the other shards and nodes that have watchers.
func (sh *Shard) ShowViews(in *profile.BoardViews) {
	p := sh.profile
	if p.peers != nil {
		p.server.router.PublishViews(p.name, in)
	}
	for _, other := range p.shards {
		if other != sh && other.runtime.Count().Watched {
			other.runtime.ShowViews(in)
		}
	}
}

// superviseLoop runs the shard and starts it again after each failure, until ctx ends.
func (sh *Shard) superviseLoop(ctx context.Context) {
	pause := firstRestart
	for {
		began := time.Now()
		err := sh.attempt(ctx)
		if ctx.Err() != nil {
			return
		}
		if time.Since(began) > stableAfter {
			pause = firstRestart
		}
		sh.report(err, pause)
		select {
		case <-ctx.Done(): // the next attempt drops the drain and returns
		case <-time.After(pause):
		}
		pause = min(2*pause, lastRestart)
	}
}

// attempt runs the shard once. A panic on this goroutine becomes an error.
func (sh *Shard) attempt(ctx context.Context) (err error) {
	defer guard.Into(&err, "the start")
	return sh.runtime.Run(ctx)
}

// report logs a failure, with a dump if it was a panic.
func (sh *Shard) report(err error, pause time.Duration) {
	var p *guard.Panic
	if errors.As(err, &p) {
		sh.runtime.CountPanic()
	}
	sh.mu.Lock()
	sh.failCount++
	sh.lastErr = err
	sh.mu.Unlock()
	sh.runtime.Failed(err)
	dump := sh.profile.server.dumps.write(sh.log, "crash", sh.profile.name, err)
	select {
	case <-sh.runtime.Up():
	default:
		if sh.profile.server.checkAllFailed() {
			return // Run returns the error
		}
	}
	sh.log.Error("the profile has failed; it is started again", "err", err, "pause", pause, "dump", dump)
}

// failures returns how often the shard has failed, and the last error.
func (sh *Shard) failures() (n int, last error) {
	sh.mu.Lock()
	defer sh.mu.Unlock()
	return sh.failCount, sh.lastErr
}

// dumps writes panics to files in the data directory.
type dumps struct {
	dir string

	mu          sync.Mutex
	lastWritten map[string]time.Time // by name: when a panic that ended no profile was written last
}

const (
	// maxDumps is how many files of one name are kept.
	maxDumps = 8
	// caughtEvery is the shortest interval between two files of panics that ended no
	// profile, because a client may be able to repeat such a panic at will.
	caughtEvery = time.Minute
)

// write writes a panic to a file without tokens and returns its name; "" if err is no panic
// or the file cannot be written. The oldest files of the name are deleted.
func (d *dumps) write(log *slog.Logger, kind, name string, err error) string {
	var p *guard.Panic
	if !errors.As(err, &p) {
		return ""
	}
	now := time.Now().UTC()
	prefix := filepath.Join(d.dir, kind+"-"+name+"-")
	file := prefix + now.Format("20060102T150405.000") + ".txt"
	text := fmt.Sprintf("profile %s\ntime %s\n%v\n\n%s\n%s", name, now.Format(time.RFC3339Nano), err, p.Detail, p.Stack)
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		log.Warn("the dump could not be written", "err", err)
		return ""
	}
	// The time has no hyphen: files of profile a-b are not those of profile a.
	old, _ := filepath.Glob(prefix + "*.txt")
	old = slices.DeleteFunc(old,
		func(file string) bool { return strings.Contains(strings.TrimPrefix(file, prefix), "-") })
	slices.Sort(old)
	for len(old) > maxDumps {
		os.Remove(old[0])
		old = old[1:]
	}
	return file
}

// reportSurvived logs a panic that ended no profile.
func (d *dumps) reportSurvived(log *slog.Logger, name string, err error) {
	d.mu.Lock()
	now := time.Now()
	due := now.Sub(d.lastWritten[name]) >= caughtEvery
	if due {
		if d.lastWritten == nil {
			d.lastWritten = map[string]time.Time{}
		}
		d.lastWritten[name] = now
	}
	d.mu.Unlock()
	file := ""
	if due {
		file = d.write(log, "panic", name, err)
	}
	log.Error("a panic was caught; the server goes on", "err", err, "dump", file)
}

// reportPanic logs a panic outside the profiles.
func (s *Server) reportPanic(err error) { s.dumps.reportSurvived(s.log, "server", err) }

// reportPanic logs a panic that did not end the shard.
func (sh *Shard) reportPanic(err error) {
	sh.runtime.CountPanic()
	sh.profile.server.dumps.reportSurvived(sh.log, sh.profile.name, err)
}
