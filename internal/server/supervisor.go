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
	store *SharedStore
	dumps *dumps

	draining       *atomic.Bool // of the server
	restrictions   *host.Restrictions
	restrictionsMu sync.Mutex // held by sendRestrictions
	gamesChanged   broadcast  // sent when finished games have reached the store
	events         readapi.Stream

	openShards     openShards
	background     sync.WaitGroup     // goroutines of count and follow
	stopBackground context.CancelFunc // ends them; nil before start

	partition  atomic.Pointer[partition] // partition of the shard; nil if another node has it
	arrivalMu  sync.Mutex                // held while part is checked for events or set
	remotePort remotePort                // reads the port while another node has the shard
	peers      *peers                    // the other nodes; nil if the journal is not distributed
	// forward forwards packets for the shard while another node has it; nil drops them.
	forward  func(profile string, part int, in transport.Arrivals)
	siblings []*supervisor // of the other shards, if this is the first

	bots           atomic.Pointer[houseBots] // nil if none run on this node
	cancel         context.CancelFunc        // ends keep; nil if it does not run
	done           chan struct{}             // closed when keep has ended
	onStartFailure func()                    // called after a failure of a runtime that was never up

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

// start runs the shards on this node until stop. It may be called again after stop.
func (s *supervisor) start() {
	s.setBots(true)
	for _, l := range s.shards() {
		l.startShard()
	}
	var ctx context.Context
	ctx, s.stopBackground = context.WithCancel(context.Background())
	if len(s.siblings) > 0 {
		s.background.Go(func() { guard.Run("the count of players", func() { s.countLoop(ctx) }, s.reportPanic) })
	}
	if s.peers != nil {
		s.background.Go(func() { guard.Run("events of other machines", func() { s.pollRemoteEvents(ctx) }, s.reportPanic) })
	}
}

// startShard runs one shard until end. If another node has the shard, its port is read and the
// packets are forwarded.
func (s *supervisor) startShard() {
	if s.isRemote() {
		s.remotePort.begin(s)
		return
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	s.cancel, s.done = cancel, done
	go func() {
		defer close(done)
		for ctx.Err() == nil {
			guard.Run("the supervisor", func() { s.superviseLoop(ctx) }, s.reportPanic)
			select {
			case <-ctx.Done():
			case <-time.After(firstRestart): // after a panic
			}
		}
	}()
}

// stop ends all shards in order: what was decided is durable and sent, and what the store
// lacks is in the journal. The sockets stay open.
func (s *supervisor) stop() {
	s.setBots(false)
	if s.stopBackground != nil {
		s.stopBackground()
	}
	s.eachShard("the end of a shard", (*supervisor).stopShard)
	s.background.Wait()
}

// stopShard is stop for one shard.
func (s *supervisor) stopShard() {
	s.remotePort.end()
	if s.cancel != nil {
		s.cancel()
		<-s.done
		s.cancel = nil
	}
}

// superviseLoop runs the shard and starts it again after each failure, until ctx ends.
func (s *supervisor) superviseLoop(ctx context.Context) {
	pause := firstRestart
	for {
		began := time.Now()
		err := s.attempt(ctx)
		if ctx.Err() != nil {
			return
		}
		if time.Since(began) > stableAfter {
			pause = firstRestart
		}
		s.report(err, pause)
		select {
		case <-ctx.Done(): // the next attempt drops the drain and returns
		case <-time.After(pause):
		}
		pause = min(2*pause, lastRestart)
	}
}

// attempt runs the shard once. A panic on this goroutine becomes an error.
func (s *supervisor) attempt(ctx context.Context) (err error) {
	defer guard.Into(&err, "the start")
	return s.Run(ctx)
}

// report logs a failure, with a dump if it was a panic.
func (s *supervisor) report(err error, pause time.Duration) {
	var p *guard.Panic
	if errors.As(err, &p) {
		s.CountPanic()
	}
	s.mu.Lock()
	s.failCount++
	s.lastErr = err
	s.mu.Unlock()
	s.Failed(fmt.Sprintf("failed, to be started again: %v", err))
	s.log.Error("the profile has failed; it is started again", "err", err, "pause", pause, "dump", s.dumps.write(s.log, "crash", s.name, err))
	select {
	case <-s.Up():
	default:
		s.onStartFailure()
	}
}

// failures returns how often the shard has failed, and the last error.
func (s *supervisor) failures() (n int, last error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.failCount, s.lastErr
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
	old = slices.DeleteFunc(old, func(file string) bool { return strings.Contains(strings.TrimPrefix(file, prefix), "-") })
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

// reportPanic logs a panic that did not end the profile.
func (s *supervisor) reportPanic(err error) {
	s.CountPanic()
	s.dumps.reportSurvived(s.log, s.name, err)
}

// runBackground runs f on a goroutine that Run waits for before it returns.
func (s *Server) runBackground(where string, f func()) {
	s.background.Go(func() { guard.Run(where, f, s.reportPanic) })
}
