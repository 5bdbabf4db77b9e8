package pebblestore_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"wamble/runner"
	"wamble/runner/pebblestore"
)

// stoppedRunner makes a directory with three messages for worker 7, a timer
// and a dead letter, and closes it.
func stoppedRunner(t *testing.T) (dir string, journal runner.JournalID) {
	t.Helper()
	dir = filepath.Join(t.TempDir(), "journal")
	r, err := runner.Open(pebblestore.At(dir, pebblestore.Options{Durability: pebblestore.Write}),
		runner.Options{Create: true})
	if err != nil {
		t.Fatal(err)
	}
	ctx := t.Context()
	for _, id := range []string{"a", "b", "c", "d"} {
		if _, err := r.Post(ctx, &runner.Message{To: 7, ID: []byte(id), Payload: []byte("pay " + id)}); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := r.Arm(ctx, time.UnixMilli(4102444800000),
		&runner.Message{Kind: runner.Timer, To: 7, ID: []byte("t")}); err != nil {
		t.Fatal(err)
	}
	w, err := r.NewWorker(7, runner.WorkerOptions{MaxBatch: 1,
		Handler: func(context.Context, *runner.Tx, *runner.Delivery) error {
			return runner.Discard(errors.New("no such board"))
		}})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := w.Tick(ctx); err != nil {
		t.Fatal(err)
	}
	journal = r.JournalID()
	if err := r.Close(); err != nil {
		t.Fatal(err)
	}
	return dir, journal
}

// contents returns every file of a directory with its bytes.
func contents(t *testing.T, dir string) map[string]string {
	t.Helper()
	files := map[string]string{}
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		b, err := os.ReadFile(filepath.Join(dir, e.Name()))
		if err != nil {
			t.Fatal(err)
		}
		files[e.Name()] = string(b)
	}
	return files
}

func TestReadOnlyChangesNothing(t *testing.T) {
	t.Parallel()
	dir, journal := stoppedRunner(t)
	before := contents(t, dir)
	r, err := runner.OpenReadOnly(pebblestore.At(dir, pebblestore.Options{}), runner.Options{})
	if err != nil {
		t.Fatal(err)
	}
	s := r.Stats()
	if s.Journal != journal || s.Epoch != 1 || s.Timers != 1 || s.DeadLetters != 1 {
		t.Errorf("got %+v, want journal %s, epoch 1, one timer, one dead letter", s, journal)
	}
	if len(s.Inboxes) != 1 || s.Inboxes[0].Worker != 7 || s.Inboxes[0].Depth != 3 {
		t.Errorf("got inboxes %+v, want three rows of worker 7", s.Inboxes)
	}
	rows, err := r.Inbox(7, 0, 10)
	if err != nil || len(rows) != 3 || rows[0].Seq != 2 {
		t.Errorf("got rows %v and %v, want 2, 3 and 4", rows, err)
	}
	if timers, err := r.Timers(runner.TimerID{}, 10); err != nil || len(timers) != 1 {
		t.Errorf("got timers %v and %v, want one", timers, err)
	}
	refused := map[string]error{}
	_, refused["post"] = r.Post(t.Context(), &runner.Message{To: 7, ID: []byte("x")})
	_, refused["replay"] = r.ReplayDeadLetters(t.Context(), runner.DeadFilter{})
	_, refused["update"] = r.Update(t.Context(), runner.AttemptPolicy{},
		func(tx *runner.Tx) error { return tx.Put([]byte("k"), nil) })
	refused["flush"] = r.Flush()
	refused["restore"] = r.Restore(dir)
	for what, err := range refused {
		if !errors.Is(err, runner.ErrReadOnly) {
			t.Errorf("%s: got %v, want ErrReadOnly", what, err)
		}
	}
	if err := r.Close(); err != nil {
		t.Fatal(err)
	}
	after := contents(t, dir)
	for name, b := range after {
		if before[name] != b {
			t.Errorf("file %s has changed", name)
		}
	}
	if len(before) != len(after) {
		t.Errorf("got %d files, want %d as before", len(after), len(before))
	}
}

