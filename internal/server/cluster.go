package server

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"strings"
	"sync"
	"time"

	"wamble/internal/config"
	"wamble/internal/loop"
	"wamble/internal/store"
	"wamble/internal/store/postgres"
	"wamble/internal/store/postgres/pglog"
	"wamble/runner"
	"wamble/runner/logstore"
)

// sharedJournal is a journal in PostgreSQL that several nodes with one configuration share. The
// zero value stands for a journal on local disk.
type sharedJournal struct {
	log  *pglog.Log // nil if the journal is on local disk
	name string     // of the journal

	markerMu sync.Mutex // held while the mark is written
}

// partition is the journal that this node holds, or one of its partitions (see partitions.go).
type partition struct {
	s          *Server
	index      int
	name       string            // of its log; "" if the journal is on local disk
	storage    *logstore.Storage // nil if the journal is on local disk
	runner     *runner.Runner
	healMu     sync.Mutex
	claimed    time.Time     // of this node's claim; later than the claim of the previous holder
	deposed    chan struct{} // closed when another node has claimed the partition
	deposeOnce sync.Once     // closes deposed
}

// usesSharedJournal reports whether a configuration keeps the journal in PostgreSQL.
func usesSharedJournal(c *config.Config) bool { return c.Server.Journal == "postgres" }

// journalDatabase returns the connection options of a journal in PostgreSQL.
func journalDatabase(c *config.Config) (postgres.Options, error) {
	db := c.JournalStore()
	password, err := db.Password(os.ReadFile)
	return postgres.Options{Host: db.Host, Port: db.TCPPort(), User: db.User, Password: password, Name: db.Name,
		SSLMode: db.SSLMode}, err
}

// journalLocation names where a configuration keeps the journal.
func journalLocation(c *config.Config) string {
	if !usesSharedJournal(c) {
		return "the data directory"
	}
	return sharedJournalLocation(c)
}

// sharedJournalLocation names where the journal is, or would be, in PostgreSQL.
func sharedJournalLocation(c *config.Config) string {
	db := c.JournalStore()
	return fmt.Sprintf("%s in PostgreSQL %s at %s", c.Server.JournalName, db.Name,
		postgres.Options{Host: db.Host, Port: db.TCPPort()}.Where())
}

// DescribeJournal returns where a journal in PostgreSQL is, and whether its database has a
// synchronous standby.
func DescribeJournal(ctx context.Context, c *config.Config) (where string, replicated bool, err error) {
	o, err := journalDatabase(c)
	where = fmt.Sprintf("PostgreSQL %s at %s as %s", o.Name, o.Where(), o.User)
	if err == nil {
		err = pglog.CheckStandby(ctx, o)
	}
	if errors.Is(err, pglog.ErrNoStandby) {
		return where, false, nil
	}
	return where, err == nil, err
}

// nodeName returns the name of this node in its cluster: journal-node, or the host name.
func nodeName(c *config.Config) string {
	if name := c.Server.JournalNode; name != "" {
		return name
	}
	if host, err := os.Hostname(); err == nil {
		return host
	}
	return "unknown"
}

// instance returns an identifier of this process that stays the same after an exec: its
// number, the time of its start, and the boot of the machine. It is "" without /proc.
func instance() string {
	boot, err := os.ReadFile("/proc/sys/kernel/random/boot_id")
	stat, err2 := os.ReadFile("/proc/self/stat")
	_, rest, ok := strings.Cut(string(stat), ") ") // skips the process name, which may have any character
	if fields := strings.Fields(rest); err == nil && err2 == nil && ok && len(fields) > 19 {
		return fmt.Sprintf("%d-%s-%.8s", os.Getpid(), fields[19], boot) // fields[19] is the start time
	}
	return ""
}

