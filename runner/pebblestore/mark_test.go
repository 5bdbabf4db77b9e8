package pebblestore_test

import (
	"bytes"
	"errors"
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
	var told []uint64
	o := runner.Options{Create: true, MinFree: -1, Sinks: runner.Sinks{Log: func(ev runner.LogEvent) {
		if ev.Kind == runner.LogLoss {
			told = append(told, ev.Detail)
		}
	}}}
	open := func() *runner.Runner {
		t.Helper()
		r, err := runner.Open(storage, o)
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
	for range 2 {
		if _, err := runner.Open(storage, o); !errors.Is(err, runner.ErrDamaged) {
			t.Fatalf("half of a log is gone: got %v, want %v", err, runner.ErrDamaged)
		}
	}
	salvaged := filepath.Join(t.TempDir(), "salvaged")
	if loss, err := storage.Salvage(salvaged); err != nil || loss.Missing == 0 {
		t.Errorf("salvaged with %+v, %v", loss, err)
	}
	if r, err := runner.Open(pebblestore.At(salvaged, pebblestore.Options{}), o); err != nil {
		t.Error(err)
	} else {
		end(r)
	}
	o.AcceptLoss = true
	r = open()
	if lost := storage.Lost(); lost == 0 || r.Stats().Lost != lost || !slices.Equal(told, []uint64{lost}) {
		t.Errorf("half of a log is gone: %d writes are missing, %d in Stats, %d logged", lost, r.Stats().Lost, told)
	}
	end(r)
	o.AcceptLoss = false
	end(open())
	if lost := storage.Lost(); lost != 0 {
		t.Errorf("told once, %d writes are missing again", lost)
	}
}

// TestDamageNearTheEnd: what a process that was killed has acknowledged last is missed too, if a
// bit of the log's end is flipped, which Pebble takes for an end that was never synced.
func TestDamageNearTheEnd(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "r")
	r, err := runner.Open(pebblestore.At(dir, pebblestore.Options{}), runner.Options{Create: true, MinFree: -1})
	if err != nil {
		t.Fatal(err)
	}
	for range 20 {
		if _, err := r.Post(t.Context(), &runner.Message{To: 7, ID: []byte("m"), Payload: bytes.Repeat([]byte{1}, 500)}); err != nil {
			t.Fatal(err)
		}
	}
	crashed := filepath.Join(t.TempDir(), "crashed")
	if err := os.CopyFS(crashed, os.DirFS(dir)); err != nil {
		t.Fatal(err)
	}
	if err := r.Close(); err != nil {
		t.Fatal(err)
	}
	logs, err := filepath.Glob(filepath.Join(crashed, "*.log"))
	if err != nil || len(logs) == 0 {
		t.Fatal(logs, err)
	}
	text, err := os.ReadFile(slices.Max(logs))
	if err != nil {
		t.Fatal(err)
	}
	text[len(bytes.TrimRight(text, "\x00"))-100] ^= 1 // in the last message
	if err := os.WriteFile(slices.Max(logs), text, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := runner.Open(pebblestore.At(crashed, pebblestore.Options{}), runner.Options{MinFree: -1}); !errors.Is(err, runner.ErrDamaged) {
		t.Errorf("got %v, want %v", err, runner.ErrDamaged)
	}
}