func TestReadOnlyRefuses(t *testing.T) {
	t.Parallel()
	dir, _ := stoppedRunner(t)
	empty := t.TempDir()
	if _, err := runner.OpenReadOnly(pebblestore.At(empty, pebblestore.Options{}), runner.Options{}); !errors.Is(err,
		runner.ErrNoSchema) {
		t.Errorf("an empty directory: got %v, want ErrNoSchema", err)
	}
	if files := contents(t, empty); len(files) > 0 {
		t.Errorf("an empty directory has %d files now", len(files))
	}
	if _, err := runner.OpenReadOnly(pebblestore.At(dir, pebblestore.Options{}),
		runner.Options{Schema: runner.Version{Major: 1}}); !errors.Is(err, runner.ErrSchema) {
		t.Errorf("another schema: got %v, want ErrSchema", err)
	}
	live, err := runner.Open(pebblestore.At(dir, pebblestore.Options{}), runner.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer live.Close()
	if _, err := runner.OpenReadOnly(pebblestore.At(dir, pebblestore.Options{}), runner.Options{}); !errors.Is(err,
		runner.ErrLocked) {
		t.Errorf("a live one: got %v, want ErrLocked", err)
	}
	if err := runner.Restore(pebblestore.At(dir, pebblestore.Options{}), dir, runner.Options{}); !errors.Is(err,
		runner.ErrLocked) {
		t.Errorf("restore over a live one: got %v, want ErrLocked", err)
	}
}

// TestRestoreOffline restores into a directory that does not exist, into an unused one, and
// into one that is broken.
func TestRestoreOffline(t *testing.T) {
	t.Parallel()
	dir, journal := stoppedRunner(t)
	checkpoint := filepath.Join(t.TempDir(), "checkpoint")
	r, err := runner.OpenReadOnly(pebblestore.At(dir, pebblestore.Options{}), runner.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(r.Checkpoint(checkpoint), r.Close()); err != nil {
		t.Fatal(err)
	}
	broken := filepath.Join(t.TempDir(), "broken")
	if err := os.CopyFS(broken, os.DirFS(dir)); err != nil {
		t.Fatal(err)
	}
	manifests, err := filepath.Glob(filepath.Join(broken, "MANIFEST-*"))
	if err != nil || len(manifests) == 0 {
		t.Fatal("no manifest to break", err)
	}
	if err := os.WriteFile(manifests[0], []byte("gone"), 0o600); err != nil {
		t.Fatal(err)
	}
	journals := []runner.JournalID{journal}
	for _, into := range []string{filepath.Join(t.TempDir(), "new"), dir, broken} {
		if err := runner.Restore(pebblestore.At(into, pebblestore.Options{}), checkpoint,
			runner.Options{}); err != nil {
			t.Fatal(into, err)
		}
		r, err := runner.Open(pebblestore.At(into, pebblestore.Options{}), runner.Options{})
		if err != nil {
			t.Fatal(into, err)
		}
		if slices.Contains(journals, r.JournalID()) {
			t.Errorf("%s: journal id %s was used before", into, r.JournalID())
		}
		journals = append(journals, r.JournalID())
		if rows, err := r.Inbox(7, 0, 10); err != nil || len(rows) != 3 {
			t.Errorf("%s: got %d rows and %v, want 3", into, len(rows), err)
		}
		if _, err := r.Post(context.Background(), &runner.Message{To: 7, ID: []byte("e")}); err != nil {
			t.Errorf("%s: %v", into, err)
		}
		if err := r.Close(); err != nil {
			t.Fatal(err)
		}
		for _, left := range []string{into + ".restoring", into + ".replaced"} {
			if _, err := os.Stat(left); !os.IsNotExist(err) {
				t.Errorf("%s is left behind", left)
			}
		}
	}
	// A checkpoint that cannot be served leaves the directory as it was.
	before := contents(t, dir)
	if err := runner.Restore(pebblestore.At(dir, pebblestore.Options{}), checkpoint,
		runner.Options{Schema: runner.Version{Major: 3}}); !errors.Is(err, runner.ErrSchema) {
		t.Errorf("got %v, want ErrSchema", err)
	}
	if err := runner.Restore(pebblestore.At(dir, pebblestore.Options{}), t.TempDir(), runner.Options{}); !errors.Is(err,
		os.ErrNotExist) {
		t.Errorf("got %v, want ErrNotExist", err)
	}
	after := contents(t, dir)
	for name := range before {
		if before[name] != after[name] {
			t.Errorf("file %s has changed", name)
		}
	}
}
