package pebblestore_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"wamble/internal/prooftest"
	"wamble/runner"
	"wamble/runner/pebblestore"
)

// TestSalvage: a flipped bit inside a log, also the first one of a journal, is reported as
// damage, the old journal stays as it is, and a new one has everything that was committed
// before.
func TestSalvage(t *testing.T) {
	t.Parallel()
	t.Run("the first log", func(t *testing.T) { testSalvage(t, false) })
	t.Run("a later log", func(t *testing.T) { testSalvage(t, true) })
}

func testSalvage(t *testing.T, later bool) {
	dir := t.TempDir()
	old, fresh := filepath.Join(dir, "journal"), filepath.Join(dir, "salvaged")
	r, err := runner.Open(pebblestore.At(old, pebblestore.Options{}), runner.Options{Create: true, MinFree: -1})
	if err != nil {
		t.Fatal(err)
	}
	post := func(n int) {
		t.Helper()
		for range n {
			if _, err := r.Post(t.Context(),
				&runner.Message{To: 7, ID: []byte("m"), Payload: payload[:100]}); err != nil {
				t.Fatal(err)
			}
		}
	}
	inTable := 0
	if later {
		inTable = 20
		post(inTable)
		if err := r.Flush(); err != nil {
			t.Fatal(err)
		}
	}
	post(400)
	// A crashed process leaves the log as it is: a copy is made of the open journal.
	crashed := filepath.Join(dir, "crashed")
	if err := os.CopyFS(crashed, os.DirFS(old)); err != nil {
		t.Fatal(err)
	}
	if err := r.Close(); err != nil {
		t.Fatal(err)
	}
	logs, err := filepath.Glob(filepath.Join(crashed, "*.log"))
	if err != nil || len(logs) == 0 {
		t.Fatal(logs, err)
	}
	log := slices.Max(logs)
	bytes, err := os.ReadFile(log)
	if err != nil {
		t.Fatal(err)
	}
	used := len(bytes)
	for bytes[used-1] == 0 {
		used-- // written ahead
	}
	bytes[used/4] ^= 1
	if err := os.WriteFile(log, bytes, 0o600); err != nil {
		t.Fatal(err)
	}
	at := pebblestore.At(crashed, pebblestore.Options{})
	if _, err := runner.Open(at, runner.Options{MinFree: -1}); !errors.Is(err, runner.ErrDamaged) {
		t.Fatalf("opened with %v, want ErrDamaged", err)
	}
	loss, err := at.Salvage(fresh)
	if err != nil {
		t.Fatal(err)
	}
	if loss.Log != filepath.Base(log) || loss.At <= 0 || loss.At > int64(used/4) {
		t.Errorf("lost: %+v", loss)
	}
	if now, err := os.ReadFile(log); err != nil || !slices.Equal(now, bytes) {
		t.Errorf("the old log was changed: %v", err)
	}
	r, err = runner.Open(pebblestore.At(fresh, pebblestore.Options{}), runner.Options{MinFree: -1})
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	if d := int(r.Stats().Inboxes[0].Depth); d < inTable+80 || d > inTable+120 {
		t.Errorf("%d messages, want the %d of the table and a quarter of the 400 of the log", d, inTable)
	}
	post(5)
	bytes[used/4] ^= 1
	for i := range prooftest.Sized(8, 40, 280) { // wherever in a record it is
		place := used/4 + 280/prooftest.Sized(8, 40, 280)*i
		bytes[place] ^= 0x10
		if err := os.WriteFile(log, bytes, 0o600); err != nil {
			t.Fatal(err)
		}
		bytes[place] ^= 0x10
		if loss, err := at.Salvage(filepath.Join(dir, fmt.Sprint("salvaged-", i))); err != nil ||
			loss.Log != filepath.Base(log) || loss.At > int64(place) {
			t.Errorf("damaged at byte %d: lost %+v, error %v", place, loss, err)
		}
	}
	if _, err := at.Salvage(fresh); !errors.Is(err, runner.ErrExists) {
		t.Errorf("into a directory that exists: %v", err)
	}
}
