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

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/vfs"

	"wamble/runner"
)

// room tracks the space that Pebble takes.
//
// Logged data must be written to tables eventually, and commits wait while the write of a table
// fails and is retried. So the free space for new data is that of the disk, less the content of
// the logs that are not flushed.
//
// Deleted data leaves the disk by compactions, which temporarily take as much space as their
// tables, and Pebble retries a compaction that has found no space before all others. So the
// size of the tables is reserved too. A compaction that would take the space of flushes is
// refused.
type room struct {
	mu   sync.Mutex
	logs []*logSize // logs not known to be flushed, oldest first

	newest    atomic.Uint64 // number of the newest log that Pebble counts as in use
	tables    atomic.Int64  // bytes of all tables
	compacts  atomic.Int64  // bytes of the tables being compacted
	compacted atomic.Int64  // bytes written by the compaction

	full  chan struct{} // closed when the disk was full for the first time
	first sync.Once
	met   atomic.Uint64 // how often the disk was full
}

// logSize is the space that tables will need for a log.
type logSize struct {
	number uint64
	bytes  atomic.Int64
}

const (
	// fullPause is how long Pebble waits before it retries a table.
	fullPause = 200 * time.Millisecond
	// fullTries is how often a flush retries before it releases its space and starts again:
	// while it runs, compacted tables are not removed.
	fullTries = 25
	// closeTries is the same while the storage is being closed: then the flush fails.
	closeTries = 5

	// rowExtra is how many more bytes a row may take in a table than in a log, and 1/tableShare
	// of a table's bytes is for blocks and index.
	rowExtra   = 16
	tableShare = 64
	// tableFloor is for small files: the zeros ahead of a new log, the manifest.
	tableFloor = 1 << 20

	// compactRoom bounds the space reserved for compactions: larger journals are compacted in
	// parts.
	compactRoom = 256 << 20
	// compactFree is how many bytes a compaction may write while there is less space than its
	// tables take: one that finds everything deleted needs almost none.
	compactFree = 1 << 20
	// askEvery is the number of bytes after which a compaction checks the space again.
	askEvery = 64 << 10
)

func isFull(err error) bool {
	return errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT)
}

// wait delays a write that has met a full disk.
func (r *room) wait() {
	r.met.Add(1)
	r.first.Do(func() { close(r.full) })
	time.Sleep(fullPause)
}

// newLog registers a log.
func (r *room) newLog(number uint64) *logSize {
	r.mu.Lock()
	defer r.mu.Unlock()
	n := &logSize{number: number}
	r.logs = append(r.logs, n)
	return n
}

// flushed removes the logs up to a number. Pebble flushes them in order.
func (r *room) flushed(number uint64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.logs = slices.DeleteFunc(r.logs, func(n *logSize) bool { return n.number <= number })
}

// addRows counts committed rows in the newest log: they are in it, or in the previous one,
// which is flushed first.
func (r *room) addRows(n uint32) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if k := len(r.logs); k > 0 {
		r.logs[k-1].bytes.Add(int64(n) * rowExtra)
	}
}

// owed returns how many bytes flushes may have to write.
func (r *room) owed() uint64 {
	r.mu.Lock()
	defer r.mu.Unlock()
	var sum uint64
	for _, n := range r.logs {
		sum += uint64(n.bytes.Load())
	}
	return sum + sum/tableShare + tableFloor
}

// explain adds the disk and advice to the error of a full disk.
func (f *fencedFS) explain(err error) error {
	if !isFull(err) {
		return err
	}
	u, _ := f.GetDiskUsage(f.dir)
	return fmt.Errorf("the disk of %s is full, %d MB of %d MB are free: make room there: %w", f.dir, u.AvailBytes>>20,
		u.TotalBytes>>20, err)
}

// begin records the begin of a compaction.
func (r *room) begin(i pebble.CompactionInfo) {
	r.compacts.Store(inputSize(i))
	r.compacted.Store(0)
}

