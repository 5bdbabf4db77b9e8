package journal

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"time"

	"wamble/internal/store"
	"wamble/runner"
)

// A backup copies first the store and then the journal. What moves from one to the other in between is in
// the kept messages, which a Pin protects from deletion.

// Pin keeps all messages that leave the journal from now on, at least until the given time, as far as
// RetainOptions.Needed allows. A pin that has not ended keeps its beginning.
func (d *Drain) Pin(until time.Time) {
	if d.retained == nil {
		return
	}
	h := &d.retained.pin
	if h.until.Load() < time.Now().UnixNano() {
		h.after.Store(d.drained())
	}
	h.until.Store(until.UnixNano())
}

// CopyRetained copies the files with a worker's kept messages behind a number from one directory of all workers
// to another. Files that are deleted meanwhile are skipped.
func CopyRetained(from, to string, journal store.JournalID, worker uint32, after uint64) error {
	k := findRetained(RetainOptions{Dir: from}, journal, worker, func(string) {})
	dir := filepath.Join(to, strconv.FormatUint(uint64(worker), 10))
	for i, f := range k.files {
		if i+1 < len(k.files) && k.files[i+1].first <= after+1 {
			continue
		}
		if err := os.MkdirAll(dir, 0o700); err != nil {
			return err
		}
		path := k.path(f)
		if err := copyFile(path, filepath.Join(dir, filepath.Base(path))); err != nil &&
			!errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	return nil
}

func copyFile(from, to string) error {
	in, err := os.Open(from)
	if err != nil {
		return err
	}
	defer in.Close()
	out, err := os.OpenFile(to, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return err
	}
	_, err = io.Copy(out, in)
	return errors.Join(err, out.Sync(), out.Close())
}

// Tail is Drain.Tail for a worker without a running drain; dir is that of all kept messages. If a drain
// runs, it may move messages meanwhile: ErrGap.
func Tail(r *runner.Runner, dir string, worker uint32, after uint64, visit func(seq uint64, frame []byte) error) error {
	k := findRetained(RetainOptions{Dir: dir}, store.JournalID(r.JournalID()), worker, func(string) {})
	return tail(r, k, uint64(worker), after, visit)
}

// Ends returns the last message of a worker that has left the journal for the store, and the worker's last
// message.
func Ends(r *runner.Runner, worker uint32) (drained, last uint64) {
	return drainedOf(r, uint64(worker)), lastOf(r, uint64(worker))
}
