package runner

import (
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/vfs"
)

// pebbleStorage is a directory that Pebble owns.
type pebbleStorage struct {
	dir        string
	fs         vfs.FS
	durability Durability
}

// Pebble returns the storage in dir. fs is the file system; nil means the
// operating system's. Tests pass one that crashes or fails.
func Pebble(dir string, fs vfs.FS, d Durability) Storage {
	if fs == nil {
		fs = vfs.Default
	}
	return &pebbleStorage{dir: dir, fs: fs, durability: d}
}

// pebbleBackend is an open Pebble and the means to let go of it when it has
// failed. The lock is ours, not Pebble's, because a failed Pebble cannot be
// closed: its goroutines may be stopped with its mutexes held.
type pebbleBackend struct {
	db     *pebble.DB
	fence  *fencedFS
	lock   *pebble.Lock
	dir    string
	logger *fatalLogger

	failed   atomic.Bool
	failedCh chan struct{}
	views    sync.WaitGroup // that are being closed
}

// memTables returns how large a memtable is, and how many may wait to be written
// to a table. Together they bound what a start after a crash has to replay.
//
// A message that comes and goes within one memtable is never written to a
// table, and each table that is written is synced: large ones save that beside
// a log that is synced, too. Where the log is not, what counts is how often a
// memtable has to be made of memory that was never used: a small one comes
// back soon, and with it the pages of its log.
func (s *pebbleStorage) memTables() (size uint64, count int) {
	if s.durability == Write {
		return 16 << 20, 12
	}
	return 64 << 20, 3
}

func (s *pebbleStorage) options(fs vfs.FS, logger *fatalLogger, lock *pebble.Lock) *pebble.Options {
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
	// Reads must not look for compactions: see pebbleView.Close.
	o.Experimental.ReadSamplingMultiplier = -1
	return o
}

// Open implements Storage.
func (s *pebbleStorage) Open(onFail func(error)) (Backend, error) {
	if err := s.fs.MkdirAll(s.dir, 0o700); err != nil {
		return nil, fmt.Errorf("create %s: %w", s.dir, err)
	}
	if err := s.finishRestore(); err != nil {
		return nil, err
	}
	lock, err := pebble.LockDirectory(s.dir, s.fs)
	if err != nil {
		return nil, lockError(s.dir, err)
	}
	b := &pebbleBackend{lock: lock, dir: s.dir, failedCh: make(chan struct{})}
	b.logger = &fatalLogger{opening: true}
	b.fence = newFencedFS(s.fs, s.dir, s.durability, func(err error) { b.logger.fail(err) })
	b.logger.onFail = func(err error) {
		b.failed.Store(true)
		close(b.failedCh)
		onFail(err)
		b.fence.close() // may wait for a write that hangs; Close waits again
	}
	b.db, err = openPebble(s.dir, s.options(b.fence, b.logger, lock))
	if ferr := b.logger.opened(); err == nil {
		err = ferr
	}
	if err != nil {
		b.fence.close()
		return nil, errors.Join(fmt.Errorf("open %s: %w", s.dir, err), lock.Close())
	}
	if err := b.fence.opened(); err != nil {
		return nil, errors.Join(fmt.Errorf("open %s: %w", s.dir, err), b.Close())
	}
	return b, nil
}

// openPebble turns the panics with which Pebble meets some errors into errors.
func openPebble(dir string, o *pebble.Options) (db *pebble.DB, err error) {
	defer func() {
		if v := recover(); v != nil {
			err = fmt.Errorf("pebble: %v", v)
		}
	}()
	return pebble.Open(dir, o)
}

func (b *pebbleBackend) View() View { return pebbleView{b.db.NewSnapshot(), b} }

func (b *pebbleBackend) Get(dst, key []byte) ([]byte, bool, error) { return pebbleGet(b.db, dst, key) }

func (b *pebbleBackend) Scan(lo, hi []byte, visit func(k, v []byte) bool) error {
	return pebbleScan(b.db, lo, hi, visit)
}

func (b *pebbleBackend) Batch() Batch { return &pebbleBatch{b: b, batch: b.db.NewBatch()} }

// Flush also waits for the compaction that may follow, a while: whoever opens the
// directory next would have to begin it anew.
func (b *pebbleBackend) Flush() error {
	return b.await(func() error {
		err := b.db.Flush()
		for looks := 0; looks < calmLooks && err == nil && b.db.Metrics().Compact.NumInProgress > 0; looks++ {
			time.Sleep(calmEvery)
		}
		return err
	})
}

