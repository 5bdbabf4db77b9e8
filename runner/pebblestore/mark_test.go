package pebblestore_test

import (
	"bytes"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"wamble/runner"
	"wamble/runner/pebblestore"
)

// TestLogCutShort: a log that is shorter than what was acknowledged is told at the next
// opening, and one that is whole is not.
func TestLogCutShort(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "r")
	storage := pebblestore.At(dir, pebblestore.Options{})
	open := func() *runner.Runner {
		t.Helper()
		r, err := runner.Open(storage, runner.Options{Create: true, MinFree: -1})
		if err != nil {
			t.Fatal(err)
		}
		return r
	}
	end := func(r *runner.Runner) {
		t.Helper()
		if err := r.Close(); err != nil {
			t.Fatal(err)
		}
	}
	r := open()
	for range 100 {
		if _, err := r.Post(t.Context(), &runner.Message{To: 7, ID: []byte("m"), Payload: make([]byte, 1000)}); err != nil {
			t.Fatal(err)
		}
	}
	end(r)
	end(open())
	if lost := storage.Lost(); lost != 0 {
		t.Errorf("a whole log: %d writes are missing", lost)
	}
	r = open()
	for range 100 {
		if _, err := r.Post(t.Context(), &runner.Message{To: 7, ID: []byte("m"), Payload: bytes.Repeat([]byte{1}, 1000)}); err != nil {
			t.Fatal(err)
		}
	}
	end(r)
	logs, err := filepath.Glob(filepath.Join(dir, "*.log"))
	if err != nil || len(logs) == 0 {
		t.Fatal(logs, err)
	}
	newest := slices.Max(logs)
	text, err := os.ReadFile(newest)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Truncate(newest, int64(len(bytes.TrimRight(text, "\x00"))/2)); err != nil {
		t.Fatal(err)
	}
	end(open())
	if lost := storage.Lost(); lost == 0 {
		t.Error("half of a log is gone, and nothing is missing")
	}
	end(open())
	if lost := storage.Lost(); lost != 0 {
		t.Errorf("told once, %d writes are missing again", lost)
	}
}
