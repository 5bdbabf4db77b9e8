package runner

import (
	"fmt"
	"os"
	"strings"
	"sync"

	"github.com/cockroachdb/pebble/v2/vfs"
)

// fencedFS stands between Pebble and the file system, for two reasons.
//
// A failed Pebble may have goroutines left. close keeps them from the disk:
// when it returns no write of theirs is under way and none will come, so that
// another Pebble can open the same directory in the same process.
//
// And it is where the durability "write" is made: syncing a log file does
// nothing then, while Pebble still writes it to the kernel at every commit.
type fencedFS struct {
	vfs.FS
	skipLogSync bool
	mu          sync.RWMutex // held for reading by every write
	closed      bool
}

func newFencedFS(fs vfs.FS, d Durability) *fencedFS {
	return &fencedFS{FS: fs, skipLogSync: d == Write}
}

func (f *fencedFS) close() {
	f.mu.Lock()
	f.closed = true
	f.mu.Unlock()
}

// do runs a write unless the fence is closed.
func (f *fencedFS) do(write func() error) error {
	f.mu.RLock()
	defer f.mu.RUnlock()
	if f.closed {
		return fmt.Errorf("the storage was given up: %w", ErrFailed)
	}
	return write()
}

func (f *fencedFS) file(name string, open func() (vfs.File, error)) (vfs.File, error) {
	var file vfs.File
	err := f.do(func() (err error) {
		file, err = open()
		return err
	})
	if err != nil {
		return nil, err
	}
	return &fencedFile{File: file, fs: f, skipSync: f.skipLogSync && strings.HasSuffix(name, ".log")}, nil
}

func (f *fencedFS) Create(name string, c vfs.DiskWriteCategory) (vfs.File, error) {
	return f.file(name, func() (vfs.File, error) { return f.FS.Create(name, c) })
}

func (f *fencedFS) OpenReadWrite(name string, c vfs.DiskWriteCategory, o ...vfs.OpenOption) (vfs.File, error) {
	return f.file(name, func() (vfs.File, error) { return f.FS.OpenReadWrite(name, c, o...) })
}

func (f *fencedFS) ReuseForWrite(old, name string, c vfs.DiskWriteCategory) (vfs.File, error) {
	return f.file(name, func() (vfs.File, error) { return f.FS.ReuseForWrite(old, name, c) })
}

func (f *fencedFS) OpenDir(name string) (vfs.File, error) {
	return f.file(name, func() (vfs.File, error) { return f.FS.OpenDir(name) })
}

func (f *fencedFS) Link(old, name string) error {
	return f.do(func() error { return f.FS.Link(old, name) })
}

func (f *fencedFS) Remove(name string) error {
	return f.do(func() error { return f.FS.Remove(name) })
}

func (f *fencedFS) RemoveAll(name string) error {
	return f.do(func() error { return f.FS.RemoveAll(name) })
}

func (f *fencedFS) Rename(old, name string) error {
	return f.do(func() error { return f.FS.Rename(old, name) })
}

func (f *fencedFS) MkdirAll(name string, perm os.FileMode) error {
	return f.do(func() error { return f.FS.MkdirAll(name, perm) })
}

// Unwrap implements vfs.FS.
func (f *fencedFS) Unwrap() vfs.FS { return f.FS }

type fencedFile struct {
	vfs.File
	fs       *fencedFS
	skipSync bool
}

func (f *fencedFile) Write(p []byte) (n int, err error) {
	err = f.fs.do(func() (err error) {
		n, err = f.File.Write(p)
		return err
	})
	return n, err
}

func (f *fencedFile) WriteAt(p []byte, off int64) (n int, err error) {
	err = f.fs.do(func() (err error) {
		n, err = f.File.WriteAt(p, off)
		return err
	})
	return n, err
}

func (f *fencedFile) sync(sync func() error) error {
	if f.skipSync {
		return f.fs.do(func() error { return nil })
	}
	return f.fs.do(sync)
}

func (f *fencedFile) Sync() error     { return f.sync(f.File.Sync) }
func (f *fencedFile) SyncData() error { return f.sync(f.File.SyncData) }

func (f *fencedFile) SyncTo(length int64) (full bool, err error) {
	if f.skipSync {
		return false, nil
	}
	err = f.fs.do(func() (err error) {
		full, err = f.File.SyncTo(length)
		return err
	})
	return full, err
}

func (f *fencedFile) Preallocate(off, length int64) error {
	return f.fs.do(func() error { return f.File.Preallocate(off, length) })
}
