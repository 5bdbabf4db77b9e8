package pebblestore

import (
	"bytes"
	"errors"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"
)

// refusing is a file in which nothing can be written ahead.
type refusing struct {
	vfs.File
	asked int
}

func (f *refusing) WriteAt([]byte, int64) (int, error) {
	f.asked++
	return 0, errors.New("no room")
}

func sizeOf(t *testing.T, f vfs.File) int64 {
	t.Helper()
	info, err := f.Stat()
	if err != nil {
		t.Fatal(err)
	}
	return info.Size()
}

// TestLogAhead: a log has blocks allocated ahead, and holds what was written.
func TestLogAhead(t *testing.T) {
	t.Parallel()
	fs := vfs.NewMem()
	file, err := fs.Create("000001.log", vfs.WriteCategoryUnspecified)
	if err != nil {
		t.Fatal(err)
	}
	log, err := newLogFile(file)
	if err != nil {
		t.Fatal(err)
	}
	defer log.Close()
	var want []byte
	grown, last := 0, int64(0)
	for i := range 400 {
		record := bytes.Repeat([]byte{byte(i + 1)}, 1+i*17%9000)
		want = append(want, record...) // first: the writer may change the record
		if n, err := log.Write(record); n != len(record) || err != nil {
			t.Fatalf("wrote %d of %d: %v", n, len(record), err)
		}
		size := sizeOf(t, log)
		if size < int64(len(want)) || size > int64(len(want)+aheadSize+aheadPage) {
			t.Fatalf("%d bytes were written, and the file has %d", len(want), size)
		}
		if size != last {
			grown, last = grown+1, size
		}
	}
	if most := len(want)/aheadSize + 1; grown > most {
		t.Errorf("it grew %d times for %d bytes, want at most %d times", grown, len(want), most)
	}
	got := make([]byte, last)
	if _, err := log.ReadAt(got, 0); err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got[:len(want)], want) {
		t.Error("what was written is not what was read")
	}
	if rest := got[len(want):]; !bytes.Equal(rest, make([]byte, len(rest))) {
		t.Error("behind the log is something else than zeros")
	}
}

// TestLogReused: an old log is overwritten to its end before it grows.
func TestLogReused(t *testing.T) {
	t.Parallel()
	fs := vfs.NewMem()
	file, err := fs.Create("000001.log", vfs.WriteCategoryUnspecified)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := file.WriteAt(make([]byte, 100_000), 0); err != nil {
		t.Fatal(err)
	}
	log, err := newLogFile(file)
	if err != nil {
		t.Fatal(err)
	}
	defer log.Close()
	for range 10 {
		log.Write(make([]byte, 10_000))
	}
	if got := sizeOf(t, log); got != 100_000 {
		t.Errorf("it grew to %d bytes before it was full", got)
	}
	log.Write([]byte{1})
	if got := sizeOf(t, log); got < 100_001+aheadSize {
		t.Errorf("it has %d bytes, and nothing ahead", got)
	}
}

// TestLogWithoutRoom: a log that cannot be allocated ahead works all the same.
func TestLogWithoutRoom(t *testing.T) {
	t.Parallel()
	file, err := vfs.NewMem().Create("000001.log", vfs.WriteCategoryUnspecified)
	if err != nil {
		t.Fatal(err)
	}
	full := &refusing{File: file}
	log, err := newLogFile(full)
	if err != nil {
		t.Fatal(err)
	}
	defer log.Close()
	for range 3 {
		if n, err := log.Write([]byte("record")); n != 6 || err != nil {
			t.Fatalf("wrote %d: %v", n, err)
		}
	}
	if full.asked != 1 {
		t.Errorf("it asked %d times for what it was refused", full.asked)
	}
	if got := sizeOf(t, log); got != 18 {
		t.Errorf("it has %d bytes, want 18", got)
	}
}

// TestLogAheadOfSyncs: only a log that is synced is written ahead.
func TestLogAheadOfSyncs(t *testing.T) {
	t.Parallel()
	for durability, ahead := range map[Durability]bool{Fsync: true, Write: false} {
		fs := newFencedFS(vfs.NewMem(), "", durability, func(err error) { t.Error(err) })
		for name, log := range map[string]bool{"000001.log": true, "000002.sst": false} {
			f, err := fs.Create(name, vfs.WriteCategoryUnspecified)
			if err != nil {
				t.Fatal(err)
			}
			if _, err := f.Write([]byte("record")); err != nil {
				t.Fatal(err)
			}
			if got := sizeOf(t, f) > 6; got != (ahead && log) {
				t.Errorf("%v, %s: ahead is %v", durability, name, got)
			}
			f.Close()
		}
	}
}

// rotateFS acts when its directory is listed, and holds up syncs of it from then on.
type rotateFS struct {
	vfs.FS
	armed  atomic.Bool
	listed func()
	synced func()
}

func (r *rotateFS) List(dir string) ([]string, error) {
	if r.armed.Load() {
		r.listed()
	}
	return r.FS.List(dir)
}

func (r *rotateFS) OpenDir(name string) (vfs.File, error) {
	f, err := r.FS.OpenDir(name)
	return &rotateDir{f, r}, err
}

type rotateDir struct {
	vfs.File
	r *rotateFS
}

func (d *rotateDir) Sync() error {
	if d.r.armed.Load() {
		d.r.synced()
	}
	return d.File.Sync()
}

// TestEmptyLogsKeepsLogs: a log that appears while others are looked for to be emptied is not
// in Pebble's count yet. The one before it holds unflushed rows.
func TestEmptyLogsKeepsLogs(t *testing.T) {
	t.Parallel()
	fs := &rotateFS{FS: vfs.NewMem()}
	s := AtFS(fs, "/journal", Options{})
	s.SmallTables(1<<20, 3)
	opened, err := s.Open(func(err error) { t.Error(err) })
	if err != nil {
		t.Fatal(err)
	}
	b := opened.(*backend)
	batch, value := b.Batch(), bytes.Repeat([]byte("v"), 64<<10)
	write := func() {
		batch.Set([]byte{7}, value)
		if err := batch.Commit(); err != nil {
			t.Error(err)
		}
	}
	write()
	names, err := logNames(fs, "/journal")
	if err != nil || len(names) != 1 {
		t.Fatal(names, err)
	}
	appeared, held, done := make(chan struct{}), make(chan struct{}), make(chan struct{})
	appear := sync.OnceFunc(func() { close(appeared) })
	fs.synced = func() { appear(); <-held }
	fs.listed = func() {
		go func() {
			defer close(done)
			for i := 0; i < 100 && fs.armed.Load(); i++ {
				write() // until the memtable is full and the next log appears
			}
		}()
		<-appeared
	}
	fs.armed.Store(true)
	if err := b.emptyLogs(); err != nil {
		t.Fatal(err)
	}
	info, err := fs.Stat("/journal/" + names[0])
	if err != nil || info.Size() == 0 {
		t.Errorf("a log with what is not flushed was emptied: %v", err)
	}
	fs.armed.Store(false)
	close(held)
	<-done
	if err := b.Close(); err != nil {
		t.Fatal(err)
	}
}
