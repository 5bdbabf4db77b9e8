package pebblestore

import (
	"errors"
	"fmt"
	"io/fs"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/vfs"

	"wamble/runner"
)

// Durability says what a commit waits for.
type Durability uint8

const (
	// Fsync waits until the disk has it: it survives a power loss.
	Fsync Durability = iota
	// Write waits until the kernel has it: it survives kill -9 of the
	// process, not a power loss.
	Write
)

// Options of At. The zero value serves.
type Options struct {
	// Durability is Fsync unless set.
	Durability Durability
	// FS is the file system; nil means the operating system's. Tests pass one
	// that crashes or fails.
	FS vfs.FS
}

// Storage is a directory that Pebble owns.
type Storage struct {
	dir        string
	fs         vfs.FS
	durability Durability
}

// At returns the storage in dir, which is made when it is opened first. Beside it
// Restore uses dir.restoring and dir.replaced.
func At(dir string, o Options) *Storage {
	if o.FS == nil {
		o.FS = vfs.Default
	}
	return &Storage{dir: o.FS.PathJoin(dir), fs: o.FS, durability: o.Durability}
}

// Open implements runner.Storage.
func (s *Storage) Open(onFail func(error)) (runner.Backend, error) {
	if err := s.fs.MkdirAll(s.dir, 0o700); err != nil {
		return nil, fmt.Errorf("create %s: %w", s.dir, err)
	}
	if err := s.finishRestore(); err != nil {
		return nil, err
	}
	b, err := s.open(onFail, false)
	if err != nil {
		return nil, err
	}
	if err := b.fence.opened(); err != nil {
		return nil, errors.Join(fmt.Errorf("open %s: %w", s.dir, err), b.Close())
	}
	return b, nil
}

// OpenReadOnly implements runner.Storage.
func (s *Storage) OpenReadOnly(onFail func(error)) (runner.Backend, error) {
	// The lock is a file: it must not appear where no runner is.
	desc, err := pebble.Peek(s.dir, s.fs)
	switch {
	case (errors.Is(err, fs.ErrNotExist) || err == nil && !desc.Exists) && holdsPebble(s.fs, s.replaced()):
		return nil, fmt.Errorf("open %s: a restore was interrupted, and the content is in %s until the next start: %w", s.dir, s.replaced(), runner.ErrNoSchema)
	case errors.Is(err, fs.ErrNotExist) || err == nil && !desc.Exists:
		return nil, fmt.Errorf("open %s: %w", s.dir, runner.ErrNoSchema)
	case err != nil:
		return nil, fmt.Errorf("open %s: %w", s.dir, err)
	}
	b, err := s.open(onFail, true)
	if err != nil {
		return nil, err
	}
	return b, nil
}

// open locks the directory and opens Pebble in it.
func (s *Storage) open(onFail func(error), readOnly bool) (*backend, error) {
	lock, err := s.lock()
	if err != nil {
		return nil, err
	}
	b := &backend{dir: s.dir, lock: lock, readOnly: readOnly, failedCh: make(chan struct{})}
	b.logger = &fatalLogger{opening: true}
	b.fence = newFencedFS(s.fs, s.dir, s.durability, func(err error) { b.logger.fail(err) })
	b.logger.onFail = func(err error) {
		b.failed.Store(true)
		close(b.failedCh)
		onFail(err)
		b.fence.close() // may wait for a write that hangs; Close waits again
	}
	o := s.pebbleOptions(b.fence, b.logger, lock)
	o.ReadOnly = readOnly
	err = guard(func() (err error) {
		b.db, err = pebble.Open(s.dir, o)
		return err
	})
	if ferr := b.logger.opened(); err == nil {
		err = ferr
	}
	if err != nil {
		b.fence.close()
		return nil, errors.Join(fmt.Errorf("open %s: %w", s.dir, err), lock.Close())
	}
	return b, nil
}

// lock locks the directory. It tells a directory that somebody holds from one
// that cannot be locked at all.
func (s *Storage) lock() (*pebble.Lock, error) {
	lock, err := pebble.LockDirectory(s.dir, s.fs)
	switch {
	case err == nil:
		return lock, nil
	case errors.Is(err, fs.ErrPermission) || errors.Is(err, fs.ErrNotExist):
		return nil, fmt.Errorf("lock %s: %w", s.dir, err)
	}
	return nil, fmt.Errorf("lock %s: %w: %w", s.dir, runner.ErrLocked, err)
}

// memTables returns how large a memtable is, and how many may wait to be written
// to a table. Together they bound what a start after a crash has to replay.
//
// A message that comes and goes within one memtable is never written to a
// table, and each table that is written is synced: where the log is synced too,
// large memtables save syncs. Where the log is not synced, what counts is how
// often a memtable is made of memory that was never used: a small one, and the
// pages of its log, are soon used again.
func (s *Storage) memTables() (size uint64, count int) {
	if s.durability == Write {
		return 16 << 20, 12
	}
	return 64 << 20, 3
}

func (s *Storage) pebbleOptions(fs vfs.FS, logger *fatalLogger, lock *pebble.Lock) *pebble.Options {
	memSize, memCount := s.memTables()
	o := &pebble.Options{
		FS:                          fs,
		Lock:                        lock,
		Logger:                      logger,
		FormatMajorVersion:          pebble.FormatNewest,
		MemTableSize:                memSize,
		MemTableStopWritesThreshold: memCount,
		CacheSize:                   8 << 20,
		// What waits in an inbox leaves soon: moving it down the levels is work
		// that its deletion saves, and compressing it too.
		L0CompactionThreshold: 16,
		L0StopWritesThreshold: 64,
		EventListener: &pebble.EventListener{
			BackgroundError: func(err error) { logger.fail(fmt.Errorf("background work: %w", err)) },
			DataCorruption:  func(i pebble.DataCorruptionInfo) { logger.fail(fmt.Errorf("corruption: %s", i)) },
		},
	}
	o.ApplyCompressionSettings(func() pebble.DBCompressionSettings { return pebble.DBCompressionNone })
	// Bundles are larger than the default block of 4 KB: a flush would write
	// each with a system call of its own.
	o.Levels[0].BlockSize = 32 << 10
	// Reads must not look for compactions: see view.Close.
	o.Experimental.ReadSamplingMultiplier = -1
	return o
}