// end records the end of a compaction.
func (r *room) end(i pebble.CompactionInfo) {
	r.compacts.Store(0)
	r.compacted.Store(0)
	if i.Err == nil {
		r.tables.Add(tableSize(i.Output.Tables) - inputSize(i))
	}
}

func inputSize(i pebble.CompactionInfo) (sum int64) {
	for _, l := range i.Input {
		sum += tableSize(l.Tables)
	}
	return sum
}

func tableSize(tables []pebble.TableInfo) (sum int64) {
	for _, t := range tables {
		sum += int64(t.Size)
	}
	return sum
}

// ask returns an error if there is too little space for a compaction's next n bytes.
func (f *fencedFS) ask(n int) error {
	r := &f.room
	now := r.compacted.Add(int64(n))
	before := now - int64(n)
	if before > 0 && before/askEvery == now/askEvery {
		return nil
	}
	least := r.owed() + uint64(n) + askEvery
	if now > compactFree {
		least += uint64(max(0, r.compacts.Load()-now))
	}
	u, err := f.GetDiskUsage(f.dir)
	if err == nil && u.AvailBytes < least {
		return fmt.Errorf("%d MB are free, a compaction leaves them to others: %w", u.AvailBytes>>20, syscall.ENOSPC)
	}
	return nil
}

// Free returns the free space of the disk, less what must still be written to it.
func (b *backend) Free() (uint64, error) {
	r := &b.fence.room
	compact := min(r.tables.Load(), compactRoom) - r.compacted.Load()
	taken := r.owed() + uint64(max(0, compact))
	u, err := b.fence.GetDiskUsage(b.dir)
	return u.AvailBytes - min(u.AvailBytes, taken), err
}

const (
	// shrinkFrom is the least size in bytes of logs or tables that Shrink handles.
	shrinkFrom = 1 << 20
	// compactFor bounds Shrink's wait for a compaction, which rewrites the remaining data:
	// Pebble may run others first. The next compaction is after compactShare times the duration
	// of the last, at most after compactFor.
	compactFor   = 10 * time.Second
	compactShare = 10
)

// Shrink writes out the memtables, empties the logs that are kept for reuse, and compacts away
// what was deleted since the last time.
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
		b.fence.room.tables.Store(total.TablesSize)
		commits := b.commits.Load()
		if total.TablesSize < shrinkFrom || commits == b.compacted || now.Before(b.compactNext) {
			return nil
		}
		ctx, cancel := context.WithTimeout(b.closing, compactFor)
		defer cancel()
		err := b.db.Compact(ctx, []byte{0}, []byte{0xff}, false)
		b.compactNext = now.Add(min(compactShare*time.Since(now), compactFor))
		switch {
		case err == nil:
			b.compacted = commits
		case ctx.Err() != nil || isFull(err):
			return nil
		}
		return err
	})
}

// logs returns the logs in the directory, oldest first, and their total size.
func (b *backend) logs() (names []string, size int64, err error) {
	names, err = logNames(b.fence, b.dir)
	for _, name := range names {
		if info, err := b.fence.Stat(b.fence.PathJoin(b.dir, name)); err == nil {
			size += info.Size()
		}
	}
	return names, size, err
}

// logNames returns the logs in dir, oldest first.
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

// emptyLogs empties the logs that Pebble keeps for reuse. The newest ones are in use, as many
// as Pebble counts: a log that is created meanwhile, and may not be counted yet, is left out;
// if it is counted, one more is kept. Each log is replaced by an empty file in one rename,
// because Pebble may reuse the log at any time.
func (b *backend) emptyLogs() error {
	newest := b.fence.room.newest.Load()
	names, _, err := b.logs()
	if err != nil {
		return err
	}
	live := int(b.db.Metrics().WAL.Files)
	names = slices.DeleteFunc(names, func(name string) bool { return logNumber(name) > newest })
	if live < 1 || live >= len(names) {
		return nil
	}
	names = names[:len(names)-live]
	b.fence.room.flushed(logNumber(names[len(names)-1]))
	for _, name := range names {
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
