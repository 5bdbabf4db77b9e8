package pebblestore_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"

	"wamble/runner"
	"wamble/runner/pebblestore"
)

func openAt(t *testing.T, fs vfs.FS) *runner.Runner {
	t.Helper()
	r, err := runner.Open(pebblestore.AtFS(fs, "/a/r", pebblestore.Options{}),
		runner.Options{Create: true, MinFree: -1})
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// dying is a storage whose process crashes before it is opened.
type dying struct{ *pebblestore.Storage }

var errDied = errors.New("died")

func (dying) Open(func(error)) (runner.Backend, error) { return nil, errDied }

// TestRestoreInterrupted: a process that crashes within a restore leaves the old content or
// the new, and the new never under the old journal id.
func TestRestoreInterrupted(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	fs := vfs.NewMem()
	r := openAt(t, fs)
	if err := r.Checkpoint("/a/copy"); err != nil {
		t.Fatal(err)
	}
	if _, err := r.Post(ctx, &runner.Message{To: 7, ID: []byte("later")}); err != nil {
		t.Fatal(err)
	}
	id := r.JournalID()
	if err := r.Close(); err != nil {
		t.Fatal(err)
	}

	// A crash between the two renames: the old content comes back.
	if err := fs.Rename("/a/r", "/a/r.replaced"); err != nil {
		t.Fatal(err)
	}
	r = openAt(t, fs)
	if got := r.Stats().Inboxes; len(got) != 1 || got[0].Depth != 1 || r.JournalID() != id {
		t.Errorf("after half a restore: %+v, journal %s, want the old content", got, r.JournalID())
	}
	if err := r.Close(); err != nil {
		t.Fatal(err)
	}

	// A crash after them and before the new id was made.
	at := pebblestore.AtFS(fs, "/a/r", pebblestore.Options{})
	if err := runner.Restore(dying{at}, "/a/copy", runner.Options{}); !errors.Is(err, errDied) {
		t.Fatal(err)
	}
	r = openAt(t, fs)
	defer r.Close()
	if got := r.Stats().Inboxes; len(got) != 0 || r.JournalID() == id {
		t.Errorf("after a restore: %+v, journal %s, want the checkpoint and a new id", got, r.JournalID())
	}
}

// TestWatermarkOnDisk: the free space of a real file system is read.
func TestWatermarkOnDisk(t *testing.T) {
	t.Parallel()
	r, err := runner.Open(pebblestore.At(t.TempDir(), pebblestore.Options{}),
		runner.Options{Create: true, MinFree: 1 << 62})
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	if _, err := r.Post(context.Background(), &runner.Message{To: 7, ID: []byte("m")}); !errors.Is(err,
		runner.ErrNoSpace) {
		t.Errorf("got %v, want ErrNoSpace", err)
	}
	if got := r.State(); got != runner.ReadOnly {
		t.Errorf("state %v, want read-only", got)
	}
}

// passOn sends a message around for some hops and then lets it arrive.
func passOn(workers uint64, hops int, arrived func()) runner.Handler {
	return func(_ context.Context, tx *runner.Tx, d *runner.Delivery) error {
		if d.Kind == runner.Event {
			arrived()
			return nil
		}
		next := runner.Message{To: (d.To + 1) % workers, ID: d.ID, Payload: append([]byte{'.'}, d.Payload...)}
		if len(next.Payload) == hops {
			next.Kind = runner.Event
		}
		return tx.Send(&next)
	}
}

// TestManyWorkers: dozens of workers, posters and readers at once, without a gate; workers
// pass messages on and every one arrives.
func TestManyWorkers(t *testing.T) {
	t.Parallel()
	const workers, each, hops = 32, 20, 3
	r, err := runner.Open(pebblestore.AtFS(vfs.NewMem(), "/m", pebblestore.Options{Durability: pebblestore.Write}),
		runner.Options{Create: true, MinFree: -1})
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	ctx := context.Background()
	var arrived sync.WaitGroup
	arrived.Add(workers * each)
	handler := passOn(workers, hops, arrived.Done)
	for id := range workers {
		w, err := r.NewWorker(uint64(id), runner.WorkerOptions{Handler: handler})
		if err != nil {
			t.Fatal(err)
		}
		if err := w.Start(ctx); err != nil {
			t.Fatal(err)
		}
	}
	stop := make(chan struct{})
	var readers sync.WaitGroup
	for i := range 8 {
		readers.Go(func() {
			for {
				select {
				case <-stop:
					return
				default:
				}
				if _, err := r.Inbox(uint64(i), 0, 5); err != nil {
					t.Error(err)
				}
				r.Stats()
			}
		})
	}
	for id := range workers {
		go func() {
			for i := range each {
				m := runner.Message{To: uint64(id), ID: fmt.Appendf(nil, "%d/%d", id, i)}
				if _, err := r.Post(ctx, &m); err != nil {
					t.Error(err)
				}
			}
		}()
	}
	arrived.Wait()
	close(stop)
	readers.Wait()
	if got := r.Stats().DeadLetters; got != 0 {
		t.Errorf("%d dead letters", got)
	}
}

// TestRestoreInterruptedThenFailed: a process crashes between the two renames of a restore,
// the next restore fails, and another process had opened it meanwhile: the old content is
// still there, however the directory is spelled.
func TestRestoreInterruptedThenFailed(t *testing.T) {
	t.Parallel()
	for _, dir := range []string{"/a/r", "/a/r/", "/a//r"} {
		fs := vfs.NewMem()
		at := pebblestore.AtFS(fs, dir, pebblestore.Options{})
		r := openAt(t, fs)
		if err := r.Checkpoint("/a/copy"); err != nil {
			t.Fatal(err)
		}
		if _, err := r.Post(t.Context(), &runner.Message{To: 7, ID: []byte("m")}); err != nil {
			t.Fatal(err)
		}
		if err := r.Close(); err != nil {
			t.Fatal(err)
		}
		if err := fs.Rename("/a/r", "/a/r.replaced"); err != nil {
			t.Fatal(err)
		}
		if _, err := at.OpenReadOnly(nil); !errors.Is(err, runner.ErrNoSchema) ||
			!strings.Contains(err.Error(), "/a/r.replaced") {
			t.Errorf("%s: a look says %v, want the place of the content", dir, err)
		}
		if err := fs.MkdirAll("/a/r", 0o700); err != nil {
			t.Fatal(err)
		}
		lock, err := fs.Create("/a/r/LOCK", vfs.WriteCategoryUnspecified)
		if err != nil {
			t.Fatal(err)
		}
		lock.Close()
		if err := runner.Restore(at, "/a/nothing", runner.Options{}); err == nil {
			t.Fatal("restored from nothing")
		}
		r = openAt(t, fs)
		if got := r.Stats().Inboxes; len(got) != 1 || got[0].Depth != 1 {
			t.Errorf("%s: %+v, want the old content", dir, got)
		}
		if err := r.Close(); err != nil {
			t.Fatal(err)
		}
		if err := runner.Restore(at, "/a/copy", runner.Options{}); err != nil {
			t.Errorf("%s: %v", dir, err)
		}
		if names, err := fs.List("/a"); err != nil || len(names) != 2 {
			t.Errorf("%s: a restore left %v, %v", dir, names, err)
		}
	}
}
