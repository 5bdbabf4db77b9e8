package pebblestore

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"

	"wamble/runner"
)

// room is what the fence knows about the space that Pebble takes.
//
// What was logged has to be written to tables some day, and a table that cannot be
// written is tried again and again while commits wait. So what is free for more is
// what the disk has free, less what the newest logs hold. Compactions take less
// space in the end, but more while they run: they stop while there is little, and
// flushes have what is left.
type room struct {
	mu   sync.Mutex
	logs []*atomic.Int64 // bytes of the newest logs, as many as there may be memtables
	most int             // the number of memtables that may exist

	full  chan struct{} // closed when a table met a full disk
	first sync.Once
	met   atomic.Uint64 // how often one did
}

const (
	// fullPause is how long Pebble rests before it tries a table again.
	fullPause = 200 * time.Millisecond
	// compactFloor is the space that compactions leave, beside that for flushes.
	compactFloor = 8 << 20
	// askEvery is after how many bytes a compaction looks for space again.
	askEvery = 1 << 20
)

func isFull(err error) bool {
	return errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT)
}

// wait holds up who has met a full disk.
func (r *room) wait() {
	r.met.Add(1)
	r.first.Do(func() { close(r.full) })
	time.Sleep(fullPause)
}

// newLog counts the bytes of a log. The oldest log of more than most is flushed.
func (r *room) newLog() *atomic.Int64 {
	r.mu.Lock()
	defer r.mu.Unlock()
	n := new(atomic.Int64)
	r.logs = append(r.logs, n)
	r.keepLocked(r.most)
	return n
}

// keep forgets all logs but the newest n: they are flushed.
func (r *room) keep(n int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.keepLocked(n)
}

func (r *room) keepLocked(n int) {
	if len(r.logs) > n {
		r.logs = slices.Delete(r.logs, 0, len(r.logs)-n)
	}
}

// owed is how many bytes flushes may have to write.
func (r *room) owed() (sum uint64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, n := range r.logs {
		sum += uint64(n.Load())
	}
	return sum
}

// explain says of a full disk which, and what helps.
func (f *fencedFS) explain(err error) error {
	if !isFull(err) {
		return err
	}
	u, _ := f.GetDiskUsage(f.dir)
	return fmt.Errorf("the disk of %s is full, %d MB of %d MB are free: make room there: %w", f.dir, u.AvailBytes>>20, u.TotalBytes>>20, err)
}

// ask returns an error while there is little space for a compaction's next n bytes.
func (f *fencedFile) ask(n int) error {
	if f.since -= n; f.since >= 0 {
		return nil
	}
	f.since = askEvery
	u, err := f.fs.GetDiskUsage(f.fs.dir)
	if err == nil && u.AvailBytes < f.fs.room.owed()+compactFloor {
		return fmt.Errorf("%d MB are free, a compaction leaves them to others: %w", u.AvailBytes>>20, syscall.ENOSPC)
	}
	return nil
}

// Free returns the free space of the disk, less what has to be written to it.
func (b *backend) Free() (uint64, error) {
	u, err := b.fence.GetDiskUsage(b.dir)
	return u.AvailBytes - min(u.AvailBytes, b.fence.room.owed()), err
}

const (
	// shrinkFrom is how many bytes of logs, or of tables, are worth the effort.
	shrinkFrom = 4 << 20
	// compactEvery is how often Shrink compacts, which writes anew what is left.
	compactEvery = 10 * time.Second
)

// Shrink writes the memtables out, empties the logs that are kept to be used
// again, and compacts away what was deleted since the last time.
func (b *backend) Shrink() error {
	if b.readOnly {
		return nil
	}
	b.shrinking.Lock()
	defer b.shrinking.Unlock()
	if b.closing.Err() != nil {
		return runner.ErrStopped
	}
	return b.await(func() error {
		if _, size, err := b.logs(); err != nil || size >= shrinkFrom {
			if err := errors.Join(err, b.db.Flush(), b.emptyLogs()); err != nil {
				return err
			}
		}
		m, now := b.db.Metrics(), time.Now()
		total := m.Total()
		if total.TablesSize < shrinkFrom || b.commits.Load() == b.compacted || now.Sub(b.compactedAt) < compactEvery {
			return nil
		}
		b.compacted, b.compactedAt = b.commits.Load(), now
		err := b.db.Compact(b.closing, []byte{0}, []byte{0xff}, false)
		if errors.Is(err, context.Canceled) || isFull(err) {
			return nil
		}
		return err
	})
}

// logs lists the logs in the directory, oldest first, and what they hold.
func (b *backend) logs() (names []string, size int64, err error) {
	names, err = logNames(b.fence, b.dir)
	for _, name := range names {
		if info, err := b.fence.Stat(b.fence.PathJoin(b.dir, name)); err == nil {
			size += info.Size()
		}
	}
	return names, size, err
}

// logNames lists the logs in dir, oldest first.
func logNames(fs vfs.FS, dir string) ([]string, error) {
	names, err := fs.List(dir)
	names = slices.DeleteFunc(names, func(name string) bool { return !isLog(name) })
	slices.SortFunc(names, func(x, y string) int { return cmp.Compare(logNumber(x), logNumber(y)) })
	return names, err
}

func logNumber(name string) uint64 {
	n, _ := strconv.ParseUint(strings.TrimSuffix(name, ".log"), 10, 64)
	return n
}

// emptyLogs empties the logs that Pebble keeps to be used again. Those in use are
// the newest: the list is made before Pebble is asked how many, so that a log which
// comes in between keeps one more. An empty file takes the place of each by one
// rename, because Pebble may take the log for itself at any time.
func (b *backend) emptyLogs() error {
	names, _, err := b.logs()
	if err != nil {
		return err
	}
	live := int(b.db.Metrics().WAL.Files)
	if live < 1 {
		return nil
	}
	b.fence.room.keep(live)
	if live >= len(names) {
		return nil
	}
	for _, name := range names[:len(names)-live] {
		path, empty := b.fence.PathJoin(b.dir, name), b.fence.PathJoin(b.dir, "empty.dbtmp")
		err := b.fence.lenient(func() error {
			if info, err := b.fence.FS.Stat(path); err != nil || info.Size() == 0 {
				return nil
			}
			file, err := b.fence.FS.Create(empty, "pebble-wal")
			if err != nil {
				return err
			}
			return errors.Join(file.Close(), b.fence.FS.Rename(empty, path))
		})
		if err != nil {
			return err
		}
	}
	return nil
}
