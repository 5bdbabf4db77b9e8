package pebblestore

import (
	"fmt"
	"io"
	"os"
	"strings"
	"sync"
	"sync/atomic"

	"wamble/runner"

	"github.com/cockroachdb/pebble/v2/vfs"
)

// fencedFS is between Pebble and the file system, for three reasons.
//
// Pebble ends the process on some write errors: through its Logger, by a panic, or by a fatal
// error of the runtime when it cannot create its next log file. So once Pebble is open, the
// first error of a write in its directory marks the runner as failed and never returns to
// Pebble: the goroutine blocks forever.
//
// A failed Pebble leaves goroutines. close keeps them from the disk: when it returns, none of
// their writes is in progress and none will follow, so that another Pebble can open the same
// directory in the same process.
//
// It implements Durability Write: syncing a log file does nothing then, while Pebble still
// writes the file to the kernel at every commit.
type fencedFS struct {
	vfs.FS
	dir         string
	skipLogSync bool
	fail        func(error)
	room        room
	mu          sync.RWMutex // held for reading during every write
	strict      bool         // Pebble is open: errors are not returned to it
	closed      bool
	closing     atomic.Bool // Close follows
}

func newFencedFS(fs vfs.FS, dir string, d Durability, fail func(error)) *fencedFS {
	f := &fencedFS{FS: fs, dir: dir, skipLogSync: d == Write, fail: fail}
	f.room.full = make(chan struct{})
	return f
}

// opened makes the fence strict.
func (f *fencedFS) opened() {
	f.mu.Lock()
	f.strict = true
	f.mu.Unlock()
}

func (f *fencedFS) close() {
	f.mu.Lock()
	f.closed = true
	f.mu.Unlock()
}

// weight is the consequence of a write error for Pebble.
type weight uint8

const (
	light  weight = iota // harmless: obsolete files, checkpoints elsewhere
	heavy                // fatal
	table                // fatal, but the write can wait for space on a full disk
	panics               // fatal, and Pebble panics even while it opens: a sync of its directory
)

// do runs a write. If the fence is strict it does not return if the fence is closed, nor if the
// write fails and its weight is not light. A failed sync of the directory never returns.
func (f *fencedFS) do(w weight, write func() error) error {
	closed, strict, err := f.try(write)
	return f.judge(w, closed, strict, err)
}

// persist is do for a write that can be repeated: on a full disk it waits for space. If the
// storage is being closed it fails after a few tries: the logs have the content of the table.
func (f *fencedFS) persist(w weight, write func() error) error {
	for hurried, n := 0, 1; ; n++ {
		closed, strict, err := f.try(write)
		if err == nil || closed || !isFull(err) || w == light || w == heavy && strict {
			return f.judge(w, closed, strict, err)
		}
		if f.closing.Load() {
			hurried++
		}
		switch {
		case strict && hurried >= closeTries:
			return f.judge(heavy, closed, strict, err)
		case strict && n >= fullTries:
			return f.judge(w, closed, strict, err)
		}
		f.room.wait()
	}
}

func (f *fencedFS) judge(w weight, closed, strict bool, err error) error {
	switch {
	case closed && strict:
		select {}
	case err != nil && w == table && isFull(err):
		f.room.wait() // Pebble retries without a pause
	case err != nil && (strict && w != light || w == panics):
		f.fail(f.explain(err))
		select {}
	}
	return err
}

// weigh returns the weight of writes to a file.
func (f *fencedFS) weigh(name string) weight {
	switch {
	case !f.within(name):
		return light
	case strings.HasSuffix(name, ".sst"):
		return table
	}
	return heavy
}

func (f *fencedFS) try(write func() error) (closed, strict bool, err error) {
	f.mu.RLock()
	defer f.mu.RUnlock()
	if f.closed {
		return true, f.strict, fmt.Errorf("the storage was given up: %w", runner.ErrFailed)
	}
	return false, f.strict, write()
}

// lenient is do for writes whose errors are harmless to Pebble.
func (f *fencedFS) lenient(write func() error) error { return f.do(light, write) }

