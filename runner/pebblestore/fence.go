package pebblestore

import (
	"fmt"
	"os"
	"sync"

	"wamble/runner"

	"github.com/cockroachdb/pebble/v2/vfs"
)

// fencedFS stands between Pebble and the file system, for three reasons.
//
// Pebble ends the process on some write errors: through its Logger, by a panic,
// even by a fatal error of the runtime when it cannot create its next log file.
// So once Pebble is open, the first error of a write in its directory marks the
// runner failed and never returns to Pebble: the goroutine blocks here for ever.
//
// A failed Pebble has goroutines left. close keeps them from the disk: when it
// returns, no write of theirs is under way and none will come, so that another
// Pebble can open the same directory in the same process.
//
// And it makes Durability Write: syncing a log file does nothing then, while
// Pebble still writes the file to the kernel at every commit.
type fencedFS struct {
	vfs.FS
	dir         string
	skipLogSync bool
	fail        func(error)
	names       names
	mu          sync.RWMutex // held for reading by every write
	strict      bool         // Pebble is open: errors do not return to it
	closed      bool
}

func newFencedFS(fs vfs.FS, dir string, d Durability, fail func(error)) *fencedFS {
	return &fencedFS{FS: fs, dir: dir, skipLogSync: d == Write, fail: fail}
}

// opened makes the fence strict, and the name of the log durable.
func (f *fencedFS) opened() error {
	f.mu.Lock()
	f.strict = true
	f.mu.Unlock()
	f.names.opened.Store(max(1, f.names.came.Load()))
	return f.syncNamesTo(f.names.log.Load())
}

func (f *fencedFS) close() {
	f.mu.Lock()
	f.closed = true
	f.mu.Unlock()
}

// do runs a write. When the fence is strict it does not return if the fence is
// closed, nor if the write fails and Pebble cannot live without it.
func (f *fencedFS) do(vital bool, write func() error) error {
	closed, strict, err := f.try(write)
	switch {
	case closed && strict:
		select {}
	case err != nil && strict && vital:
		f.fail(err)
		select {}
	}
	return err
}

func (f *fencedFS) try(write func() error) (closed, strict bool, err error) {
	f.mu.RLock()
	defer f.mu.RUnlock()
	if f.closed {
		return true, f.strict, fmt.Errorf("the storage was given up: %w", runner.ErrFailed)
	}
	return false, f.strict, write()
}

// lenient is do for what Pebble can live without: removing what is obsolete,
// and making checkpoints elsewhere.
func (f *fencedFS) lenient(write func() error) error { return f.do(false, write) }

func (f *fencedFS) file(name string, vital bool, open func() (vfs.File, error)) (vfs.File, error) {
	var file vfs.File
	log := isLog(name)
	err := f.do(vital, func() (err error) {
		if file, err = open(); err == nil && log && !f.skipLogSync {
			file, err = newLogFile(file)
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	return &fencedFile{File: file, fs: f, name: name, vital: vital, skipSync: log && f.skipLogSync}, nil
}

// Create makes the directory durable before a marker appears in it: a marker
// names the manifest that counts, and must not outlive it in a crash. Pebble
// itself syncs the directory only after both. And while Pebble opens it does so
// before a log appears; see names.
func (f *fencedFS) Create(name string, c vfs.DiskWriteCategory) (vfs.File, error) {
	return f.file(name, f.within(name), func() (vfs.File, error) {
		if isMarker(f.PathBase(name)) || isLog(name) && f.opening() {
			if err := f.syncNamesTo(f.names.came.Load()); err != nil {
				return nil, err
			}
		}
		file, err := f.FS.Create(name, c)
		f.note(name)
		return file, err
	})
}

func (f *fencedFS) OpenReadWrite(name string, c vfs.DiskWriteCategory, o ...vfs.OpenOption) (vfs.File, error) {
	return f.file(name, f.within(name), func() (vfs.File, error) {
		file, err := f.FS.OpenReadWrite(name, c, o...)
		f.note(name)
		return file, err
	})
}

func (f *fencedFS) ReuseForWrite(old, name string, c vfs.DiskWriteCategory) (vfs.File, error) {
	return f.file(name, f.within(name), func() (vfs.File, error) {
		file, err := f.FS.ReuseForWrite(old, name, c)
		f.note(name)
		return file, err
	})
}

func (f *fencedFS) OpenDir(name string) (vfs.File, error) {
	return f.file(name, f.isDir(name), func() (vfs.File, error) { return f.FS.OpenDir(name) })
}

func (f *fencedFS) Link(old, name string) error {
	return f.lenient(func() error {
		defer f.note(name)
		return f.FS.Link(old, name)
	})
}

func (f *fencedFS) Remove(name string) error {
	return f.lenient(func() error {
		if err := f.beforeRemoval(name); err != nil {
			return err
		}
		return f.FS.Remove(name)
	})
}

func (f *fencedFS) RemoveAll(name string) error {
	return f.lenient(func() error { return f.FS.RemoveAll(name) })
}

func (f *fencedFS) Rename(old, name string) error {
	return f.do(f.within(name), func() error {
		defer f.note(name)
		return f.FS.Rename(old, name)
	})
}

func (f *fencedFS) MkdirAll(name string, perm os.FileMode) error {
	return f.lenient(func() error { return f.FS.MkdirAll(name, perm) })
}

// Unwrap implements vfs.FS.
func (f *fencedFS) Unwrap() vfs.FS { return f.FS }

type fencedFile struct {
	vfs.File
	fs       *fencedFS
	name     string
	vital    bool // it is Pebble's own, not of a checkpoint
	skipSync bool
}

func (f *fencedFile) Write(p []byte) (n int, err error) {
	err = f.fs.do(f.vital, func() (err error) {
		n, err = f.File.Write(p)
		return err
	})
	return n, err
}

func (f *fencedFile) WriteAt(p []byte, off int64) (n int, err error) {
	err = f.fs.do(f.vital, func() (err error) {
		n, err = f.File.WriteAt(p, off)
		return err
	})
	return n, err
}

func (f *fencedFile) sync(sync func() error) error {
	switch {
	case f.skipSync:
		return f.fs.lenient(func() error { return nil })
	case f.fs.opening() && f.fs.isDir(f.name):
		return nil // done with the next file, or by opened
	case f.fs.opening() && f.fs.within(f.name):
		return f.fs.do(f.vital, func() error { return f.fs.syncWithNames(sync) })
	}
	return f.fs.do(f.vital, sync)
}

func (f *fencedFile) Sync() error     { return f.sync(f.File.Sync) }
func (f *fencedFile) SyncData() error { return f.sync(f.File.SyncData) }

func (f *fencedFile) SyncTo(length int64) (full bool, err error) {
	if f.skipSync {
		return false, nil
	}
	err = f.fs.do(f.vital, func() (err error) {
		full, err = f.File.SyncTo(length)
		return err
	})
	return full, err
}

func (f *fencedFile) Preallocate(off, length int64) error {
	return f.fs.lenient(func() error { return f.File.Preallocate(off, length) })
}
