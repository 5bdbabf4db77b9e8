package server

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"path/filepath"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"wamble/internal/admin"
	"wamble/internal/backup"
	"wamble/internal/cluster"
	"wamble/internal/config"
	"wamble/internal/guard"
	"wamble/internal/handoff"
	"wamble/internal/journal"
	"wamble/internal/observe"
	"wamble/runner"
	"wamble/runner/memstore"
	"wamble/runner/pebblestore"
)

// JournalSchema is the version of what a server keeps in its journal.
var JournalSchema = journal.Schema

// Options are the parameters of a server.
type Options struct {
	Config *config.Config
	// Load reads the configuration again for a reload; nil if reloads are not possible.
	Load func() (*config.Config, error)
	// Profile names the only profile to run; "" runs all that are configured to.
	Profile string
	// Dir is the data directory; it is created if it is missing.
	Dir string
	// Log receives events for the host; nil discards them.
	Log *slog.Logger
	// Record is a file that does not exist yet, for a recording of all inputs of the
	// profile; "" records nothing. With several profiles or shards each has a file of its
	// own, whose name ends with theirs.
	Record string
	// Storage replaces the journal's directory, in tests.
	Storage runner.Storage
	// Clock replaces the clock of the profiles, in tests; nil for the machine's.
	Clock func() time.Time
	// Inherited has sockets that are bound already, by profile. Those of profiles that do
	// not run are closed.
	Inherited map[string]Sockets
	// Handoff has the parameters of a handoff, which needs at least a binary.
	Handoff HandoffOptions
	// Instance identifies this process among the nodes that share its journal.
	Instance string
	// Lease is how long a heartbeat in the shared journal is valid; 0 for the default.
	Lease time.Duration
	// LockTime bounds a start's wait for the journal of a process that does not answer, and
	// LockAnswer the wait for that answer; 0 for the defaults.
	LockTime, LockAnswer time.Duration
	// Skew returns the current error of the machine's wall clock, in tests.
	Skew func() time.Duration
}

// Server serves players: one journal, and the profiles that run over it. It owns their
// sockets and stores.
type Server struct {
	o               Options
	dir             string
	log             *slog.Logger
	started         time.Time
	runner          *runner.Runner // of the journal; an empty one in memory if the journal is in PostgreSQL
	sharedJournal   sharedJournal
	partition       *partition // the whole journal; nil if it is in PostgreSQL (see partitions.go)
	rebalancer      rebalancer
	partitionOwners cluster.Owners
	receivedNotes   cluster.Notes
	meshAddress     atomic.Pointer[string] // where other nodes reach this one; nil if they do not
	router          *cluster.Router        // nil without cluster-address
	stores          stores
	running         running
	serving         context.Context // ends when the server is to stop; then no handoff begins
	stopServing     context.CancelFunc
	successor       *handoff.Successor
	opened          time.Time // end of Open
	host            *admin.Host
	control         *admin.Control
	authority       *authority
	background      sync.WaitGroup // goroutines that serve HTTP and the control socket
	dumps           dumps
	web             *observe.Web // metrics of HTTP
	history         *observe.History
	traces          *observe.Traces
	pidFile         bool           // the pid file is locked
	closers         []func() error // in the order of opening
}

// Open creates the data directory, opens the journal and binds all sockets. The journal's
// lock keeps a second server out. Players are served only by Run. A profile that cannot
// be started is a *StartError.
func Open(o Options) (*Server, error) {
	s := &Server{o: o, dir: o.Dir, log: o.Log, started: time.Now(),
		stores: stores{dir: o.Dir, guardMigrations: true, failover: usesSharedJournal(o.Config)},
		dumps:  dumps{dir: o.Dir}, web: observe.NewWeb(), history: observe.NewHistory(filepath.Join(o.Dir,
			"history.json")), traces: observe.NewTraces(o.Handoff.Version, o.Config)}
	s.serving, s.stopServing = context.WithCancel(context.Background())
	if s.log == nil {
		s.log = slog.New(slog.DiscardHandler)
	}
	if s.log.Enabled(context.Background(), slog.LevelError) {
		s.log = slog.New(observe.NewTail(s.log.Handler()))
	}
	began := time.Now()
	for _, part := range []struct {
		name string
		open func() error
	}{
		{"inherit", s.beginInheriting}, {"journal", s.openJournal}, {"authority", s.openAuthority}, {"mesh", s.openMesh}, {"bind", s.openProfiles}, {"redirect", s.openRedirect}, {"admin", s.openAdmin},
		{"control", s.openControl}, {"pid file", s.openPidFile}, {"adopt", s.endInheriting},
	} {
		if err := part.open(); err != nil {
			s.Close()
			return nil, err
		}
		began = o.Handoff.Inheritance.Lap(part.name, began)
	}
	s.opened = began
	return s, nil
}

