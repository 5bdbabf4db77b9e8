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

// room is what the fence knows about the space that Pebble takes.
//
// What was logged has to be written to tables some day, and a table that cannot be
// written is tried again and again while commits wait. So what is free for more is
// what the disk has free, less what the logs hold that are not flushed.
//
// What was deleted leaves the disk by compactions, which take as much as their tables
// while they run, and Pebble tries one that finds no room before all others. So the
// size of the tables is kept free, too. A compaction that would take what flushes
// need is refused.
type room struct {
	mu   sync.Mutex
	logs []*logSize // not flushed, as far as is known, oldest first

	newest    atomic.Uint64 // the newest log that Pebble counts among those in use
	tables    atomic.Int64  // bytes of all tables
	compacts  atomic.Int64  // bytes of the tables that are being compacted
	compacted atomic.Int64  // bytes that were written in their stead

	full  chan struct{} // closed when a table met a full disk
	first sync.Once
	met   atomic.Uint64 // how often one did
}

// logSize is what tables will need for a log.
type logSize struct {
	number uint64
	bytes  atomic.Int64
}

const (
	// fullPause is how long Pebble rests before it tries a table again.
	fullPause = 200 * time.Millisecond
	// fullTries is how often a flush tries before it gives back what it has taken, and
	// begins anew: as long as it runs, tables that were compacted away stay.
	fullTries = 25
	// closeTries is the same when the storage is to be closed: then it fails.
	closeTries = 5

	// rowExtra is how many bytes more a row may take in a table than in a log, and
	// tableShare the share of a table's bytes that its blocks and index take.
	rowExtra   = 16
	tableShare = 64
	// tableFloor is for what takes little: the zeros ahead of a new log, the manifest.
	tableFloor = 1 << 20

	// compactRoom bounds what is kept free for compactions: larger journals are
	// compacted in parts.
	compactRoom = 256 << 20
	// compactFree is how many bytes a compaction may write while there is less than
	// its tables hold: one that finds everything deleted needs next to nothing.
	compactFree = 1 << 20
	// askEvery is after how many bytes a compaction looks for space again.
	askEvery = 64 << 10
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

// newLog counts the bytes of a log.
func (r *room) newLog(number uint64) *logSize {
	r.mu.Lock()
	defer r.mu.Unlock()
	n := &logSize{number: number}
	r.logs = append(r.logs, n)
	return n
}

// flushed forgets the logs up to a number. Pebble flushes them in their order.
func (r *room) flushed(number uint64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.logs = slices.DeleteFunc(r.logs, func(n *logSize) bool { return n.number <= number })
}

// addRows counts rows that were committed, in the newest log: they are in it, or in
// the one before, which is flushed first.
func (r *room) addRows(n uint32) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if k := len(r.logs); k > 0 {
		r.logs[k-1].bytes.Add(int64(n) * rowExtra)
	}
}

// owed is how many bytes flushes may have to write.
func (r *room) owed() uint64 {
	r.mu.Lock()
	defer r.mu.Unlock()
	var sum uint64
	for _, n := range r.logs {
		sum += uint64(n.bytes.Load())
	}
	return sum + sum/tableShare + tableFloor
}

// explain says of a full disk which, and what helps.
func (f *fencedFS) explain(err error) error {
	if !isFull(err) {
		return err
	}
	u, _ := f.GetDiskUsage(f.dir)
	return fmt.Errorf("the disk of %s is full, %d MB of %d MB are free: make room there: %w", f.dir, u.AvailBytes>>20, u.TotalBytes>>20, err)
}

// begin notes that a compaction begins.
func (r *room) begin(i pebble.CompactionInfo) {
	r.compacts.Store(inputSize(i))
	r.compacted.Store(0)
}

// end notes that a compaction has ended.
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

// ask returns an error while there is little space for a compaction's next n bytes.
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

// Free returns the free space of the disk, less what has to be written to it.
func (b *backend) Free() (uint64, error) {
	r := &b.fence.room
	compact := min(r.tables.Load(), compactRoom) - r.compacted.Load()
	taken := r.owed() + uint64(max(0, compact))
	u, err := b.fence.GetDiskUsage(b.dir)
	return u.AvailBytes - min(u.AvailBytes, taken), err
}

const (
	// shrinkFrom is how many bytes of logs, or of tables, are worth the effort.
	shrinkFrom = 1 << 20
	// compactFor is how long Shrink waits for a compaction, which writes anew what is
	// left: Pebble may have others before. It compacts again after compactShare times
	// what the last one took, and no later than after compactFor.
	compactFor   = 10 * time.Second
	compactShare = 10
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
// the newest of those that Pebble counts: a log that appears meanwhile, and which may
// not be counted yet, is left out; if it is counted, one more is kept. An empty file
// takes the place of each by one rename, because Pebble may take the log for itself
// at any time.
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
