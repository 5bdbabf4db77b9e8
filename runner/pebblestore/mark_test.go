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

// TestLogCutShort: a log that is shorter than what was acknowledged, also the first one of a
// journal, is reported at the next opening, and one that is whole is not.
func TestLogCutShort(t *testing.T) {
	t.Parallel()
	t.Run("the first log", func(t *testing.T) { testLogCutShort(t, false) })
	t.Run("a later log", func(t *testing.T) { testLogCutShort(t, true) })
}

func testLogCutShort(t *testing.T, later bool) {
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
	post := func(r *runner.Runner) {
		t.Helper()
		for range 100 {
			if _, err := r.Post(t.Context(),
				&runner.Message{To: 7, ID: []byte("m"), Payload: bytes.Repeat([]byte{1}, 1000)}); err != nil {
				t.Fatal(err)
			}
		}
	}
	r := open()
	post(r)
	end(r)
	if later {
		end(open())
		if lost := storage.Lost(); lost != 0 {
			t.Errorf("a whole log: %d writes are missing", lost)
		}
		r = open()
		post(r)
		end(r)
	}
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