// Close releases everything that Open has opened. Run calls it before it returns.
func (s *Server) Close() error {
	var errs []error
	for len(s.closers) > 0 {
		last := len(s.closers) - 1
		errs = append(errs, s.closers[last]())
		s.closers = s.closers[:last]
	}
	return errors.Join(errs...)
}

// JournalDir returns the directory of the journal in a data directory.
func JournalDir(dataDir string) string { return filepath.Join(dataDir, "journal") }

// openJournal opens the journal where the configuration has it, and makes the host.
func (s *Server) openJournal() error {
	if err := MakeDataDir(s.dir); err != nil {
		return err
	}
	if backup.Unfinished(s.dir) {
		return fmt.Errorf("a restore into %s was not finished: run 'wamble restore' again", s.dir)
	}
	c := &s.o.Config.Server
	o := s.journalOptions()
	storage := s.o.Storage
	open := func() (*runner.Runner, error) { return openJournal(storage, o, s.Inherited()) }
	lost := func() uint64 { return 0 }
	switch {
	case storage != nil:
	case usesSharedJournal(s.o.Config):
		// The pid file keeps a second server out: there is no journal file to lock.
		if err := s.openPidFile(); err != nil {
			return err
		}
		if err := errors.Join(refuseUndrainedDisk(s.dir), refuseUndrainedOtherJournal(s.dir, s.o.Config)); err != nil {
			return err
		}
		if err := s.prepareSharedJournal(); err != nil {
			return err
		}
		if !s.Inherited() {
			if err := s.checkShards(context.Background()); err != nil {
				return err
			}
		}
		storage = memstore.New()
	default:
		if err := refuseUndrainedPostgres(s.dir, s.o.Config); err != nil {
			return err
		}
		var disk pebblestore.Options
		if c.Durability == "write" {
			disk.Durability = pebblestore.Write
		}
		journal := pebblestore.At(JournalDir(s.dir), disk)
		storage, lost = journal, journal.Lost
	}
	// Open it, and explain what the host can do about an error.
	r, err := open()
	if errors.Is(err, runner.ErrLocked) && !s.Inherited() {
		r, err = s.awaitLock(open)
	}
	if errors.Is(err, runner.ErrLocked) {
		return fmt.Errorf("another server uses %s; 'wamble status --data %s' asks it", s.dir, s.dir)
	}
	if err != nil {
		return s.explainJournal(err)
	}
	if n := lost(); n > 0 {
		s.log.Error("the journal is shorter than what was acknowledged: a log was cut, or the disk has lost what it had synced. "+
			"Moves are lost that the database did not have yet; look at the disk, and compare with a backup before you go on",
			"journal", JournalDir(s.dir), "missing_writes", n)
	}
	s.runner = r
	if !s.isPartitioned() {
		s.partition = &partition{s: s, runner: r}
	}
	s.closers = append(s.closers, r.Close)
	if s.isPartitioned() {
		s.preparePartitions()
		if err := s.inheritPartitions(); err != nil {
			return s.explainJournal(err)
		}
	}
	s.host, err = s.newHost()
	return err
}

// explainJournal adds to an error of opening the journal what the host can do.
func (s *Server) explainJournal(err error) error {
	advice := ""
	switch {
	case errors.Is(err, runner.ErrDamaged):
		advice = fmt.Sprintf("\nNothing was changed, and what the database has is safe. 'wamble runner salvage --dir %s NEW' takes what was "+
			"committed before the damage", JournalDir(s.dir))
	case errors.Is(err, runner.ErrSchema):
		advice = "\nNothing was changed: run the wamble that wrote it, or one that is newer"
	}
	return fmt.Errorf("open the journal: %w%s", err, advice)
}

// journalOptions returns the options of the journal. Schema, space and durability follow
// the configuration.
func (s *Server) journalOptions() runner.Options {
	o := runner.Options{
		Schema: JournalSchema, Create: true, MinFree: int64(s.o.Config.Server.DiskReserve) << 20,
		AcceptLoss: true, // the server tells it, and refuses a journal that ends before the database
	}
	if o.MinFree == 0 {
		o.MinFree = -1
	}
	if s.o.Storage == nil && usesSharedJournal(s.o.Config) {
		o.MinFree = int64(s.partitionMemory() / 8) // of memory: disk-reserve-mb does not apply
	}
	return o
}

// openJournal opens a journal of this version or an older one. A start migrates it; after a
// handoff its version is kept, because the previous process may have to take it back.
func openJournal(s runner.Storage, o runner.Options, inherited bool) (*runner.Runner, error) {
	if !inherited {
		o.Migrate = journal.Migrate
	}
	r, err := runner.Open(s, o)
	if inherited && errors.Is(err, runner.ErrSchema) {
		o.Schema = journal.Oldest
		if r, older := runner.Open(s, o); older == nil {
			return r, nil
		}
	}
	return r, err
}