// How often a flush looks whether the compaction has ended.
const (
	calmLooks = 100
	calmEvery = 3 * time.Millisecond
)

func (b *pebbleBackend) Checkpoint(to string) error {
	return b.await(func() error { return b.db.Checkpoint(to, pebble.WithFlushedWAL()) })
}

// await runs work that needs Pebble's background goroutines, which may be
// stopped for ever when it fails.
func (b *pebbleBackend) await(work func() error) error {
	if b.failed.Load() {
		return ErrFailed
	}
	done := make(chan error, 1)
	go func() { done <- guard(work) }()
	select {
	case err := <-done:
		return err
	case <-b.failedCh:
		return ErrFailed
	}
}

func (b *pebbleBackend) Free() (uint64, error) {
	u, err := b.fence.GetDiskUsage(b.dir)
	return u.AvailBytes, err
}

// Close closes Pebble, or leaves a failed one behind its fence.
func (b *pebbleBackend) Close() error {
	if b.failed.Load() {
		b.fence.close()
		return b.unlock()
	}
	err := b.await(func() error {
		b.views.Wait()
		return b.db.Close()
	})
	b.fence.close()
	return errors.Join(err, b.unlock())
}

// unlock releases the directory. A Pebble that was never closed still counts
// as a holder of the lock, so the count must be brought down for it.
func (b *pebbleBackend) unlock() error {
	err := b.lock.Close()
	if b.failed.Load() {
		err = errors.Join(err, b.lock.Close())
	}
	return err
}

type pebbleView struct {
	s *pebble.Snapshot
	b *pebbleBackend
}

func (v pebbleView) Get(dst, key []byte) ([]byte, bool, error) { return pebbleGet(v.s, dst, key) }
func (v pebbleView) Scan(lo, hi []byte, visit func(k, v []byte) bool) error {
	return pebbleScan(v.s, lo, hi, visit)
}

// Close lets go of the snapshot without waiting: Pebble may look for compactions
// first, behind a lock that a failed one holds for ever.
func (v pebbleView) Close() error {
	v.b.views.Add(1)
	go func() {
		defer v.b.views.Done()
		v.s.Close() // it has no error to tell
	}()
	return nil
}

func pebbleGet(r pebble.Reader, dst, key []byte) ([]byte, bool, error) {
	value, closer, err := r.Get(key)
	if errors.Is(err, pebble.ErrNotFound) {
		return dst, false, nil
	}
	if err != nil {
		return dst, false, err
	}
	dst = append(dst, value...)
	return dst, true, closer.Close()
}

func pebbleScan(r pebble.Reader, lo, hi []byte, visit func(k, v []byte) bool) error {
	it, err := r.NewIter(&pebble.IterOptions{LowerBound: lo, UpperBound: hi})
	if err != nil {
		return err
	}
	for ok := it.First(); ok; ok = it.Next() {
		value, err := it.ValueAndErr()
		if err != nil {
			return errors.Join(err, it.Close())
		}
		if !visit(it.Key(), value) {
			break
		}
	}
	return it.Close()
}

type pebbleBatch struct {
	b     *pebbleBackend
	batch *pebble.Batch
}

// Set and Delete fail only on a closed batch, which this one never is.
func (b *pebbleBatch) Set(key, value []byte) { _ = b.batch.Set(key, value, nil) }
func (b *pebbleBatch) Delete(key []byte)     { _ = b.batch.Delete(key, nil) }
func (b *pebbleBatch) Len() int {
	if b.batch.Empty() {
		return 0
	}
	return b.batch.Len()
}
func (b *pebbleBatch) Reset() { b.batch.Reset() }

// Commit reports a failure also when Pebble itself returned nil after Fatalf,
// or panicked because it could not create its next log file.
func (b *pebbleBatch) Commit() (err error) {
	if b.b.failed.Load() {
		return ErrFailed
	}
	defer func() {
		if v := recover(); v != nil {
			err = fmt.Errorf("pebble: %v", v)
			b.b.logger.fail(err)
		}
	}()
	if err := b.batch.Commit(pebble.Sync); err != nil {
		b.b.logger.fail(err)
		return err
	}
	if b.b.failed.Load() {
		return ErrFailed
	}
	if cap(b.batch.Repr()) > 1<<20 {
		_ = b.batch.Close()
		b.batch = b.b.db.NewBatch()
	} else {
		b.batch.Reset()
	}
	return nil
}
