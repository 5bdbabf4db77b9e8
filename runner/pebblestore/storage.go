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
	"github.com/cockroachdb/pebble/v2/vfs"

	"wamble/runner"
)

// Durability is what a commit waits for.
type Durability uint8

const (
	// Fsync waits for the disk: the commit survives a power loss.
	Fsync Durability = iota
	// Write waits for the kernel: the commit survives kill -9 of the process, but not a power
	// loss.
	Write
)

// Options configure a Storage. The zero value is usable.
type Options struct {
	// Durability defaults to Fsync.
	Durability Durability
}

// Storage is a directory with a Pebble.
type Storage struct {
	dir        string
	fs         vfs.FS
	durability Durability
	memSize    uint64 // see memTables
	memCount   int
	stalls     func(pebble.WriteStallBeginInfo) // called when commits wait for a flush, in tests

	lost    atomic.Uint64
	mu      sync.Mutex
	pending *opening // an opening that waits for space on a full disk; nil if there is none
}

// At returns the storage in dir, which the first Open creates. Restore also uses dir.restoring
// and dir.replaced.
func At(dir string, o Options) *Storage { return at(vfs.Default, dir, o) }

func at(fs vfs.FS, dir string, o Options) *Storage {
	s := &Storage{dir: fs.PathJoin(dir), fs: fs, durability: o.Durability}
	s.memSize, s.memCount = memTables(o.Durability)
	return s
}

// String returns the directory.
func (s *Storage) String() string { return s.dir }

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
	b.fence.opened()
	if err = s.endBridge(b); err == nil {
		err = s.openMark(b)
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("open %s: %w", s.dir, err), b.Close())
	}
	return b, nil
}

// OpenReadOnly implements runner.Storage.
func (s *Storage) OpenReadOnly(onFail func(error)) (runner.Backend, error) {
	// The lock is a file: it must not be created where there is no runner.
	desc, err := pebble.Peek(s.dir, s.fs)
	switch {
	case (errors.Is(err, fs.ErrNotExist) || err == nil && !desc.Exists) && holdsPebble(s.fs, s.replaced()):
		return nil, fmt.Errorf("open %s: a restore was interrupted, and the content is in %s until the next start: %w",
			s.dir, s.replaced(), runner.ErrNoSchema)
	case errors.Is(err, fs.ErrNotExist) || err == nil && !desc.Exists:
		return nil, fmt.Errorf("open %s: %w", s.dir, runner.ErrNoSchema)
	case err != nil:
		return nil, fmt.Errorf("open %s: %w", s.dir, err)
	}
	b, err := s.open(onFail, true)
	if err != nil {
		return nil, err
	}
	_, batches, _, err := s.readBridge(b.bridgeFrom)
	if err == nil && len(batches) > 0 {
		err = fmt.Errorf("open %s: an older version left its last commits in the file %s: "+
			"open it once for writing", s.dir, bridgeFile)
	}
	if err != nil {
		return nil, errors.Join(err, b.Close())
	}
	return b, nil
}

// opening is a Pebble that a separate goroutine opens: on a full disk Pebble retries the flush
// of its logs until there is space. Open returns after a while; the next Open continues to wait
// for the same Pebble, because it cannot be abandoned.
type opening struct {
	b    *backend
	done chan struct{}
	err  error
}

// openPatience is how long an opening waits for space on a full disk without progress.
const openPatience = time.Second

// open locks the directory and opens Pebble in it.
func (s *Storage) open(onFail func(error), readOnly bool) (*backend, error) {
	o, waited, err := s.take(readOnly)
	if err != nil {
		return nil, err
	}
	b := o.b
	b.onFail.Store(&onFail)
	select {
	case <-o.done:
	case <-b.logger.broken:
	case <-b.fence.room.full:
		if !o.awaitRoom() {
			s.mu.Lock()
			s.pending = o
			s.mu.Unlock()
			return nil, fmt.Errorf("open %s: %w", s.dir, b.fence.explain(syscall.ENOSPC))
		}
	}
	if err := o.end(); err != nil && waited && isFull(err) {
		return s.open(onFail, readOnly) // it failed while the disk was full
	} else if err != nil {
		return nil, fmt.Errorf("open %s: %w", s.dir, err)
	}
	return b, nil
}

// awaitRoom waits until Pebble is open, or has failed to open. It returns false if the disk is
// still full after openPatience.
func (o *opening) awaitRoom() bool {
	for {
		met := o.b.fence.room.met.Load()
		select {
		case <-o.done:
			return true
		case <-o.b.logger.broken:
			return true
		case <-time.After(openPatience):
			if o.b.fence.room.met.Load() != met {
				return false
			}
		}
	}
}

// end completes an opening: it returns the error of a failed one, and abandons its Pebble.
func (o *opening) end() error {
	err := o.b.logger.opened()
	select {
	case <-o.done:
		if pebble.IsCorruptionError(o.err) {
			o.err = fmt.Errorf("%w: %w", runner.ErrDamaged, o.err)
		}
		err = errors.Join(o.err, err)
	default:
	}
	if err == nil {
		return nil
	}
	o.b.fence.close()
	return errors.Join(o.b.fence.explain(err), o.b.lock.Close())
}