// prepareSharedJournal opens the log of a journal in PostgreSQL. It fails if the database can be
// used only after the host has changed something.
func (s *Server) prepareSharedJournal() error {
	c := s.o.Config
	db, err := journalDatabase(c)
	if err != nil {
		return err
	}
	k := &s.sharedJournal
	k.name = c.Server.JournalName
	o := pglog.Options{
		Database: db, Node: nodeName(c), Instance: s.o.Instance, Lease: s.o.Lease,
		Heartbeat: s.heartbeat, OnNote: s.receivedNotes.Add,
		Report: func(err error) { s.log.Error("the journal's database", "err", err) },
	}
	if err := s.pingJournal(db); err != nil {
		return err
	}
	k.log = pglog.Open(o)
	s.closers = append(s.closers, func() error { k.log.Close(); return nil })
	return nil
}

// journalPingTimeout is how long pingJournal waits for the journal's database.
const journalPingTimeout = 2 * time.Second

// pingJournal checks with a cheap query whether the journal's database is usable. It fails
// only if the host must change something; an unreachable database is waited for later.
// After a handoff the check is skipped, because players are waiting.
func (s *Server) pingJournal(db postgres.Options) error {
	if s.Inherited() {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.Background(), journalPingTimeout)
	defer cancel()
	if wrong := postgres.Unusable(pglog.CheckStandby(ctx, db)); wrong != nil {
		return journalUnusable(wrong)
	}
	return nil
}

// journalUnusable adds to an error of the journal's database the names of its options.
func journalUnusable(wrong *store.Unusable) error {
	return &store.Unusable{Advice: wrong.Advice + " (or journal-db-* instead of db-*)",
		Err: fmt.Errorf("the journal's database: %w", wrong.Err)}
}

// newPartition prepares a partition of the journal in PostgreSQL, without a query.
func (s *Server) newPartition(index int) *partition {
	p := &partition{s: s, index: index, name: pglog.PartName(s.sharedJournal.name, index), deposed: make(chan struct{})}
	p.storage = logstore.New(s.sharedJournal.log, p.name, logstore.Options{
		MaxBytes: s.partitionMemory(),
		Now:      s.wall(),
		Report:   func(err error) { s.log.Warn("the journal grows until this works", "err", err) },
	})
	return p
}

// partitionMemory returns how many bytes of memory a partition of the journal in PostgreSQL may
// take.
func (s *Server) partitionMemory() int {
	return s.o.Config.Server.JournalMemory << 20 / s.partitionCount()
}

// reopenPause is the pause after a failure to open the journal after a handoff. Attempts go on for
// inheritTimeout.
const (
	reopenPause    = 300 * time.Millisecond
	inheritTimeout = 5 * time.Second
)

// open claims the partition, opens it, and records the claim in the mark file and in the
// journal.
func (p *partition) open(ctx context.Context, o runner.Options, inherited bool) (*runner.Runner, error) {
	o.Wall = p.storage.Now
	r, err := openJournal(p.storage, o, inherited)
	if err != nil {
		return nil, err
	}
	if p.index > 0 && isNew(r) {
		err = p.s.refuseUndrainedShard(p.index)
	}
	if err == nil {
		err = p.writeMarker(r)
	}
	if err == nil {
		p.claimed, err = p.recordClaim(ctx, r)
	}
	if err == nil && p.index == 0 {
		err = p.s.importRestrictions(ctx, r)
	}
	if err != nil {
		return nil, errors.Join(err, r.Close())
	}
	p.runner = r
	p.s.log.Info("the journal is ours", "journal", p.name, "node", nodeName(p.s.o.Config))
	return r, nil
}

// isNew reports whether a journal was never claimed.
func isNew(r *runner.Runner) bool {
	return errors.Is(r.View(func(get func([]byte) ([]byte, error)) error {
		_, err := get(claimedKey)
		return err
	}), runner.ErrNotFound)
}

// claimedKey is the journal's row with the time of its holder's claim.
var claimedKey = []byte("server/claimed")