func (f *fencedFS) file(name string, w weight, open func() (vfs.File, error)) (vfs.File, error) {
	var file vfs.File
	log := isLog(name)
	err := f.persist(w, func() (err error) {
		if file, err = open(); err == nil && log && !f.skipLogSync {
			file, err = newLogFile(file)
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	out := &fencedFile{File: file, fs: f, weight: w, skipSync: log && f.skipLogSync}
	if log && w == heavy {
		out.log = f.room.newLog(logNumber(f.PathBase(name)))
	}
	return out, nil
}

// Create makes the directory durable before it creates a marker: a marker names the current
// manifest, and must not survive a crash without it. Pebble itself syncs the directory only
// after both.
func (f *fencedFS) Create(name string, c vfs.DiskWriteCategory) (vfs.File, error) {
	file, err := f.file(name, f.weigh(name), func() (vfs.File, error) {
		if strings.HasPrefix(f.PathBase(name), "marker.") {
			if err := syncDir(f.FS, f.dir); err != nil {
				return nil, err
			}
		}
		return f.FS.Create(name, c)
	})
	if err != nil {
		return nil, err
	}
	own := file.(*fencedFile)
	own.modest = own.weight == table && c == "pebble-compaction"
	return own, nil
}

func (f *fencedFS) OpenReadWrite(name string, c vfs.DiskWriteCategory, o ...vfs.OpenOption) (vfs.File, error) {
	return f.file(name, f.weigh(name), func() (vfs.File, error) { return f.FS.OpenReadWrite(name, c, o...) })
}

// ReuseForWrite makes a new log of a flushed one.
func (f *fencedFS) ReuseForWrite(old, name string, c vfs.DiskWriteCategory) (vfs.File, error) {
	f.flushed(old)
	return f.file(name, f.weigh(name), func() (vfs.File, error) { return f.FS.ReuseForWrite(old, name, c) })
}

func (f *fencedFS) OpenDir(name string) (vfs.File, error) {
	own := f.clean(name) == f.clean(f.dir)
	w := light
	if own {
		w = heavy
	}
	file, err := f.file(name, w, func() (vfs.File, error) { return f.FS.OpenDir(name) })
	if err == nil && own {
		file.(*fencedFile).weight = panics
	}
	return file, err
}

func (f *fencedFS) Link(old, name string) error {
	return f.lenient(func() error { return f.FS.Link(old, name) })
}

func (f *fencedFS) Remove(name string) error {
	f.flushed(name)
	return f.lenient(func() error { return f.FS.Remove(name) })
}

func isLog(name string) bool { return strings.HasSuffix(name, ".log") }

// within reports whether name is in Pebble's directory.
func (f *fencedFS) within(name string) bool { return f.PathDir(name) == f.clean(f.dir) }

func (f *fencedFS) clean(dir string) string { return f.PathDir(f.PathJoin(dir, "x")) }

// flushed records that Pebble no longer needs a log.
func (f *fencedFS) flushed(name string) {
	if isLog(name) && f.within(name) {
		f.room.flushed(logNumber(f.PathBase(name)))
	}
}

func (f *fencedFS) RemoveAll(name string) error {
	return f.lenient(func() error { return f.FS.RemoveAll(name) })
}

func (f *fencedFS) Rename(old, name string) error {
	return f.persist(f.weigh(name), func() error { return f.FS.Rename(old, name) })
}

func (f *fencedFS) MkdirAll(name string, perm os.FileMode) error {
	return f.lenient(func() error { return f.FS.MkdirAll(name, perm) })
}

// Lock does nothing: the storage has locked the directory. A Pebble that fails, or panics while
// it opens, would never release the lock.
func (f *fencedFS) Lock(string) (io.Closer, error) { return io.NopCloser(nil), nil }

// Unwrap implements vfs.FS.
func (f *fencedFS) Unwrap() vfs.FS { return f.FS }

type fencedFile struct {
	vfs.File
	fs       *fencedFS
	weight   weight
	skipSync bool
	modest   bool     // written only while there is enough space
	log      *logSize // size of a log; nil for other files
}

func (f *fencedFile) Write(p []byte) (n int, err error) {
	if f.modest { // after a full disk, the end of the compaction makes space
		err = f.fs.do(f.weight, func() error {
			if err := f.fs.ask(len(p)); err != nil {
				return err
			}
			n, err = f.File.Write(p)
			return err
		})
		return n, err
	}
	err = f.fs.persist(f.weight, func() error {
		k, err := f.File.Write(p[n:])
		n += k
		return err
	})
	if f.log != nil {
		f.log.bytes.Add(int64(n))
	}
	return n, err
}

func (f *fencedFile) WriteAt(p []byte, off int64) (n int, err error) {
	err = f.fs.do(f.weight, func() (err error) {
		n, err = f.File.WriteAt(p, off)
		return err
	})
	return n, err
}

func (f *fencedFile) sync(sync func() error) error {
	if f.skipSync {
		return f.fs.lenient(func() error { return nil })
	}
	return f.fs.do(f.weight, sync)
}

func (f *fencedFile) Sync() error     { return f.sync(f.File.Sync) }
func (f *fencedFile) SyncData() error { return f.sync(f.File.SyncData) }

func (f *fencedFile) SyncTo(length int64) (full bool, err error) {
	if f.skipSync {
		return false, nil
	}
	err = f.fs.do(f.weight, func() (err error) {
		full, err = f.File.SyncTo(length)
		return err
	})
	return full, err
}

// Preallocate does nothing for a log: Pebble would allocate a tenth more than a whole memtable
// for each, however little is written. See logFile.
func (f *fencedFile) Preallocate(off, length int64) error {
	if f.log != nil {
		return nil
	}
	return f.fs.lenient(func() error { return f.File.Preallocate(off, length) })
}
