package loop

import (
	"bytes"
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"wamble/internal/store"
)

var testJournal = store.JournalID{1, 2, 3}

func testSlices(n byte) []memorySlice {
	return []memorySlice{
		{lastSeq: uint64(n), clockOffset: -time.Second, data: bytes.Repeat([]byte{n}, 100)},
		{lastSeq: uint64(n) + 1, data: bytes.Repeat([]byte{n + 1}, 3)},
		{lastSeq: uint64(n) + 2, data: bytes.Repeat([]byte{n + 2}, 50)},
	}
}

func writeRestartFile(t *testing.T, path string, slices []memorySlice) {
	t.Helper()
	w, err := createRestartFile(path, testJournal, "default")
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range slices {
		if err := w.add(s); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.finish(); err != nil {
		t.Fatal(err)
	}
}

func readRestartFile(path string) (all []memorySlice, err error) {
	r, err := openRestartFile(path, testJournal, "default")
	if r == nil {
		return nil, err
	}
	defer r.close()
	for {
		s, err := r.next(nil)
		if errors.Is(err, io.EOF) {
			return all, nil
		}
		if err != nil {
			return all, err
		}
		all = append(all, s)
	}
}

func sameSlices(a, b []memorySlice) bool {
	return slices.EqualFunc(a, b, func(a, b memorySlice) bool {
		return a.lastSeq == b.lastSeq && a.clockOffset == b.clockOffset && bytes.Equal(a.data, b.data)
	})
}

// TestRestartFile: a file that was written is read; one of another journal or profile is not,
// nor is one that is cut off or changed anywhere.
func TestRestartFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "restart", "1")
	if all, err := readRestartFile(path); all != nil || err != nil {
		t.Errorf("without a file: %v, %v", all, err)
	}
	want := testSlices(7)
	writeRestartFile(t, path, want)
	if got, err := readRestartFile(path); err != nil || !sameSlices(got, want) {
		t.Errorf("got %v, %v", got, err)
	}
	if _, err := openRestartFile(path, store.JournalID{9}, "default"); !errors.Is(err, errRestartFile) {
		t.Errorf("another journal: %v", err)
	}
	if _, err := openRestartFile(path, testJournal, "other"); !errors.Is(err, errRestartFile) {
		t.Errorf("another profile: %v", err)
	}
	whole, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	try := func(what string, at int, b []byte) {
		t.Helper()
		if err := os.WriteFile(path, b, 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := readRestartFile(path); !errors.Is(err, errRestartFile) {
			t.Errorf("%s at %d: %v", what, at, err)
		}
	}
	for at := range whole {
		try("cut off", at, whole[:at])
		changed := bytes.Clone(whole)
		changed[at] ^= 0x10
		try("changed", at, changed)
	}
	try("longer", len(whole), append(bytes.Clone(whole), 0))
}

// TestRestartFileWhileWritten: a process that crashes at any moment of the writing leaves the
// file before, or the new one.
func TestRestartFileWhileWritten(t *testing.T) {
	path := filepath.Join(t.TempDir(), "1")
	old, next := testSlices(1), testSlices(20)
	writeRestartFile(t, path, old)
	is := func(when string, want []memorySlice) {
		t.Helper()
		if got, err := readRestartFile(path); err != nil || !sameSlices(got, want) {
			t.Errorf("%s: got %v, %v", when, got, err)
		}
	}
	w, err := createRestartFile(path, testJournal, "default")
	if err != nil {
		t.Fatal(err)
	}
	is("when the next is begun", old)
	for _, s := range next {
		if err := w.add(s); err != nil {
			t.Fatal(err)
		}
		w.buf.Flush()
		is("while the next is written", old)
	}
	// Another process finds half of a file, and begins its own.
	if w, err = createRestartFile(path, testJournal, "default"); err != nil {
		t.Fatal(err)
	}
	for _, s := range next {
		if err := w.add(s); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.finish(); err != nil {
		t.Fatal(err)
	}
	is("at the end", next)
	if w, err = createRestartFile(path, testJournal, "default"); err != nil {
		t.Fatal(err)
	}
	w.drop()
	is("when another was given up", next)
}