// recordClaim stores the time of the claim in the journal and returns it. It is always later
// than the previous claim, also with clocks that differ, so that the owners of a profile
// are ordered.
func (p *partition) recordClaim(ctx context.Context, r *runner.Runner) (at time.Time, err error) {
	_, err = r.Update(ctx, runner.AttemptPolicy{}, func(tx *runner.Tx) error {
		at = p.storage.Now().UTC().Truncate(time.Microsecond)
		before, err := claimTime(tx)
		if err == nil && !at.After(before) {
			at = before.Add(time.Microsecond)
		}
		return errors.Join(err, tx.Put(claimedKey, binary.BigEndian.AppendUint64(nil, uint64(at.UnixMicro()))))
	})
	return at, err
}

// claimTime returns when the journal was claimed last; zero if it never was.
func claimTime(tx *runner.Tx) (time.Time, error) {
	b, err := tx.Get(claimedKey)
	if errors.Is(err, runner.ErrNotFound) {
		return time.Time{}, nil
	}
	if err != nil || len(b) != 8 {
		return time.Time{}, err
	}
	return time.UnixMicro(int64(binary.BigEndian.Uint64(b))).UTC(), nil
}

// checkClaim returns a *pglog.HeldError if another node has claimed the journal since this node
// did: this node's memory is out of date.
func (p *partition) checkClaim(tx *runner.Tx) error {
	at, err := claimTime(tx)
	if err == nil && !at.Equal(p.claimed) {
		err = &pglog.HeldError{}
	}
	return err
}

// deposedBy returns a *pglog.HeldError with the new holder of the partition, or nil while
// this node holds it. A deposed part stays so; a new claim needs a new part.
func (p *partition) deposedBy() error {
	if p.storage == nil {
		return nil
	}
	view := p.s.sharedJournal.log.PartitionView(p.name)
	select {
	case <-p.deposed:
	default:
		if view.Err != nil || view.Self {
			return nil
		}
	}
	err := &pglog.HeldError{Holder: view.Holder}
	p.depose(err)
	return err
}

// depose closes deposed if err is a *pglog.HeldError.
func (p *partition) depose(err error) {
	var held *pglog.HeldError
	if !errors.As(err, &held) {
		return
	}
	p.deposeOnce.Do(func() {
		text := "another machine has taken over a part of the world; this one goes on with the others"
		if p.s.partitionCount() == 1 {
			text = "another machine has taken over; this one becomes a standby"
		}
		p.s.log.Error(text, "journal", p.name, "err", err)
		close(p.deposed)
	})
}

// heal opens the journal again after a failure and tests it with a write.
func (p *partition) heal(ctx context.Context) error {
	p.healMu.Lock()
	defer p.healMu.Unlock()
	if p.runner.State() == runner.Failed {
		if err := p.deposedBy(); err != nil {
			return err
		}
		if err := p.runner.Reopen(); err != nil {
			p.depose(err)
			return err
		}
	}
	// Only a write shows whether there is room.
	_, err := p.runner.Update(ctx, runner.AttemptPolicy{}, func(tx *runner.Tx) error {
		if p.storage != nil {
			if err := p.checkClaim(tx); err != nil {
				return err
			}
		}
		return tx.Put([]byte("server/alive"), []byte{1})
	})
	p.depose(err)
	return err
}

// Holds reports whether this process holds the partition's lease.
func (p *partition) Holds() bool { return p.s.sharedJournal.log.Holds(p.name) }

// ClockOffset returns how far the journal's clock is ahead of the machine's.
func (p *partition) ClockOffset() time.Duration { return p.storage.Ahead() }

// wall returns the wall clock with the test's skew; nil if there is none.
func (s *Server) wall() func() time.Time {
	if s.o.Skew == nil {
		return nil
	}
	return func() time.Time { return time.Now().Add(s.o.Skew()) }
}

// journal returns the journal as the loops of the partition use it.
func (p *partition) journal() loop.Journal {
	j := loop.Journal{Runner: p.runner, Owner: p.owner(), Heal: p.heal}
	if p.storage != nil {
		j.Lease = p
	}
	return j
}
