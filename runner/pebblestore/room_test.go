package pebblestore_test

import (
	"bytes"
	"context"
	"errors"
	"os"
	"regexp"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"

	"wamble/internal/prooftest"
	"wamble/runner"
	"wamble/runner/pebblestore"
)

// smallFS is a file system in memory with a bounded size: files take their length, or what
// was preallocated for them.
type smallFS struct {
	vfs.FS
	mu   sync.Mutex
	all  int64 // bytes
	used int64
	got  map[string]int64 // by name
	slow func() error     // is called before a table is written; may be nil
}

func newSmallFS(size int64) *smallFS {
	return &smallFS{FS: vfs.NewMem(), all: size, got: map[string]int64{}}
}

func (s *smallFS) resize(n int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.all = n
}

// tables returns the bytes of all tables.
func (s *smallFS) tables() (sum int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for name, n := range s.got {
		if strings.HasSuffix(name, ".sst") {
			sum += n
		}
	}
	return sum
}

// move transfers the space of old to name, or frees it if name is "".
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

// reach takes space for the file up to end.
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
	if f.s.slow != nil && strings.HasSuffix(f.name, ".sst") {
		if err := f.s.slow(); err != nil {
			return 0, err
		}
	}
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

// TestDiskFullThenRoom: without a watermark the disk fills to its end. The runner fails, is
// reopened as soon as space is free, and has everything.
func TestDiskFullThenRoom(t *testing.T) {
	t.Parallel()
	const mb = 1 << 20
	fs := newSmallFS(16 * mb)
	r, err := runner.Open(pebblestore.AtFS(fs, "/journal", pebblestore.Options{}),
		runner.Options{Create: true, MinFree: -1})
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	posted, err := postMany(t, r, 100_000)
	if !errors.Is(err, runner.ErrFailed) || !errors.Is(err, syscall.ENOSPC) {
		t.Fatalf("after %d messages %v, want ErrFailed and ENOSPC", posted, err)
	}
	told := regexp.MustCompile(`the disk of /journal is full, \d MB of 16 MB are free: make room there: `)
	if !told.MatchString(err.Error()) {
		t.Errorf("got %q, want the directory, its size and what to do", err)
	}
	for range 2 {
		if err := r.Reopen(); !errors.Is(err, syscall.ENOSPC) || !told.MatchString(err.Error()) {
			t.Fatalf("reopened on a full disk: %v, want ENOSPC with the directory, its size and what to do", err)
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

// TestFlushTakesWhatIsOwed: tables take no more than was reserved for them, for all kinds of
// rows.
func TestFlushTakesWhatIsOwed(t *testing.T) {
	t.Parallel()
	random := prooftest.Random(t)
	for range prooftest.Sized(2, 20, 1000) {
		fs := newSmallFS(1 << 30)
		b, err := pebblestore.AtFS(fs, "/journal", pebblestore.Options{}).Open(func(err error) { t.Error(err) })
		if err != nil {
			t.Fatal(err)
		}
		batch, key := b.Batch(), make([]byte, 1+random.IntN(40))
		most, deletes := 1<<random.IntN(12), random.IntN(3)
		for left := 1 << 18; left > 0; {
			for range 1 + random.IntN(200) {
				for i := range key {
					key[i] = byte(random.Uint32())
				}
				if random.IntN(3) < deletes {
					batch.Delete(key)
				} else {
					batch.Set(key, payload[:random.IntN(most)])
				}
			}
			left -= batch.Len()
			if err := batch.Commit(); err != nil {
				t.Fatal(err)
			}
		}
		owed := pebblestore.Owed(b)
		if err := b.Flush(); err != nil {
			t.Fatal(err)
		}
		if got := fs.tables(); uint64(got) > owed {
			t.Errorf("keys of %d bytes, values below %d, deletes %d: tables of %d bytes, %d were owed", len(key), most,
				deletes, got, owed)
		}
		if err := b.Close(); err != nil {
			t.Fatal(err)
		}
	}
}

// TestCloseOnFullDisk: commits wait while tables find no space. Close ends with an error all
// the same, and everything that was acknowledged is there afterwards.
func TestCloseOnFullDisk(t *testing.T) {
	t.Parallel()
	const mb = 1 << 20
	fs := newSmallFS(400 * mb)
	var full atomic.Bool
	fs.slow = func() error {
		if full.Load() {
			return syscall.ENOSPC
		}
		return nil
	}
	full.Store(true)
	s := pebblestore.AtFS(fs, "/journal", pebblestore.Options{})
	s.SmallTables(1*mb, 2)
	stalled := s.Stalls()
	r, err := runner.Open(s, runner.Options{Create: true, MinFree: -1})
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	posted, stopped := make(chan struct{}, 1000), make(chan error)
	go func() {
		for {
			if _, err := r.Post(context.Background(),
				&runner.Message{To: 7, ID: []byte("m"), Payload: payload}); err != nil {
				stopped <- err
				return
			}
			posted <- struct{}{}
		}
	}()
	// Two memtables of 1 MB have no space for more.
	select {
	case <-stalled:
	case err := <-stopped:
		t.Fatal(err)
	}
	if err := r.Close(); !errors.Is(err, syscall.ENOSPC) {
		t.Errorf("Close: %v, want ENOSPC", err)
	}
	if err := <-stopped; err == nil {
		t.Error("a post that was not committed has no error")
	}
	full.Store(false)
	if r, err = runner.Open(s, runner.Options{MinFree: -1}); err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	if n, d := len(posted), int(r.Stats().Inboxes[0].Depth); d < n || d > n+1 {
		t.Errorf("%d messages, %d were acknowledged", d, n)
	}
}
