package pebblestore_test

import (
	"bytes"
	"context"
	"errors"
	"os"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"

	"wamble/runner"
	"wamble/runner/pebblestore"
)

// smallFS is a file system in memory with an end: files take their length, or what
// was preallocated for them.
type smallFS struct {
	vfs.FS
	mu   sync.Mutex
	all  int64 // bytes
	used int64
	got  map[string]int64 // by name
}

func newSmallFS(size int64) *smallFS {
	return &smallFS{FS: vfs.NewMem(), all: size, got: map[string]int64{}}
}

func (s *smallFS) resize(n int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.all = n
}

func (s *smallFS) usage() int64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.used
}

// move gives what old has to name, or back if name is "".
func (s *smallFS) move(old, name string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	n := s.got[old]
	delete(s.got, old)
	if name == "" {
		s.used -= n
		return
	}
	s.used -= s.got[name]
	s.got[name] = n
}

func (s *smallFS) GetDiskUsage(string) (vfs.DiskUsage, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return vfs.DiskUsage{AvailBytes: uint64(s.all - s.used), TotalBytes: uint64(s.all), UsedBytes: uint64(s.used)}, nil
}

func (s *smallFS) Create(name string, c vfs.DiskWriteCategory) (vfs.File, error) {
	s.move(name, "")
	f, err := s.FS.Create(name, c)
	return &smallFile{File: f, s: s, name: name}, err
}

func (s *smallFS) ReuseForWrite(old, name string, c vfs.DiskWriteCategory) (vfs.File, error) {
	s.move(old, name)
	f, err := s.FS.ReuseForWrite(old, name, c)
	return &smallFile{File: f, s: s, name: name}, err
}

func (s *smallFS) Remove(name string) error {
	s.move(name, "")
	return s.FS.Remove(name)
}

func (s *smallFS) Rename(old, name string) error {
	s.move(old, name)
	return s.FS.Rename(old, name)
}

type smallFile struct {
	vfs.File
	s    *smallFS
	name string
	end  int64
}

// reach takes room for the file up to end.
func (f *smallFile) reach(end int64) error {
	f.s.mu.Lock()
	defer f.s.mu.Unlock()
	more := end - f.s.got[f.name]
	if more <= 0 {
		return nil
	}
	if f.s.used+more > f.s.all {
		return &os.PathError{Op: "write", Path: f.name, Err: syscall.ENOSPC}
	}
	f.s.got[f.name], f.s.used = end, f.s.used+more
	return nil
}

func (f *smallFile) Write(p []byte) (int, error) {
	if err := f.reach(f.end + int64(len(p))); err != nil {
		return 0, err
	}
	f.end += int64(len(p))
	return f.File.Write(p)
}

func (f *smallFile) WriteAt(p []byte, off int64) (int, error) {
	if err := f.reach(off + int64(len(p))); err != nil {
		return 0, err
	}
	return f.File.WriteAt(p, off)
}

func (f *smallFile) Preallocate(off, length int64) error { return f.reach(off + length) }

// payload is large, so that few messages fill a disk.
var payload = bytes.Repeat([]byte("0123456789abcdef"), 2<<10)

func postMany(t *testing.T, r *runner.Runner, most int) (posted int, err error) {
	t.Helper()
	for posted < most && err == nil {
		_, err = r.Post(t.Context(), &runner.Message{To: 7, ID: []byte("m"), Payload: payload})
		if err == nil {
			posted++
		}
	}
	return posted, err
}

// await looks until ok holds, and fails the test after three minutes.
func await(t *testing.T, what string, ok func() bool) {
	t.Helper()
	for end := time.Now().Add(3 * time.Minute); !ok(); time.Sleep(20 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("never: %s", what)
		}
	}
}

// TestSmallDisk: a journal takes about what it holds; on a small disk it refuses
// before the disk is full, never fails, and goes on by itself when its messages were
// taken away.
func TestSmallDisk(t *testing.T) {
	const mb = 1 << 20
	for _, mode := range []pebblestore.Durability{pebblestore.Fsync, pebblestore.Write} {
		fs := newSmallFS(100 * mb)
		r, err := runner.Open(pebblestore.At("/journal", pebblestore.Options{FS: fs, Durability: mode}), runner.Options{Create: true, MinFree: 8 * mb})
		if err != nil {
			t.Fatal(err)
		}
		defer r.Close()
		if n, err := postMany(t, r, 100); err != nil {
			t.Fatalf("after %d: %v", n, err)
		}
		if used := fs.usage(); used > 12*mb {
			t.Errorf("mode %d: %d MB for 3 MB of messages", mode, used/mb)
		}
		for round := range 2 {
			posted, err := postMany(t, r, 100_000)
			if !errors.Is(err, runner.ErrNoSpace) {
				t.Fatalf("mode %d, round %d: after %d messages %v, want ErrNoSpace", mode, round, posted, err)
			}
			if posted < 200 {
				t.Errorf("mode %d, round %d: full after %d messages of 32 KB", mode, round, posted)
			}
			if r.State() != runner.ReadOnly {
				t.Errorf("state %v", r.State())
			}
			w, err := r.NewWorker(7, runner.WorkerOptions{Handler: func(context.Context, *runner.Tx, *runner.Delivery) error { return nil }})
			if err != nil {
				t.Fatal(err)
			}
			for n := 1; n > 0; {
				if n, err = w.Tick(t.Context()); err != nil {
					t.Fatal(err)
				}
			}
			if err := w.Remove(); err != nil {
				t.Fatal(err)
			}
			await(t, "running after a complete drain", func() bool { return r.State() == runner.Running })
		}
	}
}

// TestDiskFullThenRoom: without a watermark the disk fills to its end. The runner
// fails, is opened again as soon as there is room, and has everything.
func TestDiskFullThenRoom(t *testing.T) {
	const mb = 1 << 20
	fs := newSmallFS(40 * mb)
	r, err := runner.Open(pebblestore.At("/journal", pebblestore.Options{FS: fs}), runner.Options{Create: true, MinFree: -1})
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	posted, err := postMany(t, r, 100_000)
	if !errors.Is(err, runner.ErrFailed) || !errors.Is(err, syscall.ENOSPC) {
		t.Fatalf("after %d messages %v, want ErrFailed and ENOSPC", posted, err)
	}
	for range 2 {
		if err := r.Reopen(); !errors.Is(err, syscall.ENOSPC) {
			t.Fatalf("reopened on a full disk: %v, want ENOSPC", err)
		}
	}
	fs.resize(400 * mb)
	if err := r.Reopen(); err != nil {
		t.Fatalf("with room: %v", err)
	}
	if d := int(r.Stats().Inboxes[0].Depth); d < posted || d > posted+1 {
		t.Errorf("%d messages, %d were acknowledged", d, posted)
	}
	if _, err := postMany(t, r, 10); err != nil {
		t.Error(err)
	}
}