// Run serves until ctx ends, then stops in order and returns nil. If it cannot go on, it
// returns why. In either case it closes the server.
func (s *Server) Run(ctx context.Context) error {
	ctx, end := context.WithCancel(ctx)
	defer end()
	// Start the profiles, what runs beside them, and the placement or the janitor.
	s.control.SetUnlinkOnClose(true)
	for _, p := range s.profiles() {
		s.serveWeb(p, p.Port())
		p.start()
	}
	s.runBackground("the end of a handoff", func() {
		s.successor.Finish(ctx, s.runtimes(), s.o.Handoff.Version, s.opened, s.log, answerHandoff)
	})
	s.serveAdmin(s.adminListener())
	for _, r := range s.redirectors() {
		s.serveRedirect(r)
	}
	s.runBackground("the certificate authority", func() { s.authority.renewLoop(s.serving) })
	s.runBackground("the control socket", s.control.Serve)
	s.runBackground("backups", func() { s.backups(ctx) })
	s.runBackground("traces", func() { s.traces.Send(ctx, s.warn) })
	s.runBackground("the history for charts", func() { s.history.Keep(ctx, s.runtimes, s.warn) })
	stopJanitor := func() {}
	if s.isPartitioned() {
		s.startRebalancer()
	} else {
		stopJanitor = s.janitor(ctx, s.runner)
		s.drainLeftovers(ctx, s.runner)
	}
	// Wait for the end, and stop in order.
	var err error
	select {
	case <-ctx.Done():
		if s.stop(); s.emptied() {
			s.writeEmptiedMarker()
		}
	case <-s.running.allFailed:
		err = s.whyAllFailed()
		s.stop()
	}
	stopJanitor()
	end()
	err = errors.Join(err, s.Close())
	s.background.Wait()
	return err
}

// runBackground runs f on a goroutine that Run waits for before it returns.
func (s *Server) runBackground(where string, f func()) {
	s.background.Go(func() { guard.Run(where, f, s.reportPanic) })
}

// warn logs an error that players do not notice, unless it is nil.
func (s *Server) warn(err error) {
	if err != nil {
		s.log.Warn("something went wrong; players do not notice", "err", err)
	}
}

// logTail returns the last lines of the log.
func (s *Server) logTail() []string {
	if t, ok := s.log.Handler().(*observe.Tail); ok {
		return t.Lines()
	}
	return []string{}
}

// StartStatus is the reason why profiles were not bound and started, at a start or a reload.
// The values are the failures of the original server.
type StartStatus int

// The closed list of start statuses, with when each is returned.
const (
	// StartConflict: two profiles want the same port, or the same isolated
	// database.
	StartConflict StartStatus = iota
	// StartSocketError: the kernel gave no socket, as when the process has too
	// many open files.
	StartSocketError
	// StartBindError: the address of a profile is taken, not allowed, or not of
	// this machine.
	StartBindError
	// StartThreadError: the certificate, the restrictions or the store of a profile could not
	// be opened.
	StartThreadError
	// StartNoSocket: an inherited socket is not usable, or the default runtime
	// could not bind.
	StartNoSocket
)

var startNames = [...]string{
	"conflict", "no socket from the kernel", "cannot bind", "cannot start", "no usable socket",
}

func (s StartStatus) String() string {
	if s < 0 || int(s) >= len(startNames) {
		return fmt.Sprintf("StartStatus(%d)", int(s))
	}
	return startNames[s]
}

// StartError says why profiles were not started. Nothing was changed.
type StartError struct {
	Status  StartStatus
	Profile string
	Err     error
}

func (e *StartError) Error() string {
	return fmt.Sprintf("profile %s: %s: %v", e.Profile, e.Status, e.Err)
}

func (e *StartError) Unwrap() error { return e.Err }

// kernelGaveNone has the errors of socket(2), as opposed to those of bind(2).
var kernelGaveNone = []error{
	syscall.EMFILE, syscall.ENFILE, syscall.ENOBUFS, syscall.ENOMEM, syscall.EAFNOSUPPORT, syscall.EPROTONOSUPPORT,
}

// bindError returns a *StartError for a failure to bind a profile's sockets.
func bindError(profile string, err error) error {
	status := StartBindError
	if profile == config.DefaultName {
		status = StartNoSocket
	}
	for _, none := range kernelGaveNone {
		if errors.Is(err, none) {
			status = StartSocketError
		}
	}
	return &StartError{Status: status, Profile: profile, Err: err}
}
