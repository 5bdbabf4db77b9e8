package logstore

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"wamble/runner"
)

// Options of New. The zero value serves.
type Options struct {
	// Node is who claims the log.
	Node string
	// CheckpointAfter is how many bytes of records are appended before a checkpoint
	// takes their place; default 16 MiB. While the rows take more than that, it is as
	// many as they take.
	CheckpointAfter int
	// MaxBytes is how much memory the rows may take, about: what the runner hears as
	// free space is what is left of it. Default 1 GiB.
	MaxBytes int
	// Patience bounds a claim and a release; default 10 s. A log has bounds of its own for
	// appends, and for replays and checkpoints, which may be large.
	Patience time.Duration
	// Now replaces the clock that records are stamped with, in tests.
	Now func() time.Time
	// Report hears why a checkpoint failed: the log grows until one succeeds. It must
	// return quickly.
	Report func(error)
}

// Storage is a runner.Storage in a log.
type Storage struct {
	log  Log
	name string
	o    Options

	mu     sync.Mutex
	open   bool
	heir   string // who is to have the log next; "": anybody
	newest time.Time
	clock  clock
}

// clock is what records are stamped with: the wall clock, but it never goes back. So
// no life has given anything a later time than its newest record, whoever sets the wall
// clock meanwhile, and a life that follows can begin after it.
type clock struct {
	began time.Time // a reading of the monotonic clock
	start time.Time // what the clock said then
}

// now is the time of the clock, given what the wall clock says.
func (c *clock) now(wall time.Time) time.Time {
	now := c.start.Add(time.Since(c.began))
	c.reach(wall.Round(0), &now)
	return now
}

// reach lets the clock go forward to a time.
func (c *clock) reach(to time.Time, now *time.Time) {
	if ahead := to.Sub(*now); ahead > 0 {
		c.start, *now = c.start.Add(ahead), to
	}
}

// New returns the storage that the log has under a name. Nobody is asked yet.
func New(log Log, name string, o Options) *Storage {
	if o.CheckpointAfter <= 0 {
		o.CheckpointAfter = 16 << 20
	}
	if o.MaxBytes <= 0 {
		o.MaxBytes = 1 << 30
	}
	if o.Patience <= 0 {
		o.Patience = 10 * time.Second
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Report == nil {
		o.Report = func(error) {}
	}
	return &Storage{log: log, name: name, o: o, clock: clock{began: time.Now(), start: o.Now().Round(0)}}
}

// SetHeir says who may claim the log first when it is closed, for a while; "": anybody.
func (s *Storage) SetHeir(node string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.heir = node
}

func (s *Storage) heirNow() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.heir
}

// String names the storage, for messages.
func (s *Storage) String() string { return "the log " + s.name }

// Newest is the latest time of a record that was replayed when the storage was
// opened, by the clock of whoever wrote it: a life that follows begins no earlier.
func (s *Storage) Newest() time.Time {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.newest
}

// Ahead is how far the clock of the records is before that of this machine, because
// the log has records of a later time, or because the machine's was set back: a life
// that follows adds it to its own clock.
func (s *Storage) Ahead() time.Duration {
	s.mu.Lock()
	defer s.mu.Unlock()
	wall := s.o.Now()
	return s.clock.now(wall).Sub(wall.Round(0))
}

// Now is the time of a record: never before one that was replayed, or given.
func (s *Storage) Now() time.Time {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.clock.now(s.o.Now())
}

// take marks the storage as open, and returns what undoes that.
func (s *Storage) take() (give func(), err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.open {
		return nil, runner.ErrLocked
	}
	s.open = true
	return func() {
		s.mu.Lock()
		s.open = false
		s.mu.Unlock()
	}, nil
}

// Open implements runner.Storage: it claims the log and reads what is in it. What
// claims that are refused return, it returns.
func (s *Storage) Open(onFail func(error)) (runner.Backend, error) {
	give, err := s.take()
	if err != nil {
		return nil, err
	}
	b := s.newBackend(give, onFail)
	if err := s.claim(b); err != nil {
		return nil, errors.Join(fmt.Errorf("open %s: %w", s, err), b.Close())
	}
	return b, nil
}

// claim makes b the holder, with the rows that the log has.
func (s *Storage) claim(b *backend) error {
	ctx, cancel := context.WithTimeout(b.ctx, s.o.Patience)
	defer cancel()
	held, err := s.log.Claim(ctx, s.name, Holder{Node: s.o.Node, Lost: b.fail})
	if err != nil {
		return err
	}
	b.held = held
	newest, n, err := b.rows.replay(func(visit func(uint64, []byte) error) error { return held.Replay(b.ctx, visit) })
	if err != nil {
		b.fail(err) // what is known of the log is not all
		return err
	}
	b.seq, b.since = held.Seq(), n
	s.mu.Lock()
	s.newest = newest
	now := s.clock.now(s.o.Now())
	s.clock.reach(newest, &now)
	s.mu.Unlock()
	return nil
}

// replay applies the records of a log, and returns the latest of their times and how
// many bytes they have.
func (r *rows) replay(each func(visit func(seq uint64, record []byte) error) error) (newest time.Time, n int, err error) {
	err = each(func(seq uint64, record []byte) error {
		n += len(record)
		at, err := r.apply(record)
		if err != nil {
			return fmt.Errorf("record %d: %w", seq, err)
		}
		if at.After(newest) {
			newest = at
		}
		return nil
	})
	return newest, n, err
}

// OpenReadOnly implements runner.Storage. It claims nothing: it shows what the log
// had at one moment, whoever holds it.
func (s *Storage) OpenReadOnly(onFail func(error)) (runner.Backend, error) {
	give, err := s.take()
	if err != nil {
		return nil, err
	}
	b := s.newBackend(give, onFail)
	_, _, err = b.rows.replay(func(visit func(uint64, []byte) error) error { return s.log.Look(b.ctx, s.name, visit) })
	if err == nil && b.rows.tree.Len() == 0 {
		err = runner.ErrNoSchema
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("read %s: %w", s, err), b.Close())
	}
	return b, nil
}

// Restore implements runner.Storage: a checkpoint is a file that Backend.Checkpoint
// has written.
func (s *Storage) Restore(checkpoint string, prepare func(runner.Backend) error) error {
	give, err := s.take()
	if err != nil {
		return err
	}
	defer give()
	fresh := s.newBackend(func() {}, func(error) {})
	fresh.scratch = true
	if err := fresh.rows.readFile(checkpoint); err != nil {
		return fmt.Errorf("checkpoint %s: %w", checkpoint, err)
	}
	if err := prepare(fresh); err != nil {
		return err
	}
	claim, cancel := context.WithTimeout(context.Background(), s.o.Patience)
	defer cancel()
	life, lost := context.WithCancelCause(context.Background())
	defer lost(nil)
	held, err := s.log.Claim(claim, s.name, Holder{Node: s.o.Node, Lost: lost})
	if err != nil {
		return fmt.Errorf("restore %s: %w", s, err)
	}
	if err = held.Checkpoint(life, held.Seq(), fresh.rows.records(s.Now())); err != nil {
		err = errors.Join(err, context.Cause(life))
	}
	release, cancel := context.WithTimeout(context.Background(), s.o.Patience)
	defer cancel()
	return errors.Join(err, held.Release(release, s.o.Node))
}
