package runner

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/vfs"
)

var (
	// ErrReadOnly is returned by every change of a runner that was opened with
	// OpenReadOnly.
	ErrReadOnly = errors.New("opened for reading only")
	// ErrLocked is returned when another process, or another runner of this
	// one, has the directory open.
	ErrLocked = errors.New("the directory is in use")
)

// OpenReadOnly opens the runner in dir without changing anything in it, for
// tools that look into one that is stopped: no epoch begins, leases stay as
// they are, and every change is refused with ErrReadOnly. Options.Create and
// Options.Migrate have no effect; a directory without a runner is ErrNoSchema.
func OpenReadOnly(dir string, o Options) (*Runner, error) {
	o.Create, o.Migrate = false, nil
	r := &Runner{o: o.withDefaults(), storage: readOnlyStorage{dir}}
	e := &engine{o: &r.o, failedCh: make(chan struct{})}
	back, err := r.storage.Open(e.fail)
	if err != nil {
		return nil, err
	}
	e.back = back
	e.started = e.now()
	e.ix.inboxes = map[uint64]*inbox{}
	if err := e.inspect(); err != nil {
		return nil, errors.Join(err, back.Close())
	}
	r.eng.Store(e)
	return r, nil
}

// inspect reads what start reads, and stops the committer before it begins.
func (e *engine) inspect() error {
	schema, _, err := e.guardSchema()
	if err != nil {
		return err
	}
	e.schema = schema
	if err := e.loadIndex(); err != nil {
		return fmt.Errorf("read the index: %w", err)
	}
	for _, row := range []struct {
		key    string
		decode func([]byte) error
	}{
		{bootKey, func(b []byte) (err error) { e.boot, err = decodeBoot(b); return err }},
		{journalKey, func(b []byte) (err error) { e.journal, err = decodeJournal(b); return err }},
	} {
		b, ok, err := e.own(row.key)
		if err == nil && ok {
			err = row.decode(b)
		}
		if err != nil {
			return err
		}
	}
	if err := e.loadLeases(); err != nil {
		return fmt.Errorf("read the leases: %w", err)
	}
	e.k = newCommitter(e)
	e.k.close(ErrReadOnly)
	close(e.k.stopped)
	return nil
}

// readOnlyStorage is a directory of Pebble that is only read.
type readOnlyStorage struct{ dir string }

func (s readOnlyStorage) Open(onFail func(error)) (Backend, error) {
	// The lock is a file: it must not appear where no runner is.
	if desc, err := pebble.Peek(s.dir, vfs.Default); err != nil || !desc.Exists {
		if err == nil {
			err = ErrNoSchema
		}
		return nil, fmt.Errorf("open %s: %w", s.dir, err)
	}
	lock, err := pebble.LockDirectory(s.dir, vfs.Default)
	if err != nil {
		return nil, lockError(s.dir, err)
	}
	p := pebbleStorage{dir: s.dir, fs: vfs.Default}
	b := &pebbleBackend{lock: lock, dir: s.dir, fence: newFencedFS(p.fs, s.dir, Fsync, onFail)}
	b.logger = &fatalLogger{opening: true, onFail: onFail}
	o := p.options(b.fence, b.logger, lock)
	o.ReadOnly = true
	b.db, err = openPebble(s.dir, o)
	if ferr := b.logger.opened(); err == nil {
		err = ferr
	}
	if err != nil {
		b.fence.close()
		return nil, errors.Join(fmt.Errorf("open %s: %w", s.dir, err), lock.Close())
	}
	return readOnlyBackend{b}, nil
}

func (readOnlyStorage) Restore(string) error { return ErrReadOnly }

// lockError tells a directory that somebody holds from one that cannot be
// locked at all.
func lockError(dir string, err error) error {
	if errors.Is(err, fs.ErrPermission) || errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("lock %s: %w", dir, err)
	}
	return fmt.Errorf("lock %s: %w: %w", dir, ErrLocked, err)
}

// readOnlyBackend is a Pebble that cannot write a checkpoint, because it has
// no log to flush; but then nobody writes its files, and they can be copied.
type readOnlyBackend struct{ *pebbleBackend }

func (b readOnlyBackend) Flush() error { return ErrReadOnly }

func (b readOnlyBackend) Checkpoint(to string) error {
	if err := os.Mkdir(to, 0o700); err != nil {
		return err
	}
	return copyDir(b.dir, to)
}

// copyDir copies a directory of Pebble that is not being written, durably.
func copyDir(from, to string) error {
	isLock := func(path string) bool { return filepath.Base(path) == "LOCK" }
	_, err := vfs.Clone(vfs.Default, vfs.Default, from, to, vfs.CloneSync, vfs.CloneSkip(isLock))
	return err
}
