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

// ErrDeposed is returned by Run when another machine has claimed the journal: this one
// becomes its standby by being opened anew.
var ErrDeposed = errors.New("another machine has taken over")

// cluster is a journal in PostgreSQL that machines with one configuration share. Its
// zero value is a journal of this machine alone.
type cluster struct {
	log  *pglog.Log // nil: the journal is on this machine
	name string     // of the journal

	marking sync.Mutex // held while the mark is written
}

// part is a journal that this machine has: all of it, or what is in it of some shards (see
// placed).
type part struct {
	s       *Server
	index   int
	name    string            // of its log; "": the journal is on this machine
	storage *logstore.Storage // nil: the journal is on this machine
	runner  *runner.Runner
	healing sync.Mutex
	claimed time.Time     // when the journal became ours: later than for whoever had it before
	deposed chan struct{} // closed when it is another's
	once    sync.Once     // closes deposed
}

// clustered reports whether a configuration keeps the journal in PostgreSQL.
func clustered(c *config.Config) bool { return c.Server.Journal == "postgres" }

// journalDatabase is the database of a journal in PostgreSQL.
func journalDatabase(c *config.Config) (postgres.Options, error) {
	db := c.JournalStore()
	password, err := db.Password(os.ReadFile)
	return postgres.Options{Host: db.Host, Port: db.TCPPort(), User: db.User, Password: password, Name: db.Name, SSLMode: db.SSLMode}, err
}

// journalPlace names where a configuration keeps the journal.
func journalPlace(c *config.Config) string {
	if !clustered(c) {
		return "the data directory"
	}
	return sharedPlace(c)
}

// sharedPlace names where it is, or would be, in PostgreSQL.
func sharedPlace(c *config.Config) string {
	db := c.JournalStore()
	return fmt.Sprintf("%s in PostgreSQL %s at %s", c.Server.JournalName, db.Name, postgres.Options{Host: db.Host, Port: db.TCPPort()}.Where())
}

