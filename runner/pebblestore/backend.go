package pebblestore

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/cockroachdb/pebble/v2"

	"wamble/runner"
)

// backend is an open Pebble with what is needed to abandon it after a failure. It has its own
// lock, because a failed Pebble cannot be closed: its goroutines may be stopped while they hold
// its mutexes.
type backend struct {
	db       *pebble.DB
	fence    *fencedFS
	lock     io.Closer
	dir      string
	readOnly bool
	logger   *fatalLogger
	onFail   atomic.Pointer[func(error)]

	failed   atomic.Bool
	failedCh chan struct{}
	views    sync.WaitGroup // views that are being closed

	closing     context.Context // ends when Close begins
	stop        context.CancelFunc
	shrinking   sync.Mutex
	commits     atomic.Uint64
	mark        mark
	compacted   uint64    // commits at the last compaction of Shrink
	compactNext time.Time // when it may compact again
}

func (b *backend) View() runner.View { return view{b.db.NewSnapshot(), b} }

func (b *backend) Get(dst, key []byte) ([]byte, bool, error) { return get(b.db, dst, key) }

func (b *backend) Scan(lo, hi []byte, visit func(k, v []byte) bool) error {
	return scan(b.db, lo, hi, visit)
}

func (b *backend) Batch() runner.Batch { return &batch{b: b, batch: b.db.NewBatch()} }

// Flush also waits a while for a compaction that it may have triggered: otherwise the next
// process would have to start that compaction again.
func (b *backend) Flush() error {
	return b.await(func() error {
		err := b.db.Flush()
		for looks := 0; looks < calmLooks && err == nil && b.db.Metrics().Compact.NumInProgress > 0; looks++ {
			time.Sleep(calmEvery)
		}
		return err
	})
}

// Memory returns the size of the memtables, which are written out when they are full, and of
// cached blocks of tables.
func (b *backend) Memory() uint64 {
	m := b.db.Metrics()
	return m.MemTable.Size + m.MemTable.ZombieSize + uint64(m.BlockCache.Size)
}

// How often a flush checks whether the compaction has ended.
const (
	calmLooks = 100
	calmEvery = 3 * time.Millisecond
)

// Checkpoint copies the files of a read-only Pebble, which has no log to flush and whose files
// do not change.
func (b *backend) Checkpoint(to string) error {
	if b.readOnly {
		if _, err := b.fence.Stat(to); err == nil {
			return &fs.PathError{Op: "mkdir", Path: to, Err: syscall.EEXIST}
		}
		return copyDir(b.fence.FS, b.dir, to)
	}
	return b.await(func() error { return b.db.Checkpoint(to, pebble.WithFlushedWAL()) })
}

// await runs work that needs Pebble's background goroutines, which may be stopped forever when
// Pebble fails.
func (b *backend) await(work func() error) error {
	if b.failed.Load() {
		return runner.ErrFailed
	}
	done := make(chan error, 1)
	go func() { done <- guard(work) }()
	select {
	case err := <-done:
		return err
	case <-b.failedCh:
		return runner.ErrFailed
	}
}

// Hurry implements runner.Patient.
func (b *backend) Hurry() {
	b.stop()
	b.fence.closing.Store(true)
}

// Close closes Pebble, or abandons a failed one behind its fence.
func (b *backend) Close() error {
	b.Hurry()
	b.shrinking.Lock()
	defer b.shrinking.Unlock()
	if b.failed.Load() {
		b.fence.close()
		return b.lock.Close()
	}
	b.closeMark()
	err := b.await(func() error {
		b.views.Wait()
		return b.db.Close()
	})
	b.fence.close()
	return errors.Join(err, b.lock.Close())
}

type view struct {
	s *pebble.Snapshot
	b *backend
}

func (v view) Get(dst, key []byte) ([]byte, bool, error) { return get(v.s, dst, key) }
func (v view) Scan(lo, hi []byte, visit func(k, v []byte) bool) error {
	return scan(v.s, lo, hi, visit)
}

// Close releases the snapshot without waiting: Pebble may first check for compactions, under a
// lock that a failed Pebble holds forever.
func (v view) Close() error {
	v.b.views.Add(1)
	go func() {
		defer v.b.views.Done()
		// A panic of Pebble is a failure.
		if err := guard(v.s.Close); err != nil {
			v.b.logger.fail(err)
		}
	}()
	return nil
}

func get(r pebble.Reader, dst, key []byte) ([]byte, bool, error) {
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

func scan(r pebble.Reader, lo, hi []byte, visit func(k, v []byte) bool) error {
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

type batch struct {
	b     *backend
	batch *pebble.Batch
}

// Set and Delete fail only on a closed batch, which this one is not.
func (b *batch) Set(key, value []byte) { _ = b.batch.Set(key, value, nil) }
func (b *batch) Delete(key []byte)     { _ = b.batch.Delete(key, nil) }
func (b *batch) Len() int {
	if b.batch.Empty() {
		return 0
	}
	return b.batch.Len()
}

// Commit also reports a failure if Pebble returned nil after Fatalf, or panicked because it
// could not create its next log file.
func (b *batch) Commit() error {
	if b.b.failed.Load() {
		return runner.ErrFailed
	}
	if err := guard(func() error { return b.batch.Commit(pebble.Sync) }); err != nil {
		b.b.logger.fail(err)
		return err
	}
	if b.b.failed.Load() {
		return runner.ErrFailed
	}
	b.b.commits.Add(1)
	b.b.fence.room.addRows(b.batch.Count())
	b.b.note(uint64(b.batch.SeqNum()) + uint64(b.batch.Count()) - 1)
	if cap(b.batch.Repr()) > 1<<20 {
		_ = b.batch.Close()
		b.batch = b.b.db.NewBatch()
	} else {
		b.batch.Reset()
	}
	return nil
}

// guard turns panics, which Pebble uses for some errors, into errors.
func guard(work func() error) (err error) {
	defer func() {
		if v := recover(); v != nil {
			err = fmt.Errorf("pebble: %v", v)
		}
	}()
	return work()
}
