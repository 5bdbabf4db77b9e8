package logstore

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"wamble/runner"
)

// Options configure a Storage. The zero value is usable.
type Options struct {
	// Node is the name of the claimant.
	Node string
	// CheckpointAfter is how many bytes of records are appended before a checkpoint replaces
	// them; default 16 MiB. If the rows take more memory, it is that amount.
	CheckpointAfter int
	// MaxBytes is about how much memory the rows may take; what is left of it is the runner's
	// free space. Default 1 GiB.
	MaxBytes int
	// Patience bounds a claim and a release; default 10 s. A log has its own bounds for
	// appends, and for replays and checkpoints, which may be large.
	Patience time.Duration
	// Now replaces the clock for the times of records, in tests.
	Now func() time.Time
	// Report gets the errors of failed checkpoints: the log grows until one succeeds. It must
	// return quickly.
	Report func(error)
}

// Storage is a runner.Storage in a log.
type Storage struct {
	log  Log
	name string
	o    Options

	mu        sync.Mutex
	open      bool
	successor string // node that may claim the log next; "" for any
	clock     clock
}

// clock gives the times of records: the wall clock, but it never goes back. So no time of a
// holder is later than its newest record, even if the wall clock is set, and the next holder
// can begin after that record.
type clock struct {
	began time.Time // a reading of the monotonic clock
	start time.Time // the clock's time at began
}

// now returns the time of the clock, given the wall clock's.
func (c *clock) now(wall time.Time) time.Time {
	now := c.start.Add(time.Since(c.began))
	c.reach(wall.Round(0), &now)
	return now
}

// reach moves the clock forward to a time.
func (c *clock) reach(to time.Time, now *time.Time) {
	if ahead := to.Sub(*now); ahead > 0 {
		c.start, *now = c.start.Add(ahead), to
	}
}

// New returns the storage of a name in a log. It does not access the log.
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

// SetSuccessor sets the node that may claim the log first, for a while, when it is closed; "" for
// any.
func (s *Storage) SetSuccessor(node string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.successor = node
}

func (s *Storage) successorNow() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.successor
}

// String returns a description for messages.
func (s *Storage) String() string { return "the log " + s.name }

// Ahead returns how far the clock of the records is ahead of the machine's clock, because the
// log has records with a later time, or the machine's clock was set back: the new holder adds
// it to its own clock.
func (s *Storage) Ahead() time.Duration {
	s.mu.Lock()
	defer s.mu.Unlock()
	wall := s.o.Now()
	return s.clock.now(wall).Sub(wall.Round(0))
}

// Now returns the time for a record: never before a replayed or returned one.
func (s *Storage) Now() time.Time {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.clock.now(s.o.Now())
}

// take marks the storage as open, and returns a function that undoes that.
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

// Open implements runner.Storage: it claims the log and reads its content. It returns the error
// of a refused claim.
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

// claim makes b the holder, with the rows of the log.
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
		b.fail(err) // only a part of the log is known
		return err
	}
	b.seq, b.since = held.Seq(), n
	s.mu.Lock()
	now := s.clock.now(s.o.Now())
	s.clock.reach(newest, &now)
	s.mu.Unlock()
	return nil
}

// replay applies the records of a log, and returns the latest of their times and their total
// bytes.
func (r *rows) replay(each func(visit func(seq uint64, record []byte) error) error) (newest time.Time, n int,
	err error) {
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

// OpenReadOnly implements runner.Storage. It claims nothing, and shows the content of the log
// at one moment, also if it has a holder.
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

// Restore implements runner.Storage: a checkpoint is a file written by Backend.Checkpoint.
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
