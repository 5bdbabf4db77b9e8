package pebblestore

import (
	"bytes"
	"errors"
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

// TestLogAhead: a log has blocks for what follows, and holds what was written.
func TestLogAhead(t *testing.T) {
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
		want = append(want, record...) // first: whoever writes may change what it is given
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

// TestLogWithoutRoom: what cannot be written ahead is not missed.
func TestLogWithoutRoom(t *testing.T) {
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