// take returns the waiting opening, or begins one.
func (s *Storage) take(readOnly bool) (o *opening, waited bool, err error) {
	if !readOnly {
		s.mu.Lock()
		o, s.pending = s.pending, nil
		s.mu.Unlock()
	}
	if o != nil {
		return o, true, nil
	}
	lock, err := s.lock()
	if err != nil {
		return nil, false, err
	}
	return s.begin(readOnly, lock), false, nil
}

// begin begins to open Pebble in the locked directory.
func (s *Storage) begin(readOnly bool, lock io.Closer) *opening {
	b := &backend{dir: s.dir, lock: lock, readOnly: readOnly, failedCh: make(chan struct{})}
	b.closing, b.stop = context.WithCancel(context.Background())
	b.logger = newFatalLogger()
	b.fence = newFencedFS(s.fs, s.dir, s.durability, func(err error) {
		b.logger.giveUp(err)
		b.logger.fail(err)
	})
	b.logger.onFail = func(err error) {
		b.failed.Store(true)
		close(b.failedCh)
		(*b.onFail.Load())(err)
		b.fence.close() // may wait for a write that hangs; Close waits again
	}
	po := s.pebbleOptions(b.fence, b.logger)
	po.EventListener.WALCreated = func(i pebble.WALCreateInfo) {
		if i.Err == nil {
			b.fence.room.newest.Store(uint64(i.FileNum))
		}
	}
	po.EventListener.CompactionBegin = b.fence.room.begin
	po.EventListener.CompactionEnd = b.fence.room.end
	po.EventListener.FlushEnd = func(i pebble.FlushInfo) {
		if i.Err == nil {
			b.fence.room.tables.Add(tableSize(i.Output))
		}
	}
	po.EventListener.WriteStallBegin = s.stalls
	po.ReadOnly = readOnly
	o := &opening{b: b, done: make(chan struct{})}
	go func() {
		defer close(o.done)
		o.err = guard(func() (err error) {
			if b.db, err = s.openPebble(po); err == nil {
				total := b.db.Metrics().Total()
				b.fence.room.tables.Store(total.TablesSize)
			}
			return err
		})
	}()
	return o
}

// openPebble opens Pebble, twice if it is new: a new Pebble creates its first log before its
// format is the newest, without the information that distinguishes a damaged log from one whose
// end was never synced.
func (s *Storage) openPebble(o *pebble.Options) (*pebble.DB, error) {
	desc, err := pebble.Peek(s.dir, o.FS)
	isNew := err == nil && !desc.Exists
	db, err := pebble.Open(s.dir, o)
	if err != nil || !isNew {
		return db, err
	}
	if err := db.Close(); err != nil {
		return nil, err
	}
	return pebble.Open(s.dir, o)
}

// lock locks the directory. It returns runner.ErrLocked if the directory is locked, and another
// error if it cannot be locked at all.
func (s *Storage) lock() (io.Closer, error) {
	lock, err := s.fs.Lock(s.fs.PathJoin(s.dir, lockFile))
	switch {
	case err == nil:
		return lock, nil
	case errors.Is(err, fs.ErrPermission) || errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.EROFS):
		return nil, fmt.Errorf("lock %s: %w", s.dir, err)
	}
	return nil, fmt.Errorf("lock %s: %w: %w", s.dir, runner.ErrLocked, err)
}

// memTables returns the size of a memtable, and how many may wait to be written to a table.
// Together they bound what a start after a crash must replay.
//
// A message that is added and removed within one memtable is never written to a table, and each
// written table is synced: if the log is synced too, large memtables save syncs. If the log is
// not synced, the cost is how often a memtable uses fresh memory: a small one, and the pages of
// its log, are reused soon.
func memTables(d Durability) (size uint64, count int) {
	if d == Write {
		return 16 << 20, 12
	}
	return 64 << 20, 3
}

func (s *Storage) pebbleOptions(fs vfs.FS, logger *fatalLogger) *pebble.Options {
	o := &pebble.Options{
		FS:                          fs,
		Logger:                      logger,
		FormatMajorVersion:          pebble.FormatNewest,
		MemTableSize:                s.memSize,
		MemTableStopWritesThreshold: s.memCount,
		CacheSize:                   8 << 20,
		// Messages leave an inbox soon: moving them down the levels, or compressing them, is
		// wasted work.
		L0CompactionThreshold: 16,
		L0StopWritesThreshold: 64,
		EventListener: &pebble.EventListener{
			BackgroundError: logger.background,
			DataCorruption:  func(i pebble.DataCorruptionInfo) { logger.fail(fmt.Errorf("corruption: %s", i)) },
		},
	}
	o.ApplyCompressionSettings(func() pebble.DBCompressionSettings { return pebble.DBCompressionNone })
	// Bundles are larger than the default block of 4 KB: a flush would write each with a system
	// call of its own.
	o.Levels[0].BlockSize = 32 << 10
	// Reads must not trigger compactions, see view.Close.
	o.Experimental.ReadSamplingMultiplier = -1
	return o
}