// LookAtJournal says where a journal in PostgreSQL is, and whether its database waits
// for a synchronous standby.
func LookAtJournal(ctx context.Context, c *config.Config) (where string, replicated bool, err error) {
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

// nodeName is how this machine is called among those of one journal.
func nodeName(c *config.Config) string {
	if name := c.Server.JournalNode; name != "" {
		return name
	}
	if host, err := os.Hostname(); err == nil {
		return host
	}
	return "unknown"
}

// instance tells this process from all others, and is the same after an exec.
func instance() string {
	boot, err := os.ReadFile("/proc/sys/kernel/random/boot_id")
	stat, err2 := os.ReadFile("/proc/self/stat")
	_, rest, ok := strings.Cut(string(stat), ") ") // behind the name, which may hold anything
	if fields := strings.Fields(rest); err == nil && err2 == nil && ok && len(fields) > 19 {
		return fmt.Sprintf("%d-%s-%.8s", os.Getpid(), fields[19], boot) // the time of its start
	}
	return ""
}

// openCluster prepares the log of a journal in PostgreSQL. Nobody is asked yet.
func (s *Server) openCluster() error {
	c := s.o.Config
	db, err := journalDatabase(c)
	if err != nil {
		return err
	}
	k := &s.cluster
	k.name = c.Server.JournalName
	o := pglog.Options{
		Database: db, Node: nodeName(c), Instance: s.o.Instance, Lease: s.o.Lease,
		Report: func(err error) { s.log.Error("the journal's database", "err", err) },
	}
	if s.placed() {
		o.Say, o.Noted = s.say, s.noted.add
	}
	if err := s.tryJournal(db); err != nil {
		return err
	}
	k.log = pglog.Open(o)
	s.closers = append(s.closers, func() error { k.log.Close(); return nil })
	return nil
}

// tryTime is how long a start waits for the journal's database before it goes on without.
const tryTime = 2 * time.Second

// tryJournal asks the journal's database something cheap. A database that is away is waited
// for, but one that only the host can mend ends the start. An image that was handed over to
// has no time for that.
func (s *Server) tryJournal(db postgres.Options) error {
	if s.Inherited() {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.Background(), tryTime)
	defer cancel()
	if wrong := postgres.Unusable(pglog.CheckStandby(ctx, db)); wrong != nil {
		return journalUnusable(wrong)
	}
	return nil
}

// journalUnusable says that an error is of the journal's database, whose options have
// names of their own.
func journalUnusable(wrong *store.Unusable) error {
	return &store.Unusable{Advice: wrong.Advice + " (or journal-db-* instead of db-*)", Err: fmt.Errorf("the journal's database: %w", wrong.Err)}
}

// newPart prepares a part of the journal in PostgreSQL. Nobody is asked yet.
func (s *Server) newPart(index int) *part {
	p := &part{s: s, index: index, name: pglog.PartName(s.cluster.name, index), deposed: make(chan struct{})}
	p.storage = logstore.New(s.cluster.log, p.name, logstore.Options{
		MaxBytes: s.partMemory(),
		Now:      s.wall(),
		Report:   func(err error) { s.log.Warn("the journal grows until this works", "err", err) },
	})
	return p
}

// partMemory is how many bytes of memory a part of the journal in PostgreSQL may take.
func (s *Server) partMemory() int { return s.o.Config.Server.JournalMemory << 20 / s.parts() }

// reopenPause is the pause after a journal that could be claimed, but not opened. An
// image that was handed over to tries for inheritTime: the database may be slow to
// answer, and nobody else has the journal.
const (
	reopenPause = 300 * time.Millisecond
	inheritTime = 5 * time.Second
)

// stopped ends when a server that is being opened is to stop.
func (s *Server) stopped() context.Context {
	if s.o.Stop == nil {
		return context.Background()
	}
	return s.o.Stop
}

// openShared opens the journal in PostgreSQL. While another machine has it, this one
// waits as its standby, unless an image before this one held it.
func (s *Server) openShared(o runner.Options) (*runner.Runner, error) {
	s.part = s.newPart(0)
	stop := s.stopped()
	for began := time.Now(); ; {
		if !s.Inherited() {
			if err := s.standBy(stop); err != nil {
				return nil, err
			}
		}
		r, err := s.part.open(stop, o, s.Inherited())
		if err == nil {
			return r, nil
		}
		var held *pglog.HeldError
		for _, lasts := range []error{runner.ErrSchema, runner.ErrDamaged, runner.ErrNoSchema} {
			if errors.Is(err, lasts) {
				return nil, err
			}
		}
		if s.Inherited() && (errors.As(err, &held) || time.Since(began) > inheritTime) {
			return nil, err
		}
		if !errors.As(err, &held) {
			s.log.Warn("the journal cannot be opened; to be tried again", "err", err)
			select {
			case <-time.After(reopenPause):
			case <-stop.Done():
			}
		}
	}
}

// open claims the part and reads what is in it.
func (p *part) open(ctx context.Context, o runner.Options, inherited bool) (*runner.Runner, error) {
	o.Wall = p.storage.Now
	r, err := openJournal(p.storage, o, inherited)
	if err != nil {
		return nil, err
	}
	if p.index > 0 && isNew(r) {
		err = p.s.leftOfShard(p.index)
	}
	if err == nil {
		err = p.markPlace(r)
	}
	if err == nil {
		p.claimed, err = p.noteClaim(ctx, r)
	}
	if err != nil {
		return nil, errors.Join(err, r.Close())
	}
	p.runner = r
	p.s.log.Info("the journal is ours", "journal", p.name, "node", nodeName(p.s.o.Config))
	return r, nil
}

// isNew reports whether nobody has held a journal before.
func isNew(r *runner.Runner) bool {
	return errors.Is(r.View(func(get func([]byte) ([]byte, error)) error {
		_, err := get(claimedKey)
		return err
	}), runner.ErrNotFound)
}

// claimedKey is the row of the journal that says when its holder has claimed it.
var claimedKey = []byte("server/claimed")

// noteClaim writes down when the journal became ours. Whatever the clocks of machines
// say, that is later than the claim of whoever had it before: so the owners of a
// profile follow each other.
func (p *part) noteClaim(ctx context.Context, r *runner.Runner) (at time.Time, err error) {
	_, err = r.Update(ctx, runner.AttemptPolicy{}, func(tx *runner.Tx) error {
		at = p.storage.Now().UTC().Truncate(time.Microsecond)
		before, err := claimOf(tx)
		if err == nil && !at.After(before) {
			at = before.Add(time.Microsecond)
		}
		return errors.Join(err, tx.Put(claimedKey, binary.BigEndian.AppendUint64(nil, uint64(at.UnixMicro()))))
	})
	return at, err
}

// claimOf is when the holder of the journal has claimed it.
func claimOf(tx *runner.Tx) (time.Time, error) {
	b, err := tx.Get(claimedKey)
	if errors.Is(err, runner.ErrNotFound) {
		return time.Time{}, nil
	}
	if err != nil || len(b) != 8 {
		return time.Time{}, err
	}
	return time.UnixMicro(int64(binary.BigEndian.Uint64(b))).UTC(), nil
}

// still returns a *pglog.HeldError if another machine has held the journal since this
// one has claimed it: what it has in memory is old.
func (p *part) still(tx *runner.Tx) error {
	at, err := claimOf(tx)
	if err == nil && !at.Equal(p.claimed) {
		err = &pglog.HeldError{}
	}
	return err
}

// deposedBy returns who has taken the journal over, as a *pglog.HeldError, or nil. A
// part that was deposed claims nothing any more: it is opened anew.
func (p *part) deposedBy() error {
	if p.storage == nil {
		return nil
	}
	sight := p.s.cluster.log.Sight(p.name)
	select {
	case <-p.deposed:
	default:
		if sight.Err != nil || sight.Self {
			return nil
		}
	}
	err := &pglog.HeldError{Holder: sight.Holder}
	p.depose(err)
	return err
}

// depose ends the part if an error says that the journal is another machine's.
func (p *part) depose(err error) {
	var held *pglog.HeldError
	if !errors.As(err, &held) {
		return
	}
	p.once.Do(func() {
		text := "another machine has taken over; this one becomes a standby"
		if p.s.placed() {
			text = "another machine has taken over a part of the world; this one goes on with the others"
		}
		p.s.log.Error(text, "journal", p.name, "err", err)
		close(p.deposed)
	})
}

// heal makes the journal work again after a failure, or says why it does not.
func (p *part) heal(ctx context.Context) error {
	p.healing.Lock()
	defer p.healing.Unlock()
	if p.runner.State() == runner.Failed {
		if err := p.deposedBy(); err != nil {
			return err
		}
		if err := p.runner.Reopen(); err != nil {
			p.depose(err)
			return err
		}
	}
	// Only a write tells whether there is room.
	_, err := p.runner.Update(ctx, runner.AttemptPolicy{}, func(tx *runner.Tx) error {
		if p.storage != nil {
			if err := p.still(tx); err != nil {
				return err
			}
		}
		return tx.Put([]byte("server/alive"), []byte{1})
	})
	p.depose(err)
	return err
}

// holds reports whether this process may speak for its profiles; nil: it always may.
func (p *part) holds() func() bool {
	if p.storage == nil {
		return nil
	}
	return func() bool { return p.s.cluster.log.Holds(p.name) }
}

// wall is the machine's wall clock; nil: nobody has set it wrong.
func (s *Server) wall() func() time.Time {
	if s.o.Skew == nil {
		return nil
	}
	return func() time.Time { return time.Now().Add(s.o.Skew()) }
}

// ahead is how far the clock of a life is before that of the machine; nil: it is not.
func (p *part) ahead() func() time.Duration {
	if p.storage == nil {
		return nil
	}
	return p.storage.Ahead
}

// journal is what the loops of the part run on.
func (p *part) journal() loop.Journal {
	return loop.Journal{Runner: p.runner, Owner: p.owner(), Shared: p.storage != nil, Holds: p.holds(), Ahead: p.ahead(), Heal: p.heal}
}

// Waiting is how a standby stands.
type Waiting struct {
	Holder string // "": nobody has the journal
	Err    error  // why its database cannot be asked
}

func (w Waiting) String() string {
	switch {
	case w.Err != nil:
		return "waiting for the journal's database: " + w.Err.Error()
	case w.Holder == "":
		return "taking over"
	}
	return "standby of " + w.Holder
}
